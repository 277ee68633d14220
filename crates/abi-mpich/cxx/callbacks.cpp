// Functions of the program in C++: C holds their addresses, and calls them through the functions here, which know how
// (crates/foreign/src/bindings.rs). What they throw does not pass through C's frames.

#include "bindings.h"
#include "callbacks.h"

extern "C" {
// What the C library has for these bindings (crates/abi-mpich/src/cxx.rs).
void MPII_Errhandler_set_cxx(MPI_Errhandler errhandler, void (*call)());
void MPII_Op_set_cxx(MPI_Op op, void (*call)());
void MPII_Keyval_set_proxy(int keyval, void (*copy)(), void (*remove)());

// MPICH's names. An operation cannot fail: what it throws ends the program.
void MPIR_Call_op_fn(const void *in, void *inout, int count, MPI_Datatype datatype, MPI::User_function *function) noexcept
{
    function(in, inout, count, MPI::Datatype(datatype));
}

// The kinds of objects with error handlers are 0 communicator, 1 file, 2 window. The handler has dealt with the error:
// the call that failed returns success to the binding, which would call the handler again else.
void MPIR_Call_errhandler_function(int kind, void *handle, int *code, void (*function)())
{
    int number = *code;
    *code = guarded([&] {
        if (kind == 0)
            return with_communicator(*static_cast<MPI_Comm *>(handle), [&](MPI::Comm &comm) {
                reinterpret_cast<MPI::Comm::Errhandler_function *>(function)(comm, &number);
                return MPI_SUCCESS;
            });
        if (kind == 1) {
            MPI::File file(*static_cast<MPI_File *>(handle));
            reinterpret_cast<MPI::File::Errhandler_function *>(function)(file, &number);
        } else {
            MPI::Win win(*static_cast<MPI_Win *>(handle));
            reinterpret_cast<MPI::Win::Errhandler_function *>(function)(win, &number);
        }
        return MPI_SUCCESS;
    });
}
}

// Attributes. The kind of a value is 0 where it is a pointer; else C stores a number, whose place is given to C++.

template <class Object, class Handle>
static int copy_attribute(typename Object::Copy_attr_function *function, Handle handle, int keyval, void *extra, int kind,
                          void *value, void *copied, int *flag)
{
    return guarded([&] {
        bool copies = false;
        int code = function(Object(handle), keyval, extra, kind == 0 ? value : &value, copied, copies);
        *flag = copies;
        return code;
    });
}

template <class Object, class Handle>
static int delete_attribute(typename Object::Delete_attr_function *function, Handle handle, int keyval, int kind,
                            void *value, void *extra)
{
    return guarded([&] {
        Object object(handle);
        return function(object, keyval, kind == 0 ? value : &value, extra);
    });
}

// MPI::Comm has no objects of its own: its functions are called with one of the class that the communicator has.

static int copy_of_communicator(MPI::Comm::Copy_attr_function *function, MPI_Comm handle, int keyval, void *extra,
                                int kind, void *value, void *copied, int *flag)
{
    return guarded([&] {
        return with_communicator(handle, [&](const MPI::Comm &comm) {
            bool copies = false;
            int code = function(comm, keyval, extra, kind == 0 ? value : &value, copied, copies);
            *flag = copies;
            return code;
        });
    });
}

static int delete_of_communicator(MPI::Comm::Delete_attr_function *function, MPI_Comm handle, int keyval, int kind,
                                  void *value, void *extra)
{
    return guarded([&] {
        return with_communicator(handle, [&](MPI::Comm &comm) {
            return function(comm, keyval, kind == 0 ? value : &value, extra);
        });
    });
}

/// A function of any type, as C's declarations above want it.
template <class Function> static void (*untyped(Function *function))()
{
    return reinterpret_cast<void (*)()>(function);
}

