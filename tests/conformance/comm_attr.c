/* MPI 5.0, 7.7 "Caching": keyvals, set, get, delete; copy and delete callbacks on dup, overwrite
 * and free, their extra state, a copy that declines, callbacks that fail; predefined attributes. */
#include "check.h"

static int copies, deletes, log_of_deletes[16], extra = 77;

static int copy(MPI_Comm comm, int key, void *state, void *in, void *out, int *flag)
{
    (void)comm, (void)key;
    CHECK(state == &extra);
    copies++;
    *(void **)out = (char *)in + 1;
    *flag = (intptr_t)in % 2 == 0; /* odd values are not copied */
    return MPI_SUCCESS;
}

static int delete(MPI_Comm comm, int key, void *value, void *state)
{
    (void)comm, (void)key;
    CHECK(state == &extra);
    log_of_deletes[deletes++ % 16] = (int)(intptr_t)value;
    return MPI_SUCCESS;
}

static int failing_copy(MPI_Comm comm, int key, void *state, void *in, void *out, int *flag)
{
    (void)comm, (void)key, (void)state, (void)in, (void)out, (void)flag;
    return MPI_ERR_OTHER;
}

static int failing_delete(MPI_Comm comm, int key, void *value, void *state)
{
    (void)comm, (void)key, (void)value;
    return *(int *)state; /* a code of the program */
}

static intptr_t get(MPI_Comm comm, int key)
{
    void *value = NULL;
    int flag = 0;
    CHECK_MPI(MPI_Comm_get_attr(comm, key, &value, &flag));
    return flag ? (intptr_t)value : -1;
}

static void callbacks(void)
{
    MPI_Comm comm, dup;
    int key = MPI_KEYVAL_INVALID, other = MPI_KEYVAL_INVALID;
    CHECK_MPI(MPI_Comm_create_keyval(copy, delete, &key, &extra));
    CHECK_MPI(MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &other, NULL));
    CHECK_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    CHECK_EQ(get(comm, key), -1);
    CHECK_MPI(MPI_Comm_set_attr(comm, key, (void *)10));
    CHECK_MPI(MPI_Comm_set_attr(comm, other, (void *)500));
    CHECK_EQ(get(comm, key), 10);
    CHECK_MPI(MPI_Comm_set_attr(comm, key, (void *)20)); /* deletes the 10 */
    CHECK(deletes == 1 && log_of_deletes[0] == 10);
    CHECK_MPI(MPI_Comm_dup(comm, &dup));
    CHECK_EQ(copies, 1);
    CHECK_EQ(get(dup, key), 21);
    CHECK_EQ(get(dup, other), 500);
    CHECK_MPI(MPI_Comm_free(&dup));
    CHECK(deletes == 2 && log_of_deletes[1] == 21);
    CHECK_MPI(MPI_Comm_set_attr(comm, key, (void *)31));
    CHECK_MPI(MPI_Comm_dup(comm, &dup)); /* odd: not copied */
    CHECK_EQ(copies, 2);
    CHECK_EQ(get(dup, key), -1);
    CHECK_EQ(get(dup, other), 500);
    CHECK_MPI(MPI_Comm_free(&dup));
    CHECK_EQ(deletes, 3);
    CHECK_MPI(MPI_Comm_delete_attr(comm, key));
    CHECK(deletes == 4 && log_of_deletes[3] == 31);
    CHECK_EQ(get(comm, key), -1);
    /* The key is freed while attributes use it: they stay until their communicator goes. */
    CHECK_MPI(MPI_Comm_set_attr(comm, key, (void *)40));
    CHECK_MPI(MPI_Comm_free_keyval(&key));
    CHECK_EQ(key, MPI_KEYVAL_INVALID);
    CHECK_EQ(deletes, 4);
    CHECK_MPI(MPI_Comm_free(&comm));
    CHECK(deletes == 5 && log_of_deletes[4] == 40);
    CHECK_MPI(MPI_Comm_free_keyval(&other));
    /* A freed key works by a copy of its number as long as an attribute uses it. */
    CHECK_MPI(MPI_Comm_create_keyval(copy, delete, &key, &extra));
    CHECK_MPI(MPI_Comm_set_attr(MPI_COMM_WORLD, key, (void *)50));
    other = key;
    CHECK_MPI(MPI_Comm_free_keyval(&key));
    CHECK_EQ(get(MPI_COMM_WORLD, other), 50);
    CHECK_MPI(MPI_Comm_delete_attr(MPI_COMM_WORLD, other));
    CHECK(deletes == 6 && log_of_deletes[5] == 50);
    /* Not copied by default. */
    CHECK_MPI(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &key, NULL));
    CHECK_MPI(MPI_Comm_set_attr(MPI_COMM_WORLD, key, (void *)1));
    CHECK_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &dup));
    CHECK_EQ(get(dup, key), -1);
    CHECK_MPI(MPI_Comm_free(&dup));
    CHECK_MPI(MPI_Comm_delete_attr(MPI_COMM_WORLD, key));
    CHECK_MPI(MPI_Comm_free_keyval(&key));
}

static void failures(void)
{
    MPI_Comm comm, dup = MPI_COMM_NULL;
    int key, class, fail, own = -1;
    CHECK_MPI(MPI_Add_error_class(&own));
    CHECK_MPI(MPI_Add_error_code(own, &fail));
    CHECK_MPI(MPI_Comm_dup(MPI_COMM_SELF, &comm));
    CHECK_MPI(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    CHECK_MPI(MPI_Comm_create_keyval(failing_copy, failing_delete, &key, &fail));
    CHECK_MPI(MPI_Comm_set_attr(comm, key, &fail));
    CHECK(MPI_Comm_dup(comm, &dup) != MPI_SUCCESS);
    /* The call returns what the function did (section 7.7.2). */
    CHECK_EQ(MPI_Comm_delete_attr(comm, key), fail);
    CHECK_MPI(MPI_Error_class(fail, &class));
    CHECK_EQ(class, own);
    fail = 0;
    CHECK_MPI(MPI_Comm_delete_attr(comm, key));
    CHECK_MPI(MPI_Comm_free_keyval(&key));
    CHECK_MPI(MPI_Comm_free(&comm));
}

static void predefined(void)
{
    static const int keys[] = { MPI_TAG_UB, MPI_IO, MPI_WTIME_IS_GLOBAL };
    for (int i = 0; i < 3; i++) {
        int *value = NULL, flag = 0;
        CHECK_MPI(MPI_Comm_get_attr(MPI_COMM_WORLD, keys[i], &value, &flag));
        CHECK(flag);
        if (flag && keys[i] == MPI_TAG_UB)
            CHECK(*value >= 32767);
        if (flag && keys[i] == MPI_WTIME_IS_GLOBAL)
            CHECK(*value == 0 || *value == 1);
    }
    int *value = NULL, flag = 0;
    CHECK_MPI(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &value, &flag));
    CHECK(!flag || *value == 0);
    CHECK_MPI(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_UNIVERSE_SIZE, &value, &flag));
    CHECK(!flag || *value >= check_size || *value == -1);
    CHECK_MPI(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &value, &flag));
    CHECK(flag && *value >= MPI_ERR_LASTCODE);
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    callbacks();
    failures();
    predefined();
    return check_finish();
}
