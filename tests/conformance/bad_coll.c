/* MPI 5.0, 9.4: wrong arguments of collectives, the same at all ranks, give the right class before
 * anything is sent. With the argument "strict" also those that MPICH 5.0.2 leaves unchecked. */
#include "check.h"

/* One block for input and output is MPI_IN_PLACE's business; apart they may share an array. */
static void same_blocks(void)
{
    MPI_Comm world = MPI_COMM_WORLD;
    int n = check_size, *a = malloc(2 * n * sizeof *a), *ones = malloc(n * sizeof *ones);
    int *places = malloc(n * sizeof *places), *bytes = malloc(n * sizeof *bytes);
    MPI_Datatype *types = malloc(n * sizeof *types);
    MPI_Request request;
    for (int i = 0; i < n; i++) {
        a[i] = 10 * check_rank + i;
        a[n + i] = -1;
        ones[i] = 1;
        places[i] = i;
        bytes[i] = i * (int)sizeof(int);
        types[i] = MPI_INT;
    }
    CHECK_CLASS(MPI_Allgatherv(a + check_rank, 1, MPI_INT, a, ones, places, MPI_INT, world),
                MPI_ERR_BUFFER);
    CHECK_CLASS(MPI_Alltoallv(a, ones, places, MPI_INT, a, ones, places, MPI_INT, world),
                MPI_ERR_BUFFER);
    CHECK_CLASS(MPI_Ialltoallw(a, ones, bytes, types, a, ones, bytes, types, world, &request),
                MPI_ERR_BUFFER);
    CHECK_CLASS(MPI_Gatherv(a, 1, MPI_INT, a, ones, places, MPI_INT, 0, MPI_COMM_SELF),
                MPI_ERR_BUFFER);
    CHECK_CLASS(MPI_Scatterv(a, ones, places, MPI_INT, a, 1, MPI_INT, 0, MPI_COMM_SELF),
                MPI_ERR_BUFFER);
    CHECK_MPI(MPI_Alltoallv(a, ones, places, MPI_INT, a + n, ones, places, MPI_INT, world));
    for (int i = 0; i < n; i++)
        CHECK_EQ(a[n + i], 10 * i + check_rank);
    free(a), free(ones), free(places), free(bytes), free(types);
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    int strict = argc > 1 && !strcmp(argv[1], "strict");
    int a[64] = { 1 }, b[64] = { 0 };
    MPI_Comm world = MPI_COMM_WORLD;
    MPI_Request request;
    MPI_Datatype loose;
    CHECK_CLASS(MPI_Bcast(a, 1, MPI_INT, check_size, world), MPI_ERR_ROOT);
    CHECK_CLASS(MPI_Bcast(a, 1, MPI_INT, -1, world), MPI_ERR_ROOT);
    CHECK_CLASS(MPI_Reduce(a, b, 1, MPI_INT, MPI_SUM, check_size, world), MPI_ERR_ROOT);
    CHECK_CLASS(MPI_Gather(a, 1, MPI_INT, b, 1, MPI_INT, -5, world), MPI_ERR_ROOT);
    CHECK_CLASS(MPI_Scatter(a, 1, MPI_INT, b, 1, MPI_INT, check_size, world), MPI_ERR_ROOT);
    CHECK_CLASS(MPI_Ibcast(a, 1, MPI_INT, check_size, world, &request), MPI_ERR_ROOT);
    CHECK_CLASS(MPI_Bcast(a, -1, MPI_INT, 0, world), MPI_ERR_COUNT);
    if (strict)
        CHECK_CLASS(MPI_Allreduce(a, b, -1, MPI_INT, MPI_SUM, world), MPI_ERR_COUNT);
    CHECK_CLASS(MPI_Bcast(a, 1, MPI_DATATYPE_NULL, 0, world), MPI_ERR_TYPE);
    if (strict)
        CHECK_CLASS(MPI_Allreduce(a, b, 1, MPI_DATATYPE_NULL, MPI_SUM, world), MPI_ERR_TYPE);
    CHECK_MPI(MPI_Type_contiguous(2, MPI_INT, &loose));
    CHECK_CLASS(MPI_Bcast(a, 1, loose, 0, world), MPI_ERR_TYPE);
    CHECK_MPI(MPI_Type_free(&loose));
    CHECK_CLASS(MPI_Barrier(MPI_COMM_NULL), MPI_ERR_COMM);
    CHECK_CLASS(MPI_Bcast(a, 1, MPI_INT, 0, MPI_COMM_NULL), MPI_ERR_COMM);
    CHECK_CLASS(MPI_Allreduce(a, b, 1, MPI_INT, MPI_OP_NULL, world), MPI_ERR_OP);
    CHECK_CLASS(MPI_Reduce(a, b, 1, MPI_INT, MPI_REPLACE, 0, world), MPI_ERR_OP);
    CHECK_CLASS(MPI_Allreduce(a, b, 1, MPI_DOUBLE, MPI_BAND, world), MPI_ERR_OP);
    CHECK_CLASS(MPI_Allreduce(a, b, 1, MPI_INT, MPI_MAXLOC, world), MPI_ERR_OP);
    CHECK_CLASS(MPI_Allreduce(a, b, 1, MPI_C_DOUBLE_COMPLEX, MPI_MAX, world), MPI_ERR_OP);
    CHECK_CLASS(MPI_Scan(a, b, 1, MPI_2INT, MPI_SUM, world), MPI_ERR_OP);
    CHECK_CLASS(MPI_Allreduce(a, a, 1, MPI_INT, MPI_SUM, world), MPI_ERR_BUFFER);
    CHECK_CLASS(MPI_Reduce_local(a, b, 1, MPI_FLOAT, MPI_LXOR), MPI_ERR_OP);
    if (strict)
        CHECK_CLASS(MPI_Reduce_local(a, b, -1, MPI_INT, MPI_SUM), MPI_ERR_COUNT);
    MPI_Op op = MPI_SUM;
    CHECK_CLASS(MPI_Op_free(&op), MPI_ERR_OP);
    op = MPI_OP_NULL;
    CHECK_CLASS(MPI_Op_free(&op), MPI_ERR_OP);
    same_blocks();
    int sum = 0, one = 1;
    CHECK_MPI(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, world));
    CHECK_EQ(sum, check_size);
    return check_finish();
}
