/* What MPI 2.0 and 4.0 deprecated and MPI 3.0 removed (MPI 5.0, 16 and 17): error handlers, attributes and
 * info by their first names; names that MPICH's header has besides. */
#include "check.h"

static int handled = 0, copied = 0, deleted = 0;

static void handler(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    handled += *code != MPI_SUCCESS;
}

static int copy(MPI_Comm comm, int key, void *extra, void *in, void *out, int *flag)
{
    (void)comm, (void)key, (void)extra;
    copied++;
    *(void **)out = in;
    *flag = 1;
    return MPI_SUCCESS;
}

static int drop(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)comm, (void)key, (void)value, (void)extra;
    deleted++;
    return MPI_SUCCESS;
}

static void errhandlers(void)
{
    MPI_Handler_function *function = handler;
    MPI_Errhandler own, got;
    int nothing = 0;
    CHECK_MPI(MPI_Errhandler_create(function, &own));
    CHECK_MPI(MPI_Errhandler_set(MPI_COMM_SELF, own));
    CHECK_MPI(MPI_Errhandler_get(MPI_COMM_SELF, &got));
    CHECK(got == own);
    CHECK_MPI(MPI_Errhandler_free(&got));
    CHECK(MPI_Send(&nothing, -1, MPI_INT, 0, 0, MPI_COMM_SELF) != MPI_SUCCESS);
    CHECK_EQ(handled, 1);
    CHECK_MPI(PMPI_Errhandler_set(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    CHECK_MPI(PMPI_Errhandler_get(MPI_COMM_SELF, &got));
    CHECK(got == MPI_ERRORS_RETURN);
    CHECK_MPI(MPI_Errhandler_free(&own));
    CHECK_MPI(PMPI_Errhandler_create(handler, &own));
    CHECK_MPI(MPI_Errhandler_free(&own));
}

static void attributes(void)
{
    int key, flag = -1, value = 4711;
    void *got = NULL;
    MPI_Comm comm, second;
    CHECK_MPI(MPI_Keyval_create(copy, drop, &key, NULL));
    CHECK_MPI(MPI_Comm_dup(MPI_COMM_SELF, &comm));
    CHECK_MPI(MPI_Attr_put(comm, key, &value));
    CHECK_MPI(MPI_Attr_get(comm, key, &got, &flag));
    CHECK(flag && got == &value);
    CHECK_MPI(MPI_Comm_dup(comm, &second));
    CHECK_EQ(copied, 1);
    CHECK_MPI(MPI_Attr_delete(second, key));
    CHECK_EQ(deleted, 1);
    CHECK_MPI(MPI_Comm_free(&second));
    CHECK_MPI(MPI_Comm_free(&comm));
    CHECK_EQ(deleted, 2);
    CHECK_MPI(MPI_Keyval_free(&key));
    CHECK_EQ(key, MPI_KEYVAL_INVALID);
    CHECK_MPI(MPI_Keyval_create(MPI_NULL_COPY_FN, MPI_NULL_DELETE_FN, &key, NULL));
    CHECK_MPI(MPI_Keyval_free(&key));
    CHECK_MPI(MPI_Keyval_create(MPI_DUP_FN, MPI_NULL_DELETE_FN, &key, NULL));
    CHECK_MPI(MPI_Keyval_free(&key));
    CHECK_MPI(MPI_Attr_get(MPI_COMM_WORLD, MPI_TAG_UB, &got, &flag));
    CHECK(flag && *(int *)got >= 32767);
}

static void information(void)
{
    char value[MPI_MAX_INFO_VAL + 1] = "";
    int flag = 0, length = -1;
    MPI_Info info;
    CHECK_MPI(MPI_Info_create(&info));
    CHECK_MPI(MPI_Info_set(info, "key", "a value"));
    CHECK_MPI(MPI_Info_get_valuelen(info, "key", &length, &flag));
    CHECK(flag);
    CHECK_EQ(length, 7);
    CHECK_MPI(MPI_Info_get(info, "key", MPI_MAX_INFO_VAL, value, &flag));
    CHECK(flag && strcmp(value, "a value") == 0);
    CHECK_MPI(MPI_Info_free(&info));
}

/* ROMIO's requests; conditions on the version that programs have. */
static void names(void)
{
    MPIO_Request request = MPI_REQUEST_NULL;
    MPI_Status status;
    int flag = 0;
    CHECK_MPI(MPIO_Wait(&request, &status));
    CHECK_MPI(MPIO_Test(&request, &flag, &status));
    CHECK(flag);
#if MPI_VERSION < 3 || !defined(MPI_SUBVERSION) || !defined(MPI_BSEND_OVERHEAD)
    check_fail(__FILE__, __LINE__, "MPI_VERSION");
#endif
#if MPI_MAX_ERROR_STRING < 256 || MPI_MAX_PROCESSOR_NAME < 128 || MPI_MAX_OBJECT_NAME < 64
    check_fail(__FILE__, __LINE__, "limits");
#endif
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    errhandlers();
    attributes();
    information();
    names();
    return check_finish();
}
