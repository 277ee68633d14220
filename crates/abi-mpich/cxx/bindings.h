// MPICH's C++ bindings, those of MPI 2: what a program that was compiled with MPICH's mpicxx.h expects of libmpicxx.so.12.
//
// Such a program brings along what the header has inline, and calls all other functions by their mangled names, or by
// their places in the tables of virtual functions. So the order of virtual functions, their types, and the members of
// every class are MPICH's; tests/tests/jobs/bindings.rs compares them with spec/abi/mpich-cxx.*. An object is the pointer
// to its table and C's handle.
//
// Functions that belong to no table and that the header has inline are not here: no program asks the library for them.

#ifndef HPVM_MPICH_BINDINGS_H
#define HPVM_MPICH_BINDINGS_H

#include <memory>
#include <mpi.h>

namespace MPI {

typedef MPI_Aint Aint;
// MPI_Offset is `long` in one build of MPICH and `long long` in another; long_long.ld has the names with the latter.
typedef long Offset;

class Comm;
class Nullcomm;
class Intracomm;
class Intercomm;
class Cartcomm;
class Graphcomm;
class File;

/// What becomes of an error that no object has to do with: the error handler of MPI::COMM_WORLD decides.
void MPIR_Call_world_errhand(int code);
void MPIR_CXX_InitDatatypeNames();
int Get_error_class(int code);

static inline void check(int code)
{
    if (code != MPI_SUCCESS)
        MPIR_Call_world_errhand(code);
}

/// What becomes of an error in a call on an object that has an error handler.
template <class Object> static inline void check(const Object &object, int code)
{
    if (code != MPI_SUCCESS)
        object.Call_errhandler(code);
}

/// Room for `count` values of C, all 0. A negative count is for C to refuse.
template <class Value> static inline std::unique_ptr<Value[]> room(int count)
{
    return std::unique_ptr<Value[]>(new Value[count > 0 ? count : 0]());
}

/// C's handles of an array of objects.
template <class Handle, class Object>
static inline std::unique_ptr<Handle[]> handles(int count, const Object objects[])
{
    std::unique_ptr<Handle[]> result = room<Handle>(count);
    for (int i = 0; i < count; i++)
        result[i] = objects[i].handle;
    return result;
}

/// C's truth values of an array of C++'s.
static inline std::unique_ptr<int[]> truths(int count, const bool values[])
{
    std::unique_ptr<int[]> result = room<int>(count);
    for (int i = 0; i < count; i++)
        result[i] = values[i];
    return result;
}

} // namespace MPI

#include "values.h"

#include "request.h"

#include "comm.h"

#include "win.h"

#include "file.h"

#endif
