/* MPI 5.0, 6.13 "Persistent Collective Operations": initialised once, started many times, several
 * active at once and started together; freed when inactive. With the argument "inactive" also
 * waits for all before the first start; with "shuffled" every process starts them in an order of
 * its own, among collective calls of other forms. */
#include "coll.h"

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    enum { COUNT = 900 };
    MPI_Comm world = MPI_COMM_WORLD;
    MPI_Info none = MPI_INFO_NULL;
    MPI_Request requests[5];
    int64_t *data = coll_buffer(COUNT), *in = coll_buffer(COUNT), *sum = coll_buffer(COUNT);
    int64_t *all = coll_buffer(COUNT * check_size), *scan = coll_buffer(COUNT);
    int last = check_size - 1;
    CHECK_MPI(MPI_Bcast_init(data, COUNT, MPI_INT64_T, last, world, none, &requests[0]));
    CHECK_MPI(MPI_Allreduce_init(in, sum, COUNT, MPI_INT64_T, MPI_SUM, world, none, &requests[1]));
    CHECK_MPI(MPI_Allgather_init(in, COUNT, MPI_INT64_T, all, COUNT, MPI_INT64_T, world, none,
                                 &requests[2]));
    CHECK_MPI(MPI_Scan_init(in, scan, COUNT, MPI_INT64_T, MPI_SUM, world, none, &requests[3]));
    CHECK_MPI(MPI_Barrier_init(world, none, &requests[4]));
    /* Inactive: complete at once (3.7.5). */
    if (argc > 1 && !strcmp(argv[1], "inactive"))
        CHECK_MPI(MPI_Waitall(5, requests, MPI_STATUSES_IGNORE));
    int shuffled = argc > 1 && !strcmp(argv[1], "shuffled");
    for (int round = 0; round < 6; round++) {
        coll_fill(in, check_rank, round, COUNT);
        for (int i = 0; i < COUNT; i++)
            data[i] = check_rank == last ? coll_value(last, round + i) : -1;
        if (round % 2) {
            CHECK_MPI(MPI_Startall(5, requests));
        } else {
            int shift = shuffled ? check_rank + round / 2 : 0;
            for (int i = 0; i < 5; i++) {
                if (shuffled && i == (check_rank + 2) % 5)
                    CHECK_MPI(MPI_Barrier(world));
                CHECK_MPI(MPI_Start(&requests[(shift + i) % 5]));
            }
        }
        CHECK_MPI(MPI_Waitall(5, requests, MPI_STATUSES_IGNORE));
        CHECK(coll_holds(data, last, round, COUNT));
        CHECK(coll_is_sum(sum, last, round, COUNT));
        CHECK(coll_is_sum(scan, check_rank, round, COUNT));
        for (int r = 0; r < check_size; r++)
            CHECK(coll_holds(all + r * COUNT, r, round, COUNT));
        CHECK(requests[2] != MPI_REQUEST_NULL);
    }
    for (int i = 0; i < 5; i++) {
        CHECK_MPI(MPI_Request_free(&requests[i]));
        CHECK(requests[i] == MPI_REQUEST_NULL);
    }
    free(data);
    free(in);
    free(sum);
    free(all);
    free(scan);
    return check_finish();
}
