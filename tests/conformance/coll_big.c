/* MPI 5.0, 6: collectives on megabytes, where other algorithms are in use. Argument: form. */
#include "coll.h"

int main(int argc, char **argv)
{
    coll_init(&argc, &argv);
    enum { COUNT = 1000003 }; /* no multiple of anything */
    int last = check_size - 1, part = COUNT / check_size / 2;
    int64_t *in = coll_buffer(COUNT), *out = coll_buffer(COUNT);
    coll_fill(in, check_rank, 0, COUNT);
    COLL(Allreduce, allreduce, in, out, COUNT, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    CHECK(coll_is_sum(out, last, 0, COUNT));
    COLL(Reduce, reduce, in, out, COUNT, MPI_INT64_T, MPI_SUM, last, MPI_COMM_WORLD);
    CHECK(check_rank != last || coll_is_sum(out, last, 0, COUNT));
    COLL(Bcast, bcast, check_rank == last ? in : out, COUNT, MPI_INT64_T, last, MPI_COMM_WORLD);
    CHECK(coll_holds(check_rank == last ? in : out, last, 0, COUNT));
    COLL(Allgather, allgather, in, part, MPI_INT64_T, out, part, MPI_INT64_T, MPI_COMM_WORLD);
    for (int r = 0; r < check_size; r++)
        CHECK(coll_holds(out + r * part, r, 0, part));
    COLL(Alltoall, alltoall, in, part, MPI_INT64_T, out, part, MPI_INT64_T, MPI_COMM_WORLD);
    for (int r = 0; r < check_size; r++)
        CHECK(coll_holds(out + r * part, r, check_rank * part, part));
    COLL(Reduce_scatter_block, reduce_scatter_block, in, out, part, MPI_INT64_T, MPI_SUM,
         MPI_COMM_WORLD);
    CHECK(coll_is_sum(out, last, check_rank * part, part));
    COLL(Scan, scan, in, out, COUNT, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    CHECK(coll_is_sum(out, check_rank, 0, COUNT));
    free(in);
    free(out);
    return check_finish();
}