namespace MPI {

int Comm::Create_keyval(Copy_attr_function *copy, Delete_attr_function *remove, void *extra)
{
    int keyval = MPI_KEYVAL_INVALID;
    int code = MPI_Comm_create_keyval(reinterpret_cast<MPI_Comm_copy_attr_function *>(copy),
                                      reinterpret_cast<MPI_Comm_delete_attr_function *>(remove), &keyval, extra);
    if (code == MPI_SUCCESS)
        MPII_Keyval_set_proxy(keyval, untyped(copy_of_communicator), untyped(delete_of_communicator));
    check(code);
    return keyval;
}

int Datatype::Create_keyval(Copy_attr_function *copy, Delete_attr_function *remove, void *extra)
{
    int keyval = MPI_KEYVAL_INVALID;
    int code = MPI_Type_create_keyval(reinterpret_cast<MPI_Type_copy_attr_function *>(copy),
                                      reinterpret_cast<MPI_Type_delete_attr_function *>(remove), &keyval, extra);
    if (code == MPI_SUCCESS)
        MPII_Keyval_set_proxy(keyval, untyped(copy_attribute<Datatype, MPI_Datatype>),
                              untyped(delete_attribute<Datatype, MPI_Datatype>));
    check(code);
    return keyval;
}

int Win::Create_keyval(Copy_attr_function *copy, Delete_attr_function *remove, void *extra)
{
    int keyval = MPI_KEYVAL_INVALID;
    int code = MPI_Win_create_keyval(reinterpret_cast<MPI_Win_copy_attr_function *>(copy),
                                     reinterpret_cast<MPI_Win_delete_attr_function *>(remove), &keyval, extra);
    if (code == MPI_SUCCESS)
        MPII_Keyval_set_proxy(keyval, untyped(copy_attribute<Win, MPI_Win>), untyped(delete_attribute<Win, MPI_Win>));
    check(code);
    return keyval;
}

// What an attribute does of which neither a copy nor an end matters.

int Comm::NULL_COPY_FN(const Comm &, int, void *, void *, void *, bool &copies)
{
    copies = false;
    return MPI_SUCCESS;
}

int Datatype::NULL_COPY_FN(const Datatype &, int, void *, void *, void *, bool &copies)
{
    copies = false;
    return MPI_SUCCESS;
}

int Win::NULL_COPY_FN(const Win &, int, void *, void *, void *, bool &copies)
{
    copies = false;
    return MPI_SUCCESS;
}

int Comm::NULL_DELETE_FN(Comm &, int, void *, void *) { return MPI_SUCCESS; }

int Datatype::NULL_DELETE_FN(Datatype &, int, void *, void *) { return MPI_SUCCESS; }

int Win::NULL_DELETE_FN(Win &, int, void *, void *) { return MPI_SUCCESS; }

/// What C has made of an error handler in C++ is called through ours.
static Errhandler called_in_cxx(int code, MPI_Errhandler made)
{
    if (code == MPI_SUCCESS)
        MPII_Errhandler_set_cxx(made, untyped(MPIR_Call_errhandler_function));
    check(code);
    return Errhandler(made);
}

Errhandler Comm::Create_errhandler(Errhandler_function *function)
{
    MPI_Errhandler made = MPI_ERRHANDLER_NULL;
    auto own = reinterpret_cast<MPI_Comm_errhandler_function *>(function);
    int code = MPI_Comm_create_errhandler(own, &made);
    return called_in_cxx(code, made);
}

Errhandler Win::Create_errhandler(Errhandler_function *function)
{
    MPI_Errhandler made = MPI_ERRHANDLER_NULL;
    auto own = reinterpret_cast<MPI_Win_errhandler_function *>(function);
    int code = MPI_Win_create_errhandler(own, &made);
    return called_in_cxx(code, made);
}

Errhandler File::Create_errhandler(Errhandler_function *function)
{
    MPI_Errhandler made = MPI_ERRHANDLER_NULL;
    auto own = reinterpret_cast<MPI_File_errhandler_function *>(function);
    int code = MPI_File_create_errhandler(own, &made);
    return called_in_cxx(code, made);
}

void Op::Init(User_function *function, bool commutes)
{
    int code = MPI_Op_create(reinterpret_cast<MPI_User_function *>(function), commutes, &handle);
    if (code == MPI_SUCCESS)
        MPII_Op_set_cxx(handle, untyped(MPIR_Call_op_fn));
    check(code);
}

} // namespace MPI

/// What C keeps for a generalised request: the program's functions and their state.
struct Generalised {
    MPI::Grequest::Query_function *query;
    MPI::Grequest::Free_function *release;
    MPI::Grequest::Cancel_function *cancel;
    void *extra;
};

/// The same for a data representation.
struct Representation {
    MPI::Datarep_conversion_function *read;
    MPI::Datarep_conversion_function *write;
    MPI::Datarep_extent_function *extent;
    void *extra;
};

extern "C" {

int MPIR_Grequest_call_query_fn(void *state, MPI_Status *status)
{
    return guarded([&] {
        const Generalised *own = static_cast<Generalised *>(state);
        MPI::Status answer;
        answer.status = *status;
        int code = own->query(own->extra, answer);
        *status = answer.status;
        return code;
    });
}

// C calls it once, last of all.
int MPIR_Grequest_call_free_fn(void *state)
{
    std::unique_ptr<Generalised> own(static_cast<Generalised *>(state));
    return guarded([&] { return own->release(own->extra); });
}

int MPIR_Grequest_call_cancel_fn(void *state, int complete)
{
    return guarded([&] {
        const Generalised *own = static_cast<Generalised *>(state);
        return own->cancel(own->extra, complete != 0);
    });
}

int MPIR_Call_datarep_read_fn(void *user, MPI_Datatype datatype, int count, void *file, MPI_Offset position, void *state)
{
    return guarded([&] {
        const Representation *own = static_cast<Representation *>(state);
        MPI::Datatype type(datatype);
        return own->read(user, type, count, file, position, own->extra);
    });
}

int MPIR_Call_datarep_write_fn(void *user, MPI_Datatype datatype, int count, void *file, MPI_Offset position, void *state)
{
    return guarded([&] {
        const Representation *own = static_cast<Representation *>(state);
        MPI::Datatype type(datatype);
        return own->write(user, type, count, file, position, own->extra);
    });
}

int MPIR_Call_datarep_extent_fn(MPI_Datatype datatype, MPI_Aint *extent, void *state)
{
    return guarded([&] {
        const Representation *own = static_cast<Representation *>(state);
        return own->extent(MPI::Datatype(datatype), *extent, own->extra);
    });
}
}

namespace MPI {

Grequest Grequest::Start(Query_function *query, Free_function *release, Cancel_function *cancel, void *extra)
{
    auto *state = new Generalised{query, release, cancel, extra};
    Grequest made;
    int code = MPI_Grequest_start(MPIR_Grequest_call_query_fn, MPIR_Grequest_call_free_fn, MPIR_Grequest_call_cancel_fn,
                                  state, &made.handle);
    if (code != MPI_SUCCESS)
        delete state;
    check(code);
    return made;
}

void Register_datarep(const char *name, Datarep_conversion_function *read, Datarep_conversion_function *write,
                      Datarep_extent_function *extent, void *extra)
{
    // A representation is never taken back.
    auto *state = new Representation{read, write, extent, extra};
    int code = MPI_Register_datarep(name, MPIR_Call_datarep_read_fn, MPIR_Call_datarep_write_fn,
                                    MPIR_Call_datarep_extent_fn, state);
    if (code != MPI_SUCCESS)
        delete state;
    check(code);
}

} // namespace MPI
