/* MPI 5.0, 8.6 "Neighborhood Collective Communication" on Cartesian grids: order of neighbours
 * (first dimension: minus, plus, then the next), missing neighbours at open ends. Argument: form. */
#include "coll.h"

/* Neighbours in the standard's order; MPI_PROC_NULL where the grid ends. */
static void neighbours_of(MPI_Comm cart, int ndims, int *list)
{
    for (int d = 0; d < ndims; d++)
        CHECK_MPI(MPI_Cart_shift(cart, d, 1, &list[2 * d], &list[2 * d + 1]));
}

static void all_kinds(MPI_Comm cart, int ndims, int count)
{
    int degree = 2 * ndims, rank, list[6], counts[6], places[6];
    MPI_Aint bytes[6];
    MPI_Datatype types[6];
    CHECK_MPI(MPI_Comm_rank(cart, &rank));
    neighbours_of(cart, ndims, list);
    int64_t *in = coll_buffer(count * degree), *out = coll_buffer(count * degree);
    for (int i = 0; i < degree; i++) {
        counts[i] = count;
        places[i] = (degree - 1 - i) * count;
        bytes[i] = places[i] * 8;
        types[i] = MPI_INT64_T;
    }
    coll_fill(in, rank, 0, count);
    COLL(Neighbor_allgather, neighbor_allgather, in, count, MPI_INT64_T, out, count, MPI_INT64_T,
         cart);
    for (int i = 0; i < degree; i++)
        CHECK(list[i] == MPI_PROC_NULL ? count == 0 || out[i * count] == -1
                                       : coll_holds(out + i * count, list[i], 0, count));
    memset(out, 0xff, (size_t)(count * degree) * 8);
    COLL(Neighbor_allgatherv, neighbor_allgatherv, in, count, MPI_INT64_T, out, counts, places,
         MPI_INT64_T, cart);
    for (int i = 0; i < degree; i++)
        if (list[i] != MPI_PROC_NULL)
            CHECK(coll_holds(out + places[i], list[i], 0, count));
    /* All-to-all: block i goes to neighbour i, who sees this rank at the other side, i ^ 1. */
    coll_fill(in, rank, 0, count * degree);
    memset(out, 0xff, (size_t)(count * degree) * 8);
    COLL(Neighbor_alltoall, neighbor_alltoall, in, count, MPI_INT64_T, out, count, MPI_INT64_T,
         cart);
    for (int i = 0; i < degree; i++)
        if (list[i] != MPI_PROC_NULL)
            CHECK(coll_holds(out + i * count, list[i], (i ^ 1) * count, count));
    memset(out, 0xff, (size_t)(count * degree) * 8);
    COLL(Neighbor_alltoallv, neighbor_alltoallv, in, counts, places, MPI_INT64_T, out, counts,
         places, MPI_INT64_T, cart);
    for (int i = 0; i < degree; i++)
        if (list[i] != MPI_PROC_NULL)
            CHECK(coll_holds(out + places[i], list[i], places[i ^ 1], count));
    memset(out, 0xff, (size_t)(count * degree) * 8);
    COLL(Neighbor_alltoallw, neighbor_alltoallw, in, counts, bytes, types, out, counts, bytes,
         types, cart);
    for (int i = 0; i < degree; i++)
        if (list[i] != MPI_PROC_NULL)
            CHECK(coll_holds(out + places[i], list[i], places[i ^ 1], count));
    CHECK_EQ(out[count * degree], -1);
    free(in);
    free(out);
}

int main(int argc, char **argv)
{
    coll_init(&argc, &argv);
    static const int periods[3][2] = { { 0, 0 }, { 1, 1 }, { 1, 0 } };
    for (int ndims = 1; ndims <= 2; ndims++)
        for (int p = 0; p < 3; p++) {
            int dims[2] = { 0, 0 };
            MPI_Comm cart;
            CHECK_MPI(MPI_Dims_create(check_size, ndims, dims));
            CHECK_MPI(MPI_Cart_create(MPI_COMM_WORLD, ndims, dims, periods[p], 0, &cart));
            all_kinds(cart, ndims, 0);
            all_kinds(cart, ndims, 3);
            all_kinds(cart, ndims, 2000);
            CHECK_MPI(MPI_Comm_free(&cart));
        }
    return check_finish();
}
