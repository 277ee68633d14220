/* MPI 5.0, 5.1.3 "Subarray" and 5.1.4 "Distributed Array" datatype constructors, C and Fortran
 * order; all pieces of a distributed array make the whole. */
#include "dt.h"

static MPI_Aint map[DT_ROOM / 4];

static void subarray(const int *sizes, const int *subsizes, const int *starts, int order)
{
    MPI_Datatype t;
    int n = 0, c_order = order == MPI_ORDER_C;
    for (int a = 0; a < subsizes[c_order ? 0 : 2]; a++)
        for (int b = 0; b < subsizes[1]; b++)
            for (int c = 0; c < subsizes[c_order ? 2 : 0]; c++) {
                int x = starts[0] + (c_order ? a : c), y = starts[1] + b;
                int z = starts[2] + (c_order ? c : a);
                map[n++] = 4 * (c_order ? (x * sizes[1] + y) * sizes[2] + z
                                        : x + sizes[0] * (y + sizes[1] * z));
            }
    CHECK_MPI(MPI_Type_create_subarray(3, sizes, subsizes, starts, order, MPI_INT, &t));
    dt_check_free(t, map, n, 0, 4 * sizes[0] * sizes[1] * sizes[2], 2);
}

/* The pieces of all processes of the grid, sent by everybody, cover each cell exactly once and,
 * for the block case, the cells that the definition says. */
static void darray(int order, const int *distribs, const int *dargs, int p0, int p1)
{
    static const int gsizes[2] = { 7, 10 };
    int psizes[2] = { p0, p1 }, cells = 70;
    int covered[70] = { 0 }, array[70];
    for (int i = 0; i < cells; i++)
        array[i] = i;
    for (int rank = 0; rank < p0 * p1; rank++) {
        MPI_Datatype t;
        MPI_Aint lb = -1, extent = -1;
        int size = -1, out[70];
        CHECK_MPI(MPI_Type_create_darray(p0 * p1, rank, 2, gsizes, distribs, dargs, psizes, order,
                                         MPI_INT, &t));
        CHECK_MPI(MPI_Type_commit(&t));
        CHECK_MPI(MPI_Type_get_extent(t, &lb, &extent));
        CHECK_EQ(lb, 0);
        CHECK_EQ(extent, 4 * cells);
        CHECK_MPI(MPI_Type_size(t, &size));
        int count = size / 4;
        CHECK_MPI(MPI_Sendrecv(array, 1, t, 0, 1, out, count, MPI_INT, 0, 1, MPI_COMM_SELF,
                               MPI_STATUS_IGNORE));
        for (int i = 0; i < count; i++) {
            CHECK(out[i] >= 0 && out[i] < cells);
            CHECK(i == 0 || out[i] > out[i - 1]);
            covered[out[i]]++;
            /* Which process owns the cell: the grid of processes is always in C order. */
            int g[2] = { order == MPI_ORDER_C ? out[i] / 10 : out[i] % 7,
                         order == MPI_ORDER_C ? out[i] % 10 : out[i] / 7 };
            int owner[2];
            for (int d = 0; d < 2; d++) {
                int p = psizes[d], darg = dargs[d];
                if (distribs[d] == MPI_DISTRIBUTE_NONE)
                    owner[d] = 0;
                else if (distribs[d] == MPI_DISTRIBUTE_BLOCK)
                    owner[d] = g[d] / (darg == MPI_DISTRIBUTE_DFLT_DARG ? (gsizes[d] + p - 1) / p
                                                                        : darg);
                else
                    owner[d] = g[d] / (darg == MPI_DISTRIBUTE_DFLT_DARG ? 1 : darg) % p;
            }
            CHECK_EQ(owner[0] * p1 + owner[1], rank);
        }
        CHECK_MPI(MPI_Type_free(&t));
    }
    for (int i = 0; i < cells; i++)
        CHECK_EQ(covered[i], 1);
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    static const int orders[2] = { MPI_ORDER_C, MPI_ORDER_FORTRAN };
    static const int sizes[3] = { 5, 6, 7 };
    static const int subs[][3] = { { 5, 6, 7 }, { 1, 1, 1 }, { 2, 3, 4 }, { 5, 1, 7 }, { 2, 6, 7 } };
    static const int starts[][3] = { { 0, 0, 0 }, { 4, 5, 6 }, { 1, 2, 3 }, { 0, 3, 0 }, { 3, 0, 0 } };
    const int dflt = MPI_DISTRIBUTE_DFLT_DARG;
    const int b = MPI_DISTRIBUTE_BLOCK, c = MPI_DISTRIBUTE_CYCLIC, none = MPI_DISTRIBUTE_NONE;
    for (int o = 0; o < 2; o++) {
        for (int i = 0; i < 5; i++)
            subarray(sizes, subs[i], starts[i], orders[o]);
        darray(orders[o], (int[]){ b, b }, (int[]){ dflt, dflt }, 2, 3);
        darray(orders[o], (int[]){ b, b }, (int[]){ 4, 5 }, 2, 2);
        darray(orders[o], (int[]){ c, c }, (int[]){ dflt, dflt }, 2, 3);
        darray(orders[o], (int[]){ c, b }, (int[]){ 2, dflt }, 2, 2);
        darray(orders[o], (int[]){ none, c }, (int[]){ dflt, 3 }, 1, 2);
        darray(orders[o], (int[]){ b, none }, (int[]){ dflt, dflt }, 3, 1);
    }
    return check_finish();
}
