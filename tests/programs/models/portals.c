// Each rank puts its number into its right neighbour's memory.
#include <portals4.h>
#include <portals4_runtime.h>
#include <stdio.h>

int main(void) {
    static int left, mine;
    ptl_handle_ni_t ni;
    ptl_handle_ct_t came;
    ptl_handle_le_t entry;
    ptl_handle_md_t md;
    ptl_pt_index_t pt;
    ptl_ct_event_t count;
    ptl_process_t map[64], right;
    PtlInit();
    int me = runtime_get_rank(), all = runtime_get_size();
    runtime_get_nidpid_map(map, 64);
    PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_NO_MATCHING | PTL_NI_LOGICAL, PTL_PID_ANY, NULL, NULL, &ni);
    PtlSetMap(ni, all, map);
    PtlCTAlloc(ni, &came);
    PtlPTAlloc(ni, 0, PTL_EQ_NONE, 0, &pt);
    ptl_le_t le = {&left, sizeof left, came, PTL_UID_ANY, PTL_LE_OP_PUT | PTL_LE_EVENT_CT_COMM};
    PtlLEAppend(ni, pt, &le, PTL_PRIORITY_LIST, NULL, &entry);
    ptl_md_t bytes = {&mine, sizeof mine, 0, PTL_EQ_NONE, PTL_CT_NONE};
    PtlMDBind(ni, &bytes, &md);
    runtime_barrier();
    mine = me;
    right.rank = (me + 1) % all;
    PtlPut(md, 0, sizeof mine, PTL_NO_ACK_REQ, right, pt, 0, 0, NULL, 0);
    PtlCTWait(came, 1, &count);
    int ok = count.success == 1 && left == (me + all - 1) % all;
    if (me == 0 && ok) printf("portals, %d processes\n", all);
    PtlFini();
    return !ok;
}
