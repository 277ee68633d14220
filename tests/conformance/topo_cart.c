/* MPI 5.0, 8.5 "Topology Constructors": Cartesian communicators: create, get, rank, coords, shift,
 * sub, map, dims_create, topology tests. */
#include "check.h"

static void grid(int dims_in, const int *dims, const int *periods)
{
    MPI_Comm cart;
    int n = 1, status = -1, ndims = -1, got_dims[3], got_periods[3], coords[3], rank = -1;
    for (int i = 0; i < dims_in; i++)
        n *= dims[i];
    CHECK_MPI(MPI_Cart_create(MPI_COMM_WORLD, dims_in, dims, periods, 0, &cart));
    if (check_rank >= n) {
        CHECK(cart == MPI_COMM_NULL);
        return;
    }
    CHECK_MPI(MPI_Topo_test(cart, &status));
    CHECK_EQ(status, MPI_CART);
    CHECK_MPI(MPI_Cartdim_get(cart, &ndims));
    CHECK_EQ(ndims, dims_in);
    CHECK_MPI(MPI_Cart_get(cart, 3, got_dims, got_periods, coords));
    CHECK_MPI(MPI_Comm_rank(cart, &rank));
    int row_major = 0;
    for (int i = 0; i < dims_in; i++) {
        CHECK_EQ(got_dims[i], dims[i]);
        CHECK_EQ(!!got_periods[i], !!periods[i]);
        CHECK(coords[i] >= 0 && coords[i] < dims[i]);
        row_major = row_major * dims[i] + coords[i];
    }
    CHECK_EQ(row_major, rank);
    for (int r = 0; r < n; r++) {
        int back = -1;
        CHECK_MPI(MPI_Cart_coords(cart, r, dims_in, coords));
        CHECK_MPI(MPI_Cart_rank(cart, coords, &back));
        CHECK_EQ(back, r);
    }
    /* Shifts agree with coordinates moved by hand. */
    for (int d = 0; d < dims_in; d++)
        for (int by = -2; by <= 2; by++) {
            int source = -5, dest = -5;
            CHECK_MPI(MPI_Cart_shift(cart, d, by, &source, &dest));
            for (int way = -1; way <= 1; way += 2) {
                int want = MPI_PROC_NULL;
                CHECK_MPI(MPI_Cart_coords(cart, rank, dims_in, coords));
                coords[d] += way * by;
                if (periods[d])
                    coords[d] = ((coords[d] % dims[d]) + dims[d]) % dims[d];
                if (coords[d] >= 0 && coords[d] < dims[d])
                    CHECK_MPI(MPI_Cart_rank(cart, coords, &want));
                CHECK_EQ(way > 0 ? dest : source, want);
            }
        }
    /* Out-of-range coordinates of a periodic dimension wrap. */
    if (periods[0]) {
        int plain = -1, wrapped = -2;
        CHECK_MPI(MPI_Cart_coords(cart, rank, dims_in, coords));
        CHECK_MPI(MPI_Cart_rank(cart, coords, &plain));
        coords[0] -= 3 * dims[0];
        CHECK_MPI(MPI_Cart_rank(cart, coords, &wrapped));
        CHECK_EQ(plain, wrapped);
    }
    /* Sub-grids keep all but the first dimension. */
    int remain[3] = { 0, 1, 1 }, size = -1, sub_rank = -1;
    MPI_Comm sub;
    CHECK_MPI(MPI_Cart_sub(cart, remain, &sub));
    CHECK_MPI(MPI_Comm_size(sub, &size));
    CHECK_EQ(size, n / dims[0]);
    CHECK_MPI(MPI_Cartdim_get(sub, &ndims));
    CHECK_EQ(ndims, dims_in - 1);
    CHECK_MPI(MPI_Comm_rank(sub, &sub_rank));
    CHECK_EQ(sub_rank, rank % size);
    CHECK_MPI(MPI_Comm_free(&sub));
    MPI_Comm dup;
    CHECK_MPI(MPI_Comm_dup(cart, &dup));
    CHECK_MPI(MPI_Topo_test(dup, &status));
    CHECK_EQ(status, MPI_CART);
    CHECK_MPI(MPI_Comm_free(&dup));
    CHECK_MPI(MPI_Comm_free(&cart));
}

static void dims_create(void)
{
    /* The examples of the standard, and balanced factorizations. */
    static const struct { int nodes, ndims, in[3], out[3]; } cases[] = {
        { 6, 2, { 0, 0 }, { 3, 2 } },       { 7, 2, { 0, 0 }, { 7, 1 } },
        { 6, 3, { 0, 3, 0 }, { 2, 3, 1 } }, { 64, 3, { 0, 0, 0 }, { 4, 4, 4 } },
        { 24, 3, { 0, 0, 0 }, { 4, 3, 2 } }, { 1, 3, { 0, 0, 0 }, { 1, 1, 1 } },
        { 12, 2, { 0, 0 }, { 4, 3 } },      { 16, 2, { 0, 2 }, { 8, 2 } },
        { 36, 2, { 0, 0 }, { 6, 6 } },      { 97, 1, { 0 }, { 97 } },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int dims[3] = { cases[i].in[0], cases[i].in[1], cases[i].in[2] };
        CHECK_MPI(MPI_Dims_create(cases[i].nodes, cases[i].ndims, dims));
        for (int d = 0; d < cases[i].ndims; d++)
            CHECK_EQ(dims[d], cases[i].out[d]);
    }
    int bad[2] = { 4, 0 };
    CHECK_CLASS(MPI_Dims_create(6, 2, bad), MPI_ERR_DIMS);
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    static const int open[3] = { 0, 0, 0 }, closed[3] = { 1, 1, 1 }, mixed[3] = { 1, 0, 1 };
    int line[1] = { check_size };
    grid(1, line, open);
    grid(1, line, closed);
    int two[2] = { 0, 0 }, three[3] = { 0, 0, 0 };
    CHECK_MPI(MPI_Dims_create(check_size, 2, two));
    CHECK_MPI(MPI_Dims_create(check_size, 3, three));
    grid(2, two, closed);
    grid(2, two, mixed);
    grid(3, three, mixed);
    if (check_size > 1) { /* smaller than the group: the others get MPI_COMM_NULL */
        int smaller[1] = { check_size - 1 };
        grid(1, smaller, closed);
    }
    int new_rank = -5, status = -1;
    CHECK_MPI(MPI_Cart_map(MPI_COMM_WORLD, 1, line, closed, &new_rank));
    CHECK(new_rank >= 0 && new_rank < check_size);
    /* A grid without processes has a place for nobody (rsmpi's examples ask for one). */
    int empty[2] = {2, 0};
    CHECK_MPI(MPI_Cart_map(MPI_COMM_WORLD, 2, empty, open, &new_rank));
    CHECK_EQ(new_rank, MPI_UNDEFINED);
    CHECK_MPI(MPI_Topo_test(MPI_COMM_WORLD, &status));
    CHECK_EQ(status, MPI_UNDEFINED);
    dims_create();
    return check_finish();
}
