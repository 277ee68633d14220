/* MPI 5.0, 6.8 "All-to-All Scatter/Gather": MPI_Alltoall, MPI_Alltoallv and MPI_Alltoallw with
 * zero counts, gaps and MPI_IN_PLACE. Argument: form. */
#include "coll.h"

/* What rank `from` sends to rank `to`: `count` items of its own series at 1000 * to. */
static void fill_block(int64_t *data, int from, int to, int count)
{
    coll_fill(data, from, 1000 * to, count);
}

static void alltoall(int count, int in_place)
{
    int64_t *in = coll_buffer(count * check_size), *out = coll_buffer(count * check_size);
    for (int r = 0; r < check_size; r++)
        fill_block(in + r * count, check_rank, r, count);
    if (in_place) {
        memcpy(out, in, (size_t)(count * check_size) * sizeof *in);
        COLL(Alltoall, alltoall, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, out, count, MPI_INT64_T,
             MPI_COMM_WORLD);
    } else {
        COLL(Alltoall, alltoall, in, count, MPI_INT64_T, out, count, MPI_INT64_T, MPI_COMM_WORLD);
    }
    for (int r = 0; r < check_size; r++)
        CHECK(coll_holds(out + r * count, r, 1000 * check_rank, count));
    CHECK_EQ(out[count * check_size], -1);
    free(in);
    free(out);
}

/* Between ranks a and b: symmetric, so that it also fits MPI_IN_PLACE. */
static int pair_count(int a, int b, int unit)
{
    return (a + b) % 3 == 1 ? 0 : unit + a + b;
}

static void alltoallv(int unit, int in_place, int w)
{
    size_t n = (size_t)check_size;
    int *counts = malloc(n * sizeof(int)), *places = malloc(n * sizeof(int)), total = 0;
    int *bytes = malloc(n * sizeof(int));
    MPI_Datatype *types = malloc(n * sizeof(MPI_Datatype));
    for (int r = check_size - 1; r >= 0; r--) {
        counts[r] = pair_count(check_rank, r, unit);
        places[r] = total;
        bytes[r] = total * 8;
        total += counts[r] + 1;
    }
    for (int r = 0; r < check_size; r++) /* both ends must name the same basic type */
        types[r] = (r + check_rank) % 2 ? MPI_INT64_T : MPI_DOUBLE;
    int64_t *in = coll_buffer(total), *out = coll_buffer(total);
    for (int r = 0; r < check_size; r++)
        fill_block((in_place ? out : in) + places[r], check_rank, r, counts[r]);
    if (w && in_place)
        COLL(Alltoallw, alltoallw, MPI_IN_PLACE, NULL, NULL, NULL, out, counts, bytes, types,
             MPI_COMM_WORLD);
    else if (w)
        COLL(Alltoallw, alltoallw, in, counts, bytes, types, out, counts, bytes, types,
             MPI_COMM_WORLD);
    else if (in_place)
        COLL(Alltoallv, alltoallv, MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, out, counts, places,
             MPI_INT64_T, MPI_COMM_WORLD);
    else
        COLL(Alltoallv, alltoallv, in, counts, places, MPI_INT64_T, out, counts, places,
             MPI_INT64_T, MPI_COMM_WORLD);
    for (int r = 0; r < check_size; r++) {
        CHECK(coll_holds(out + places[r], r, 1000 * check_rank, counts[r]));
        CHECK_EQ(out[places[r] + counts[r]], -1);
    }
    free(in);
    free(out);
    free(counts);
    free(places);
    free(bytes);
    free(types);
}

int main(int argc, char **argv)
{
    static const int counts[] = { 0, 1, 5, 40, 700, 20000 };
    coll_init(&argc, &argv);
    for (int c = 0; c < 6; c++)
        for (int in_place = 0; in_place < 2; in_place++) {
            alltoall(counts[c], in_place);
            alltoallv(counts[c], in_place, 0);
            alltoallv(counts[c], in_place, 1);
        }
    return check_finish();
}
