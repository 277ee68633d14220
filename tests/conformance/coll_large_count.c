/* MPI 5.0, 6 with large counts: the _c forms give the same results as the int forms, with
 * MPI_Count counts and MPI_Aint displacements. */
#include "coll.h"

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    enum { COUNT = 500 };
    MPI_Comm world = MPI_COMM_WORLD;
    int n = check_size, last = n - 1;
    int64_t *in = coll_buffer(COUNT * n), *out = coll_buffer(COUNT * n);
    MPI_Count *counts = malloc((size_t)n * sizeof *counts);
    MPI_Aint *places = malloc((size_t)n * sizeof *places);
    for (int r = 0; r < n; r++) {
        counts[r] = COUNT;
        places[r] = (MPI_Aint)(n - 1 - r) * COUNT;
    }
    coll_fill(in, check_rank, 0, COUNT * n);
    CHECK_MPI(MPI_Allreduce_c(in, out, COUNT, MPI_INT64_T, MPI_SUM, world));
    CHECK(coll_is_sum(out, last, 0, COUNT));
    CHECK_MPI(MPI_Reduce_c(in, out, COUNT, MPI_INT64_T, MPI_SUM, last, world));
    CHECK(check_rank != last || coll_is_sum(out, last, 0, COUNT));
    CHECK_MPI(MPI_Scan_c(in, out, COUNT, MPI_INT64_T, MPI_SUM, world));
    CHECK(coll_is_sum(out, check_rank, 0, COUNT));
    CHECK_MPI(MPI_Allgatherv_c(in, COUNT, MPI_INT64_T, out, counts, places, MPI_INT64_T, world));
    for (int r = 0; r < n; r++)
        CHECK(coll_holds(out + places[r], r, 0, COUNT));
    CHECK_MPI(MPI_Alltoallv_c(in, counts, places, MPI_INT64_T, out, counts, places, MPI_INT64_T,
                              world));
    for (int r = 0; r < n; r++)
        CHECK(coll_holds(out + places[r], r, (int)places[check_rank], COUNT));
    CHECK_MPI(MPI_Gatherv_c(in, COUNT, MPI_INT64_T, out, counts, places, MPI_INT64_T, 0, world));
    for (int r = 0; r < n && check_rank == 0; r++)
        CHECK(coll_holds(out + places[r], r, 0, COUNT));
    CHECK_MPI(MPI_Reduce_scatter_c(in, out, counts, MPI_INT64_T, MPI_SUM, world));
    CHECK(coll_is_sum(out, last, check_rank * COUNT, COUNT));
    coll_fill(out, check_rank, 9, COUNT);
    CHECK_MPI(MPI_Bcast_c(out, COUNT, MPI_INT64_T, 0, world));
    CHECK(coll_holds(out, 0, 9, COUNT));
    free(in);
    free(out);
    free(counts);
    free(places);
    return check_finish();
}
