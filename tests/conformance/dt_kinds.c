/* MPI 5.0, 19.1.9: types by precision and range are predefined and the same at every call; 5.1.13:
 * the types that contents return can be used and freed; 7.7.4: attributes of duplicates. */
#include "check.h"

static void f90(void)
{
    MPI_Datatype a, b, c;
    int size = -1, ints = -1, addresses = -1, types = -1, combiner = -1, values[2] = { 0 };
    CHECK_MPI(MPI_Type_create_f90_real(15, 307, &a));
    CHECK_MPI(MPI_Type_create_f90_real(15, 307, &b));
    CHECK(a == b);
    CHECK_MPI(MPI_Type_size(a, &size));
    CHECK_EQ(size, 8);
    CHECK_MPI(MPI_Type_get_envelope(a, &ints, &addresses, &types, &combiner));
    CHECK_EQ(combiner, MPI_COMBINER_F90_REAL);
    CHECK(ints == 2 && addresses == 0 && types == 0);
    CHECK_MPI(MPI_Type_get_contents(a, 2, 0, 0, values, NULL, NULL));
    CHECK(values[0] == 15 && values[1] == 307);
    CHECK_MPI(MPI_Type_create_f90_complex(6, MPI_UNDEFINED, &c));
    CHECK_MPI(MPI_Type_size(c, &size));
    CHECK_EQ(size, 8);
    CHECK_MPI(MPI_Type_create_f90_integer(9, &c));
    CHECK_MPI(MPI_Type_size(c, &size));
    CHECK_EQ(size, 4);
    CHECK_MPI(MPI_Type_get_envelope(c, &ints, &addresses, &types, &combiner));
    CHECK(combiner == MPI_COMBINER_F90_INTEGER && ints == 1);
    CHECK(MPI_Type_create_f90_real(1000, 1000, &c) != MPI_SUCCESS);
    CHECK(MPI_Type_create_f90_integer(1000, &c) != MPI_SUCCESS);
    /* It is a real like any other. */
    double x = 1.5 + check_rank, sum = -1;
    CHECK_MPI(MPI_Allreduce(&x, &sum, 1, a, MPI_SUM, MPI_COMM_WORLD));
    CHECK(sum == 1.5 * check_size + check_size * (check_size - 1) / 2);
}

/* A type out of contents is a type like any other, after the one it came from is gone. */
static void contents(void)
{
    MPI_Datatype inner, outer, again[1];
    int ints[1] = { 0 }, size = -1;
    CHECK_MPI(MPI_Type_vector(3, 1, 2, MPI_INT, &inner));
    CHECK_MPI(MPI_Type_contiguous(2, inner, &outer));
    CHECK_MPI(MPI_Type_free(&inner));
    CHECK_MPI(MPI_Type_get_contents(outer, 1, 0, 1, ints, NULL, again));
    CHECK_EQ(ints[0], 2);
    CHECK_MPI(MPI_Type_free(&outer));
    CHECK_MPI(MPI_Type_size(again[0], &size));
    CHECK_EQ(size, 12);
    CHECK_MPI(MPI_Type_commit(&again[0]));
    int numbers[6] = { 1, 2, 3, 4, 5, 6 }, back[3] = { 0 };
    CHECK_MPI(MPI_Sendrecv(numbers, 1, again[0], check_rank, 1, back, 3, MPI_INT, check_rank, 1,
                           MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK(back[0] == 1 && back[1] == 3 && back[2] == 5);
    CHECK_MPI(MPI_Type_free(&again[0]));
    CHECK(again[0] == MPI_DATATYPE_NULL);
    /* Too little room is an error. */
    CHECK_MPI(MPI_Type_contiguous(2, MPI_INT, &outer));
    CHECK(MPI_Type_get_contents(outer, 0, 0, 1, ints, NULL, again) != MPI_SUCCESS);
    CHECK_MPI(MPI_Type_free(&outer));
    CHECK_CLASS(MPI_Type_get_contents(MPI_INT, 1, 0, 1, ints, NULL, again), MPI_ERR_TYPE);
}

static int deleted;

static int fail_to_copy(MPI_Datatype type, int key, void *extra, void *in, void *out, int *flag)
{
    (void)type, (void)key, (void)extra, (void)in, (void)out;
    *flag = 0;
    return MPI_ERR_OTHER;
}

static int refuse_or_count(MPI_Datatype type, int key, void *value, void *extra)
{
    int size = -1;
    (void)key, (void)extra;
    /* Calls are allowed here, and the type still lives. */
    CHECK_MPI(MPI_Type_size(type, &size));
    CHECK_EQ(size, 8);
    deleted++;
    return *(int *)value ? MPI_ERR_OTHER : MPI_SUCCESS;
}

static void attributes(int strict)
{
    MPI_Datatype t, d = MPI_DATATYPE_NULL;
    int key = -1, refuse = 1;
    CHECK_MPI(MPI_Type_contiguous(2, MPI_INT, &t));
    CHECK_MPI(MPI_Type_create_keyval(fail_to_copy, refuse_or_count, &key, NULL));
    CHECK_MPI(MPI_Type_set_attr(t, key, &refuse));
    CHECK(MPI_Type_dup(t, &d) != MPI_SUCCESS);
    CHECK_EQ(deleted, 0);
    if (strict) {
        CHECK(MPI_Type_free(&t) != MPI_SUCCESS);
        CHECK_EQ(deleted, 1);
        deleted = 0;
    }
    refuse = 0;
    CHECK_MPI(MPI_Type_free(&t));
    CHECK_EQ(deleted, 1);
    CHECK_MPI(MPI_Type_free_keyval(&key));
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    f90();
    contents();
    attributes(argc > 1 && !strcmp(argv[1], "strict"));
    return check_finish();
}
