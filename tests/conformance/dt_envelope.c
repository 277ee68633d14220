/* MPI 5.0, 5.1.13 "Decoding a Datatype": MPI_Type_get_envelope and MPI_Type_get_contents return
 * what the constructor was called with. */
#include "check.h"

static int ints[32];
static MPI_Aint addresses[32];
static MPI_Datatype types[8];

/* Decodes, checks combiner and numbers, frees the type. */
static void decode(MPI_Datatype *type, int combiner, int ni, int na, int nt)
{
    int got_ni = -1, got_na = -1, got_nt = -1, got = -1;
    memset(ints, 0, sizeof ints);
    memset(addresses, 0, sizeof addresses);
    CHECK_MPI(MPI_Type_get_envelope(*type, &got_ni, &got_na, &got_nt, &got));
    CHECK_EQ(got, combiner);
    CHECK_EQ(got_ni, ni);
    CHECK_EQ(got_na, na);
    CHECK_EQ(got_nt, nt);
    CHECK_MPI(MPI_Type_get_contents(*type, ni, na, nt, ints, addresses, types));
    CHECK_MPI(MPI_Type_free(type));
}

static int same(const int *want, int n)
{
    return !memcmp(ints, want, (size_t)n * sizeof(int));
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    MPI_Datatype t;
    int ni, na, nt, combiner;
    CHECK_MPI(MPI_Type_get_envelope(MPI_DOUBLE, &ni, &na, &nt, &combiner));
    CHECK(ni == 0 && na == 0 && nt == 0 && combiner == MPI_COMBINER_NAMED);
    CHECK_MPI(MPI_Type_dup(MPI_FLOAT, &t));
    decode(&t, MPI_COMBINER_DUP, 0, 0, 1);
    CHECK(types[0] == MPI_FLOAT);
    CHECK_MPI(MPI_Type_contiguous(9, MPI_INT, &t));
    decode(&t, MPI_COMBINER_CONTIGUOUS, 1, 0, 1);
    CHECK(ints[0] == 9 && types[0] == MPI_INT);
    CHECK_MPI(MPI_Type_vector(3, 4, -5, MPI_CHAR, &t));
    decode(&t, MPI_COMBINER_VECTOR, 3, 0, 1);
    CHECK(same((int[]){ 3, 4, -5 }, 3) && types[0] == MPI_CHAR);
    CHECK_MPI(MPI_Type_create_hvector(3, 4, 55, MPI_CHAR, &t));
    decode(&t, MPI_COMBINER_HVECTOR, 2, 1, 1);
    CHECK(same((int[]){ 3, 4 }, 2) && addresses[0] == 55);
    CHECK_MPI(MPI_Type_indexed(2, (int[]){ 1, 2 }, (int[]){ 7, 3 }, MPI_INT, &t));
    decode(&t, MPI_COMBINER_INDEXED, 5, 0, 1);
    CHECK(same((int[]){ 2, 1, 2, 7, 3 }, 5));
    CHECK_MPI(MPI_Type_create_hindexed(2, (int[]){ 1, 2 }, (MPI_Aint[]){ 70, -3 }, MPI_INT, &t));
    decode(&t, MPI_COMBINER_HINDEXED, 3, 2, 1);
    CHECK(same((int[]){ 2, 1, 2 }, 3) && addresses[0] == 70 && addresses[1] == -3);
    CHECK_MPI(MPI_Type_create_indexed_block(2, 6, (int[]){ 7, 30 }, MPI_INT, &t));
    decode(&t, MPI_COMBINER_INDEXED_BLOCK, 4, 0, 1);
    CHECK(same((int[]){ 2, 6, 7, 30 }, 4));
    CHECK_MPI(MPI_Type_create_hindexed_block(2, 6, (MPI_Aint[]){ 7, 30 }, MPI_INT, &t));
    decode(&t, MPI_COMBINER_HINDEXED_BLOCK, 2, 2, 1);
    CHECK(same((int[]){ 2, 6 }, 2) && addresses[1] == 30);
    CHECK_MPI(MPI_Type_create_resized(MPI_INT, -4, 20, &t));
    decode(&t, MPI_COMBINER_RESIZED, 0, 2, 1);
    CHECK(addresses[0] == -4 && addresses[1] == 20 && types[0] == MPI_INT);
    CHECK_MPI(MPI_Type_create_subarray(2, (int[]){ 5, 6 }, (int[]){ 2, 3 }, (int[]){ 1, 2 },
                                       MPI_ORDER_FORTRAN, MPI_INT, &t));
    decode(&t, MPI_COMBINER_SUBARRAY, 8, 0, 1);
    CHECK(same((int[]){ 2, 5, 6, 2, 3, 1, 2, MPI_ORDER_FORTRAN }, 8));
    CHECK_MPI(MPI_Type_create_darray(4, 1, 1, (int[]){ 9 }, (int[]){ MPI_DISTRIBUTE_CYCLIC },
                                     (int[]){ 2 }, (int[]){ 4 }, MPI_ORDER_C, MPI_INT, &t));
    decode(&t, MPI_COMBINER_DARRAY, 8, 0, 1);
    CHECK(same((int[]){ 4, 1, 1, 9, MPI_DISTRIBUTE_CYCLIC, 2, 4, MPI_ORDER_C }, 8));
    /* A derived component comes back as a handle of its own, which is freed here. */
    MPI_Datatype inner, parts[2];
    CHECK_MPI(MPI_Type_contiguous(3, MPI_INT, &inner));
    parts[0] = inner;
    parts[1] = MPI_DOUBLE;
    CHECK_MPI(MPI_Type_create_struct(2, (int[]){ 1, 2 }, (MPI_Aint[]){ 0, 16 }, parts, &t));
    CHECK_MPI(MPI_Type_free(&inner));
    decode(&t, MPI_COMBINER_STRUCT, 3, 2, 2);
    CHECK(same((int[]){ 2, 1, 2 }, 3) && addresses[1] == 16 && types[1] == MPI_DOUBLE);
    CHECK(types[0] != MPI_DATATYPE_NULL);
    inner = types[0];
    decode(&inner, MPI_COMBINER_CONTIGUOUS, 1, 0, 1);
    CHECK_EQ(ints[0], 3);
    return check_finish();
}
