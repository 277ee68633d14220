/* MPI 5.0, 6.11 "Scan": MPI_Scan and MPI_Exscan, many sizes, with and without MPI_IN_PLACE; the
 * result of MPI_Exscan at rank 0 is undefined, at rank 1 it is rank 0's input. Argument: form. */
#include "coll.h"

int main(int argc, char **argv)
{
    static const int counts[] = { 0, 1, 6, 130, 3000, 40000 };
    coll_init(&argc, &argv);
    for (int c = 0; c < 6; c++) {
        int count = counts[c];
        for (int in_place = 0; in_place < 2; in_place++) {
            int64_t *in = coll_buffer(count), *out = coll_buffer(count);
            coll_fill(in_place ? out : in, check_rank, 0, count);
            const void *send = in_place ? MPI_IN_PLACE : in;
            COLL(Scan, scan, send, out, count, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
            CHECK(coll_is_sum(out, check_rank, 0, count));
            CHECK_EQ(out[count], -1);
            coll_fill(in_place ? out : in, check_rank, 0, count);
            COLL(Exscan, exscan, send, out, count, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
            if (check_rank > 0)
                CHECK(coll_is_sum(out, check_rank - 1, 0, count));
            CHECK_EQ(out[count], -1);
            free(in);
            free(out);
        }
    }
    return check_finish();
}
