/* MPI 5.0, 15.2 "Profiling Interface": the program's own MPI_Send and MPI_Allreduce stand in for
 * the library's, which are reached as PMPI_; functions inside the library do not call them. */
#include "check.h"

static int sends, reductions;

int MPI_Send(const void *buffer, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm)
{
    sends++;
    return PMPI_Send(buffer, count, type, dest, tag, comm);
}

int MPI_Allreduce(const void *in, void *out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    reductions++;
    return PMPI_Allreduce(in, out, count, type, op, comm);
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    int right = (check_rank + 1) % check_size, left = (check_rank + check_size - 1) % check_size;
    int in = -1, sum = -1, rank = -1;
    MPI_Request request;
    MPI_Comm comm;
    CHECK_MPI(MPI_Irecv(&in, 1, MPI_INT, left, 1, MPI_COMM_WORLD, &request));
    CHECK_MPI(MPI_Send(&check_rank, 1, MPI_INT, right, 1, MPI_COMM_WORLD));
    CHECK_MPI(PMPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK_EQ(in, left);
    CHECK_EQ(sends, 1);
    CHECK_MPI(MPI_Allreduce(&check_rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    CHECK_EQ(sum, check_size * (check_size - 1) / 2);
    CHECK_EQ(reductions, 1);
    CHECK_MPI(MPI_Barrier(MPI_COMM_WORLD));
    CHECK_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    CHECK_MPI(PMPI_Comm_rank(comm, &rank));
    CHECK_EQ(rank, check_rank);
    CHECK_MPI(MPI_Comm_free(&comm));
    CHECK_EQ(sends, 1);
    CHECK_EQ(reductions, 1);
    return check_finish();
}
