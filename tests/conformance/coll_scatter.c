/* MPI 5.0, 6.6 "Scatter": MPI_Scatter and MPI_Scatterv from every root, MPI_IN_PLACE, zero
 * counts, overlapping and reversed displacements. Argument: form. */
#include "coll.h"

static void scatter(int count, int root, int in_place)
{
    int64_t *in = coll_buffer(count), *out = coll_buffer(count * check_size);
    coll_fill(out, root, 0, count * check_size);
    if (check_rank != root)
        COLL(Scatter, scatter, NULL, 0, MPI_DATATYPE_NULL, in, count, MPI_INT64_T, root,
             MPI_COMM_WORLD);
    else if (in_place)
        COLL(Scatter, scatter, out, count, MPI_INT64_T, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, root,
             MPI_COMM_WORLD);
    else
        COLL(Scatter, scatter, out, count, MPI_INT64_T, in, count, MPI_INT64_T, root,
             MPI_COMM_WORLD);
    if (check_rank != root || !in_place)
        CHECK(coll_holds(in, root, check_rank * count, count));
    CHECK(coll_holds(out, root, 0, count * check_size));
    CHECK_EQ(in[count], -1);
    free(in);
    free(out);
}

static void scatterv(int unit, int root, int in_place)
{
    int *counts = malloc((size_t)check_size * sizeof(int));
    int *places = malloc((size_t)check_size * sizeof(int));
    int total = (check_size + 1) * unit;
    for (int r = 0; r < check_size; r++) { /* all start at falling places and overlap */
        counts[r] = r % 4 == 2 ? 0 : unit + r;
        places[r] = (check_size - 1 - r) * unit / 2;
    }
    total += 2 * check_size;
    int mine = counts[check_rank];
    int64_t *in = coll_buffer(mine), *out = coll_buffer(total);
    coll_fill(out, root, 0, total);
    if (check_rank != root)
        COLL(Scatterv, scatterv, NULL, NULL, NULL, MPI_DATATYPE_NULL, in, mine, MPI_INT64_T, root,
             MPI_COMM_WORLD);
    else if (in_place)
        COLL(Scatterv, scatterv, out, counts, places, MPI_INT64_T, MPI_IN_PLACE, 0,
             MPI_DATATYPE_NULL, root, MPI_COMM_WORLD);
    else
        COLL(Scatterv, scatterv, out, counts, places, MPI_INT64_T, in, mine, MPI_INT64_T, root,
             MPI_COMM_WORLD);
    if (check_rank != root || !in_place)
        CHECK(coll_holds(in, root, places[check_rank], mine));
    CHECK_EQ(in[mine], -1);
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
        for (int root = 0; root < check_size; root++)
            for (int in_place = 0; in_place < 2; in_place++) {
                if (counts[c] > 300 && root != check_size - 1)
                    continue;
                scatter(counts[c], root, in_place);
                scatterv(counts[c], root, in_place);
            }
    return check_finish();
}
