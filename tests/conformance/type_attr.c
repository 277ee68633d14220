/* MPI 5.0, 7.7.4 "Datatypes" caching: attributes of a datatype are copied by MPI_Type_dup and
 * deleted when the type is freed. */
#include "check.h"

static int deletes;

static int copy(MPI_Datatype type, int key, void *state, void *in, void *out, int *flag)
{
    (void)type, (void)key;
    *(void **)out = (char *)in + (intptr_t)state;
    *flag = 1;
    return MPI_SUCCESS;
}

static int delete(MPI_Datatype type, int key, void *value, void *state)
{
    (void)type, (void)key, (void)value, (void)state;
    deletes++;
    return MPI_SUCCESS;
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    MPI_Datatype type, dup;
    int key, flag = 0;
    void *value = NULL;
    CHECK_MPI(MPI_Type_create_keyval(copy, delete, &key, (void *)5));
    CHECK_MPI(MPI_Type_contiguous(3, MPI_INT, &type));
    CHECK_MPI(MPI_Type_set_attr(type, key, (void *)100));
    CHECK_MPI(MPI_Type_dup(type, &dup));
    CHECK_MPI(MPI_Type_get_attr(dup, key, &value, &flag));
    CHECK(flag && (intptr_t)value == 105);
    CHECK_MPI(MPI_Type_free(&dup));
    CHECK_EQ(deletes, 1);
    CHECK_MPI(MPI_Type_get_attr(type, key, &value, &flag));
    CHECK(flag && (intptr_t)value == 100);
    CHECK_MPI(MPI_Type_delete_attr(type, key));
    CHECK_EQ(deletes, 2);
    CHECK_MPI(MPI_Type_get_attr(type, key, &value, &flag));
    CHECK(!flag);
    CHECK_MPI(MPI_Type_set_attr(type, key, (void *)1));
    CHECK_MPI(MPI_Type_free(&type));
    CHECK_EQ(deletes, 3);
    CHECK_MPI(MPI_Type_free_keyval(&key));
    CHECK_EQ(key, MPI_KEYVAL_INVALID);
    return check_finish();
}
