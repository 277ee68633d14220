/* MPI 5.0, 6.5 "Gather": MPI_Gather and MPI_Gatherv to every root, MPI_IN_PLACE, zero counts,
 * displacements out of order and with gaps. Argument: form. */
#include "coll.h"

static void gather(int count, int root)
{
    int64_t *in = coll_buffer(count), *out = coll_buffer(count * check_size);
    coll_fill(in, check_rank, 3, count);
    COLL(Gather, gather, in, count, MPI_INT64_T, out, count, MPI_INT64_T, root, MPI_COMM_WORLD);
    for (int r = 0; r < check_size && check_rank == root; r++)
        CHECK(coll_holds(out + r * count, r, 3, count));
    CHECK_EQ(out[count * check_size], -1);
    if (check_rank == root) {
        for (int i = 0; i < count * check_size; i++)
            out[i] = -1;
        coll_fill(out + root * count, root, 3, count);
        COLL(Gather, gather, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, out, count, MPI_INT64_T, root,
             MPI_COMM_WORLD);
        for (int r = 0; r < check_size; r++)
            CHECK(coll_holds(out + r * count, r, 3, count));
    } else {
        COLL(Gather, gather, in, count, MPI_INT64_T, NULL, 0, MPI_DATATYPE_NULL, root,
             MPI_COMM_WORLD);
    }
    free(in);
    free(out);
}

/* Rank r sends (r * unit) % 5 items and lands in reverse order, one item apart. */
static void gatherv(int unit, int root, int in_place)
{
    int *counts = malloc((size_t)check_size * sizeof(int)), total = 0;
    int *places = malloc((size_t)check_size * sizeof(int));
    for (int r = check_size - 1; r >= 0; r--) {
        counts[r] = r % 3 == 1 ? 0 : (r + 1) * unit;
        places[r] = total;
        total += counts[r] + 1;
    }
    int mine = counts[check_rank];
    int64_t *in = coll_buffer(mine), *out = coll_buffer(total);
    coll_fill(in, check_rank, 0, mine);
    if (check_rank != root) {
        COLL(Gatherv, gatherv, in, mine, MPI_INT64_T, NULL, NULL, NULL, MPI_DATATYPE_NULL, root,
             MPI_COMM_WORLD);
    } else if (in_place) {
        coll_fill(out + places[root], root, 0, mine);
        COLL(Gatherv, gatherv, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, out, counts, places, MPI_INT64_T,
             root, MPI_COMM_WORLD);
    } else {
        COLL(Gatherv, gatherv, in, mine, MPI_INT64_T, out, counts, places, MPI_INT64_T, root,
             MPI_COMM_WORLD);
    }
    for (int r = 0; r < check_size && check_rank == root; r++) {
        CHECK(coll_holds(out + places[r], r, 0, counts[r]));
        CHECK_EQ(out[places[r] + counts[r]], -1);
    }
    free(in);
    free(out);
    free(counts);
    free(places);
}

int main(int argc, char **argv)
{
    static const int counts[] = { 0, 1, 7, 300, 10000 };
    coll_init(&argc, &argv);
    for (int c = 0; c < 5; c++)
        for (int root = 0; root < check_size; root++) {
            if (counts[c] > 300 && root != check_size - 1)
                continue;
            gather(counts[c], root);
            gatherv(counts[c], root, 0);
            gatherv(counts[c], root, 1);
        }
    return check_finish();
}
