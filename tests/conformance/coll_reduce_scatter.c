/* MPI 5.0, 6.10 "Reduce-Scatter": MPI_Reduce_scatter_block and MPI_Reduce_scatter with unequal and
 * zero counts, with and without MPI_IN_PLACE. Argument: form. */
#include "coll.h"

static void block(int count, int in_place)
{
    int total = count * check_size;
    int64_t *in = coll_buffer(total), *out = coll_buffer(count), *result = out;
    coll_fill(in, check_rank, 0, total);
    if (in_place) {
        COLL(Reduce_scatter_block, reduce_scatter_block, MPI_IN_PLACE, in, count, MPI_INT64_T,
             MPI_SUM, MPI_COMM_WORLD);
        result = in;
    } else {
        COLL(Reduce_scatter_block, reduce_scatter_block, in, out, count, MPI_INT64_T, MPI_SUM,
             MPI_COMM_WORLD);
        CHECK(coll_holds(in, check_rank, 0, total));
    }
    CHECK(coll_is_sum(result, check_size - 1, check_rank * count, count));
    CHECK_EQ(out[count], -1);
    free(in);
    free(out);
}

static void unequal(int unit, int in_place)
{
    int *counts = malloc((size_t)check_size * sizeof(int)), total = 0, first = 0;
    for (int r = 0; r < check_size; r++) {
        counts[r] = r % 3 == 1 ? 0 : unit + r;
        first += r < check_rank ? counts[r] : 0;
        total += counts[r];
    }
    int mine = counts[check_rank];
    int64_t *in = coll_buffer(total), *out = coll_buffer(mine), *result = out;
    coll_fill(in, check_rank, 0, total);
    if (in_place) {
        COLL(Reduce_scatter, reduce_scatter, MPI_IN_PLACE, in, counts, MPI_INT64_T, MPI_SUM,
             MPI_COMM_WORLD);
        result = in;
    } else {
        COLL(Reduce_scatter, reduce_scatter, in, out, counts, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    }
    CHECK(coll_is_sum(result, check_size - 1, first, mine));
    CHECK_EQ(out[mine], -1);
    free(in);
    free(out);
    free(counts);
}

int main(int argc, char **argv)
{
    static const int counts[] = { 0, 1, 5, 200, 3000, 20000 };
    coll_init(&argc, &argv);
    for (int c = 0; c < 6; c++)
        for (int in_place = 0; in_place < 2; in_place++) {
            block(counts[c], in_place);
            unequal(counts[c], in_place);
        }
    return check_finish();
}
