/* MPI 5.0, 6.9.1 "Reduce": to every root, many sizes, with MPI_IN_PLACE at the root; the send
 * buffer stays as it was. Argument: form. */
#include "coll.h"

int main(int argc, char **argv)
{
    static const int counts[] = { 0, 1, 5, 6, 130, 1000, 8191, 20001, 100000 };
    coll_init(&argc, &argv);
    for (int c = 0; c < 9; c++) {
        int count = counts[c];
        for (int root = 0; root < check_size; root++) {
            if (count > 1000 && root != c % check_size)
                continue;
            int64_t *in = coll_buffer(count), *out = coll_buffer(count);
            coll_fill(in, check_rank, 0, count);
            COLL(Reduce, reduce, in, out, count, MPI_INT64_T, MPI_SUM, root, MPI_COMM_WORLD);
            CHECK(coll_holds(in, check_rank, 0, count));
            if (check_rank == root)
                CHECK(coll_is_sum(out, check_size - 1, 0, count));
            else
                CHECK(out[0] == -1);
            CHECK(out[count] == -1);
            if (check_rank == root)
                COLL(Reduce, reduce, MPI_IN_PLACE, in, count, MPI_INT64_T, MPI_SUM, root,
                     MPI_COMM_WORLD);
            else
                COLL(Reduce, reduce, in, NULL, count, MPI_INT64_T, MPI_SUM, root, MPI_COMM_WORLD);
            if (check_rank == root)
                CHECK(coll_is_sum(in, check_size - 1, 0, count));
            CHECK_EQ(in[count], -1);
            free(in);
            free(out);
        }
    }
    return check_finish();
}
