/* Process 1 kills itself while the others wait for what it should do: the job ends. */
#include <signal.h>
#include "ptl.h"

int main(void)
{
    const unsigned int kind = PTL_NI_MATCHING | PTL_NI_LOGICAL;
    static char data[100000];
    begin();
    ptl_handle_ni_t ni = open_ni(kind, NULL, NULL);
    ptl_handle_eq_t eq = new_eq(ni, 64);
    ptl_pt_index_t pt = new_pt(ni, 0, PTL_EQ_NONE, 0);
    append_to(ni, 1, pt, data, sizeof data, PTL_ME_OP_PUT | PTL_ME_OP_GET, PTL_CT_NONE, 0, 0, PTL_PRIORITY_LIST, NULL);
    ptl_handle_md_t md = new_md(ni, data, sizeof data, 0, eq, PTL_CT_NONE);
    MUST(runtime_barrier());
    if (me == 1)
        raise(SIGKILL);
    for (;;) {
        ptl_event_t event;
        PtlPut(md, 0, sizeof data, PTL_ACK_REQ, name_of(kind, 1), pt, 0, 0, NULL, 0);
        PtlGet(md, 0, sizeof data, name_of(kind, 1), pt, 0, 0, NULL);
        if (PtlEQWait(eq, &event) != PTL_OK)
            return 1;
    }
}
