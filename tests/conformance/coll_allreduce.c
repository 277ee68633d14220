/* MPI 5.0, 6.9.6 "All-Reduce": many sizes, with and without MPI_IN_PLACE. Argument: form. */
#include "coll.h"

int main(int argc, char **argv)
{
    static const int counts[] = { 0, 1, 2, 3, 5, 6, 7, 130, 1000, 8191, 20001, 100000 };
    coll_init(&argc, &argv);
    for (int c = 0; c < 12; c++) {
        int count = counts[c];
        int64_t *in = coll_buffer(count), *out = coll_buffer(count);
        coll_fill(in, check_rank, 0, count);
        COLL(Allreduce, allreduce, in, out, count, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
        CHECK(coll_holds(in, check_rank, 0, count));
        CHECK(coll_is_sum(out, check_size - 1, 0, count));
        CHECK(in[count] == -1 && out[count] == -1);
        COLL(Allreduce, allreduce, MPI_IN_PLACE, in, count, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
        CHECK(coll_is_sum(in, check_size - 1, 0, count));
        CHECK_EQ(in[count], -1);
        COLL(Allreduce, allreduce, MPI_IN_PLACE, in, count, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD);
        CHECK(coll_is_sum(in, check_size - 1, 0, count));
        free(in);
        free(out);
    }
    return check_finish();
}
