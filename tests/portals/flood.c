/* More messages than anybody keeps, by all at once, without acknowledgments; the targets only count. */
#include "ptl.h"

#define EACH 20000
#define LENGTH 1000

int main(void)
{
    const unsigned int kind = PTL_NI_MATCHING | PTL_NI_LOGICAL;
    static char data[LENGTH], place[LENGTH];
    begin();
    ptl_handle_ni_t ni = open_ni(kind, NULL, NULL);
    ptl_handle_ct_t came = new_ct(ni), sent = new_ct(ni);
    ptl_pt_index_t pt = new_pt(ni, 0, PTL_EQ_NONE, 0);
    unsigned int options = PTL_ME_OP_PUT | PTL_ME_EVENT_CT_COMM | PTL_ME_EVENT_CT_BYTES;
    append_to(ni, 1, pt, place, LENGTH, options, came, 0, 0, PTL_PRIORITY_LIST, NULL);
    ptl_handle_md_t md = new_md(ni, data, LENGTH, PTL_MD_EVENT_CT_SEND, PTL_EQ_NONE, sent);
    memset(data, 'x', LENGTH);
    MUST(runtime_barrier());
    for (int i = 0; i < EACH; i++)
        MUST(PtlPut(md, 0, LENGTH, PTL_NO_ACK_REQ, name_of(kind, (me + 1 + i % n) % n), pt, 0, 0, NULL, 0));
    CHECK_EQ(reach(sent, EACH).success, EACH);
    /* As many from the others and itself together. */
    ptl_size_t expected = 0;
    for (int from = 0; from < n; from++)
        for (int i = 0; i < EACH; i++)
            expected += (from + 1 + i % n) % n == me;
    CHECK_EQ(reach(came, expected * LENGTH).success, expected * LENGTH);
    CHECK(place[0] == 'x' && place[LENGTH - 1] == 'x');
    MUST(runtime_barrier());
    MUST(PtlNIFini(ni));
    return end();
}
