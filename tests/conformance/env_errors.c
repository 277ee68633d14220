/* MPI 5.0, 9.3 to 9.5 "Error Handling": handlers that return and user functions, per
 * communicator, inheritance, error classes, codes and strings, adding and removing own ones. With the
 * argument "strict" also: a call whose error a user function handled still returns the code that the
 * function was given (9.3.1), and the strings of predefined classes cannot be changed. */
#include "check.h"

static int calls, last_code, strict;
static MPI_Comm last_comm;

static void handler(MPI_Comm *comm, int *code, ...)
{
    calls++;
    last_code = *code;
    last_comm = *comm;
}

static void handlers(void)
{
    MPI_Comm comm, child;
    MPI_Errhandler mine, got;
    int data = 0, class = -1;
    CHECK_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    CHECK_MPI(MPI_Comm_get_errhandler(comm, &got));
    CHECK(got == MPI_ERRORS_RETURN); /* inherited from the world, see check_init */
    CHECK_MPI(MPI_Errhandler_free(&got));
    CHECK(got == MPI_ERRHANDLER_NULL);
    CHECK_MPI(MPI_Comm_create_errhandler(handler, &mine));
    CHECK_MPI(MPI_Comm_set_errhandler(comm, mine));
    CHECK_MPI(MPI_Errhandler_free(&mine));
    int code = MPI_Send(&data, 1, MPI_INT, check_size + 5, 0, comm);
    CHECK(!strict || code == last_code);
    CHECK_EQ(calls, 1);
    CHECK(last_comm == comm);
    CHECK_MPI(MPI_Error_class(last_code, &class));
    CHECK_EQ(class, MPI_ERR_RANK);
    CHECK_MPI(MPI_Comm_dup(comm, &child)); /* inherits the function */
    code = MPI_Recv(&data, 1, MPI_INT, check_size + 5, 0, child, MPI_STATUS_IGNORE);
    CHECK(!strict || code == last_code);
    CHECK_EQ(calls, 2);
    CHECK(last_comm == child);
    CHECK_MPI(MPI_Comm_call_errhandler(child, MPI_ERR_OTHER));
    CHECK(calls == 3 && last_code == MPI_ERR_OTHER);
    CHECK(MPI_Send(&data, 1, MPI_INT, check_size + 5, 0, MPI_COMM_WORLD) != MPI_SUCCESS);
    CHECK_EQ(calls, 3); /* the world's own handler was used */
    CHECK_MPI(MPI_Comm_get_errhandler(child, &got));
    CHECK(got != MPI_ERRORS_RETURN && got != MPI_ERRORS_ARE_FATAL);
    CHECK_MPI(MPI_Comm_set_errhandler(MPI_COMM_SELF, got));
    CHECK_MPI(MPI_Errhandler_free(&got));
    code = MPI_Send(&data, 1, MPI_INT, 1, 0, MPI_COMM_SELF);
    CHECK(!strict || code == last_code);
    CHECK_EQ(calls, 4);
    CHECK_MPI(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    CHECK_MPI(MPI_Comm_free(&child));
    CHECK_MPI(MPI_Comm_free(&comm));
}

static void classes(void)
{
    static const int all[] = { MPI_SUCCESS, MPI_ERR_BUFFER, MPI_ERR_COUNT, MPI_ERR_TYPE, MPI_ERR_TAG,
        MPI_ERR_COMM, MPI_ERR_RANK, MPI_ERR_REQUEST, MPI_ERR_ROOT, MPI_ERR_GROUP, MPI_ERR_OP,
        MPI_ERR_TOPOLOGY, MPI_ERR_DIMS, MPI_ERR_ARG, MPI_ERR_UNKNOWN, MPI_ERR_TRUNCATE,
        MPI_ERR_OTHER, MPI_ERR_INTERN, MPI_ERR_PENDING, MPI_ERR_IN_STATUS, MPI_ERR_INFO_KEY,
        MPI_ERR_KEYVAL, MPI_ERR_NO_MEM, MPI_ERR_NAME, MPI_ERR_PORT, MPI_ERR_SIZE, MPI_ERR_WIN };
    char text[MPI_MAX_ERROR_STRING], other[MPI_MAX_ERROR_STRING];
    int length, class;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        memset(text, 'x', sizeof text);
        length = -1;
        CHECK_MPI(MPI_Error_string(all[i], text, &length));
        CHECK(length > 0 && length < MPI_MAX_ERROR_STRING && text[length] == 0);
        CHECK_EQ(strlen(text), length);
        CHECK_MPI(MPI_Error_class(all[i], &class));
        CHECK_EQ(class, all[i]);
    }
    MPI_Error_string(MPI_ERR_TAG, text, &length);
    MPI_Error_string(MPI_ERR_RANK, other, &length);
    CHECK(strcmp(text, other));
}

static void own(void)
{
    int class = -1, code = -1, code2 = -1, got = -1, length = -1, flag = 0, *last = NULL;
    char text[MPI_MAX_ERROR_STRING];
    CHECK_MPI(MPI_Add_error_class(&class));
    CHECK(class > MPI_ERR_LASTCODE);
    CHECK_MPI(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &last, &flag));
    CHECK(flag && *last >= class);
    CHECK_MPI(MPI_Add_error_code(class, &code));
    CHECK_MPI(MPI_Add_error_code(MPI_ERR_TAG, &code2));
    CHECK(code != code2);
    CHECK_MPI(MPI_Error_class(code, &got));
    CHECK_EQ(got, class);
    CHECK_MPI(MPI_Error_class(code2, &got));
    CHECK_EQ(got, MPI_ERR_TAG);
    CHECK_MPI(MPI_Error_string(code, text, &length));
    CHECK(length == 0 && text[0] == 0);
    CHECK_MPI(MPI_Add_error_string(code, "the cat sleeps on it"));
    CHECK_MPI(MPI_Add_error_string(class, "cats"));
    CHECK_MPI(MPI_Error_string(code, text, &length));
    CHECK(!strcmp(text, "the cat sleeps on it") && length == (int)strlen(text));
    CHECK_MPI(MPI_Error_string(class, text, &length));
    CHECK(!strcmp(text, "cats"));
    CHECK(!strict || MPI_Add_error_string(MPI_ERR_TAG, "no") != MPI_SUCCESS);
    CHECK_MPI(MPI_Comm_call_errhandler(MPI_COMM_WORLD, code)); /* returns */
    CHECK_MPI(MPI_Remove_error_string(code));
    CHECK_MPI(MPI_Remove_error_string(class));
    CHECK_MPI(MPI_Remove_error_code(code));
    CHECK_MPI(MPI_Remove_error_code(code2));
    CHECK_MPI(MPI_Remove_error_class(class));
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    strict = argc > 1 && !strcmp(argv[1], "strict");
    handlers();
    classes();
    own();
    return check_finish();
}
