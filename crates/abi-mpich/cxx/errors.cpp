// Errors: exceptions and error handlers.

#include "bindings.h"
#include "callbacks.h"

#include <exception>
#include <utility>

/// What a function of the program has thrown that C called. It must not pass through C's frames: the call returns an
/// error, and what was thrown is thrown again by the binding that made the call.
static thread_local std::exception_ptr thrown;

int keep_what_is_thrown()
{
    thrown = std::current_exception();
    return MPI_ERR_OTHER;
}

static void throw_what_was_kept()
{
    if (thrown)
        std::rethrow_exception(std::exchange(thrown, nullptr));
}

namespace MPI {

/// Whether a handler that C has just given to us means that an exception is thrown. The handler is freed.
static bool throws(MPI_Errhandler given)
{
    bool result = given == THROWING;
    MPI_Errhandler_free(&given);
    return result;
}

// C has already called the handler of the object when a binding comes here: a function in C++ has made an error of it
// into none (`MPIR_Call_errhandler_function`), so what is called again is what returns or ends the job.

void Comm::Call_errhandler(int code) const
{
    throw_what_was_kept();
    MPI_Comm holder = handle;
    MPI_Errhandler current = MPI_ERRHANDLER_NULL;
    // The handle itself may be what is wrong. Then MPI_COMM_WORLD's decides.
    if (MPI_Comm_get_errhandler(holder, &current) != MPI_SUCCESS) {
        holder = MPI_COMM_WORLD;
        if (MPI_Comm_get_errhandler(holder, &current) != MPI_SUCCESS)
            return;
    }
    if (throws(current))
        throw Exception(code);
    MPI_Comm_call_errhandler(holder, code);
    throw_what_was_kept();
}

void Win::Call_errhandler(int code) const
{
    throw_what_was_kept();
    MPI_Errhandler current = MPI_ERRHANDLER_NULL;
    if (MPI_Win_get_errhandler(handle, &current) != MPI_SUCCESS)
        return MPIR_Call_world_errhand(code);
    if (throws(current))
        throw Exception(code);
    MPI_Win_call_errhandler(handle, code);
    throw_what_was_kept();
}

void File::Call_errhandler(int code) const
{
    throw_what_was_kept();
    MPI_File holder = handle;
    MPI_Errhandler current = MPI_ERRHANDLER_NULL;
    // As for communicators; here MPI_FILE_NULL's decides.
    if (MPI_File_get_errhandler(holder, &current) != MPI_SUCCESS) {
        holder = MPI_FILE_NULL;
        if (MPI_File_get_errhandler(holder, &current) != MPI_SUCCESS)
            return;
    }
    if (throws(current))
        throw Exception(code);
    MPI_File_call_errhandler(holder, code);
    throw_what_was_kept();
}

void MPIR_Call_world_errhand(int code) { COMM_WORLD.Call_errhandler(code); }

// Errors are made and described by functions of no class.

int Get_error_class(int code)
{
    int number = MPI_ERR_UNKNOWN;
    check(MPI_Error_class(code, &number));
    return number;
}

void Get_error_string(int code, char *text, int &length) { check(MPI_Error_string(code, text, &length)); }

int Add_error_class()
{
    int number = MPI_ERR_UNKNOWN;
    check(MPI_Add_error_class(&number));
    return number;
}

int Add_error_code(int number)
{
    int code = MPI_ERR_UNKNOWN;
    check(MPI_Add_error_code(number, &code));
    return code;
}

void Add_error_string(int code, const char *text) { check(MPI_Add_error_string(code, text)); }

} // namespace MPI
