/* MPI and Portals in one program, one inside of the other, and one after the other; a second PtlInit after the last PtlFini. */
#include <mpi.h>
#include "ptl.h"

static void exchange(void)
{
    const unsigned int kind = PTL_NI_NO_MATCHING | PTL_NI_LOGICAL;
    static int value, sent;
    ptl_handle_ni_t ni = open_ni(kind, NULL, NULL);
    ptl_handle_ct_t ct = new_ct(ni);
    ptl_pt_index_t pt = new_pt(ni, 0, PTL_EQ_NONE, 0);
    append_to(ni, 0, pt, &value, sizeof value, PTL_LE_OP_PUT | PTL_LE_EVENT_CT_COMM, ct, 0, 0, PTL_PRIORITY_LIST, NULL);
    sent = me + 100;
    ptl_handle_md_t md = new_md(ni, &sent, sizeof sent, 0, PTL_EQ_NONE, PTL_CT_NONE);
    MUST(runtime_barrier());
    int left = -1, initialized = 0;
    MPI_Initialized(&initialized);
    if (initialized)
        MPI_Sendrecv(&me, 1, MPI_INT, (me + 1) % n, 0, &left, 1, MPI_INT, (me + n - 1) % n, 0, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
    MUST(PtlPut(md, 0, sizeof sent, PTL_NO_ACK_REQ, name_of(kind, (me + 1) % n), pt, 0, 0, NULL, 0));
    reach(ct, 1);
    CHECK_EQ(value, (me + n - 1) % n + 100);
    if (initialized)
        CHECK_EQ(left, (me + n - 1) % n);
    MUST(runtime_barrier());
    MUST(PtlNIFini(ni));
}

int main(int argc, char **argv)
{
    int outside = argc > 1 && !strcmp(argv[1], "mpi");
    if (outside)
        MPI_Init(&argc, &argv);
    begin();
    if (!outside)
        MPI_Init(&argc, &argv);
    exchange();
    if (!outside) {
        MPI_Finalize();
        int rest = end();
        return rest;
    }
    PtlFini();
    begin();
    exchange();
    int rest = end();
    int sum;
    MPI_Allreduce(&rest, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return sum != 0;
}
