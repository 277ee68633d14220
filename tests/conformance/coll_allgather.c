/* MPI 5.0, 6.7 "Gather-to-all": MPI_Allgather and MPI_Allgatherv, MPI_IN_PLACE, zero counts,
 * displacements with gaps. Argument: form. */
#include "coll.h"

static void allgather(int count, int in_place)
{
    int64_t *in = coll_buffer(count), *out = coll_buffer(count * check_size);
    coll_fill(in, check_rank, 0, count);
    if (in_place) {
        coll_fill(out + check_rank * count, check_rank, 0, count);
        COLL(Allgather, allgather, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, out, count, MPI_INT64_T,
             MPI_COMM_WORLD);
    } else {
        COLL(Allgather, allgather, in, count, MPI_INT64_T, out, count, MPI_INT64_T, MPI_COMM_WORLD);
    }
    for (int r = 0; r < check_size; r++)
        CHECK(coll_holds(out + r * count, r, 0, count));
    CHECK_EQ(out[count * check_size], -1);
    free(in);
    free(out);
}

static void allgatherv(int unit, int in_place)
{
    int *counts = malloc((size_t)check_size * sizeof(int)), total = 0;
    int *places = malloc((size_t)check_size * sizeof(int));
    for (int r = check_size - 1; r >= 0; r--) {
        counts[r] = r % 3 == 1 ? 0 : r + unit;
        places[r] = total;
        total += counts[r] + 1;
    }
    int mine = counts[check_rank];
    int64_t *in = coll_buffer(mine), *out = coll_buffer(total);
    coll_fill(in, check_rank, 0, mine);
    if (in_place) {
        coll_fill(out + places[check_rank], check_rank, 0, mine);
        COLL(Allgatherv, allgatherv, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, out, counts, places,
             MPI_INT64_T, MPI_COMM_WORLD);
    } else {
        COLL(Allgatherv, allgatherv, in, mine, MPI_INT64_T, out, counts, places, MPI_INT64_T,
             MPI_COMM_WORLD);
    }
    for (int r = 0; r < check_size; r++) {
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
    static const int counts[] = { 0, 1, 2, 7, 300, 4096, 30000 };
    coll_init(&argc, &argv);
    for (int c = 0; c < 7; c++)
        for (int in_place = 0; in_place < 2; in_place++) {
            allgather(counts[c], in_place);
            allgatherv(counts[c], in_place);
        }
    return check_finish();
}
