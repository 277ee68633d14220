/* MPI 5.0, 9.3: error handlers are counted; functions for sessions and files, whose handler can be
 * set without an open file; error codes a program made reach its function. With the argument
 * "strict" also: handlers of the wrong kind are refused; MPI_Info_create_env before MPI_Init, and
 * MPI_INFO_ENV (11.5.3). */
#include "check.h"

static int calls, last, strict;

static void on_comm(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    calls++;
    last = *code;
}

static void on_file(MPI_File *file, int *code, ...)
{
    CHECK(*file == MPI_FILE_NULL);
    calls += 100;
    last = *code;
}

static void on_session(MPI_Session *session, int *code, ...)
{
    (void)session;
    calls += 10000;
    last = *code;
}

static int on_extent(MPI_Datatype type, MPI_Aint *extent, void *state)
{
    (void)state;
    MPI_Aint lower;
    return MPI_Type_get_extent(type, &lower, extent);
}

static void counted(void)
{
    MPI_Errhandler made, a, b;
    MPI_Comm comm;
    CHECK_MPI(MPI_Comm_create_errhandler(on_comm, &made));
    CHECK_MPI(MPI_Comm_dup(MPI_COMM_SELF, &comm));
    CHECK_MPI(MPI_Comm_set_errhandler(comm, made));
    CHECK_MPI(MPI_Comm_get_errhandler(comm, &a));
    CHECK_MPI(MPI_Comm_get_errhandler(comm, &b));
    CHECK(a == made && b == made);
    CHECK_MPI(MPI_Errhandler_free(&a));
    CHECK_MPI(MPI_Errhandler_free(&made));
    CHECK_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, b)); /* still a live one */
    CHECK_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    CHECK_MPI(MPI_Errhandler_free(&b));
    CHECK(b == MPI_ERRHANDLER_NULL);
    CHECK_CLASS(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRHANDLER_NULL), MPI_ERR_ERRHANDLER);
    int class = -1, code = -1;
    CHECK_MPI(MPI_Add_error_class(&class));
    CHECK_MPI(MPI_Add_error_code(class, &code));
    CHECK_MPI(MPI_Comm_call_errhandler(comm, code)); /* the handles are gone, the function is not */
    CHECK(calls == 1 && last == code);
    CHECK_MPI(MPI_Remove_error_code(code));
    CHECK_MPI(MPI_Remove_error_class(class));
    CHECK_MPI(MPI_Comm_free(&comm));
}

static void kinds(void)
{
    MPI_Errhandler file, session, got;
    MPI_Session s;
    calls = 0;
    CHECK_MPI(MPI_File_get_errhandler(MPI_FILE_NULL, &got));
    CHECK(got == MPI_ERRORS_RETURN);
    CHECK_MPI(MPI_File_create_errhandler(on_file, &file));
    CHECK(!strict || MPI_Comm_set_errhandler(MPI_COMM_WORLD, file) != MPI_SUCCESS);
    CHECK_MPI(MPI_File_set_errhandler(MPI_FILE_NULL, file));
    CHECK_MPI(MPI_File_call_errhandler(MPI_FILE_NULL, MPI_ERR_IO));
    CHECK(calls == 100 && last == MPI_ERR_IO);
    /* What cannot be opened goes to that handler, whatever the communicator has (14.7). */
    const char *name = "/nonexistent/file";
    MPI_File opened;
    (void)MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_RDONLY, MPI_INFO_NULL, &opened);
    CHECK(calls == 200);
    /* So does a representation that cannot be registered. */
    if (strict) {
        (void)MPI_Register_datarep("", MPI_CONVERSION_FN_NULL, MPI_CONVERSION_FN_NULL, on_extent, NULL);
        CHECK(calls == 300);
        calls = 200;
    }
    CHECK_MPI(MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN));
    CHECK(MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_RDONLY, MPI_INFO_NULL, &opened)
          != MPI_SUCCESS);
    CHECK_MPI(MPI_Errhandler_free(&file));
    CHECK_MPI(MPI_Session_create_errhandler(on_session, &session));
    CHECK_MPI(MPI_Session_init(MPI_INFO_NULL, session, &s));
    CHECK_MPI(MPI_Session_get_errhandler(s, &got));
    CHECK(got == session);
    CHECK_MPI(MPI_Errhandler_free(&got));
    CHECK_MPI(MPI_Session_call_errhandler(s, MPI_ERR_OTHER));
    CHECK(calls == 10200 && last == MPI_ERR_OTHER);
    CHECK_MPI(MPI_Session_set_errhandler(s, MPI_ERRORS_RETURN));
    CHECK_MPI(MPI_Session_get_errhandler(s, &got));
    CHECK(got == MPI_ERRORS_RETURN);
    CHECK_MPI(MPI_Errhandler_free(&session));
    CHECK_MPI(MPI_Session_finalize(&s));
}

static int has(MPI_Info info, const char *key, const char *want)
{
    char value[MPI_MAX_INFO_VAL];
    int flag = 0, length = sizeof value;
    CHECK_MPI(MPI_Info_get_string(info, key, &length, value, &flag));
    return flag && (!want || !strcmp(value, want));
}

static void environment(int argc, char **argv)
{
    MPI_Info info;
    CHECK_MPI(MPI_Info_create_env(argc, argv, &info));
    CHECK(has(info, "command", argv[0]));
    CHECK(!argc || has(info, "command", NULL));
    CHECK_MPI(MPI_Info_free(&info));
}

int main(int argc, char **argv)
{
    strict = argc > 1 && !strcmp(argv[1], "strict");
    if (strict)
        environment(argc, argv);
    check_init(&argc, &argv);
    counted();
    kinds();
    if (strict) {
        MPI_Info copy;
        CHECK(has(MPI_INFO_ENV, "command", NULL));
        CHECK(has(MPI_INFO_ENV, "wdir", NULL));
        CHECK_MPI(MPI_Info_dup(MPI_INFO_ENV, &copy));
        CHECK(has(copy, "host", NULL));
        CHECK_MPI(MPI_Info_free(&copy));
        CHECK(MPI_Info_set(MPI_INFO_ENV, "wdir", "/") != MPI_SUCCESS);
    }
    return check_finish();
}
