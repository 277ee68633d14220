/* A target that computes: puts, gets, long ones, atomics and what they trigger go on while it calls nothing. */
#include "ptl.h"

#define LONG 300000
static const unsigned int kind = PTL_NI_MATCHING | PTL_NI_LOGICAL;
static char shown[LONG], mine[LONG];
static volatile uint64_t flag;

int main(void)
{
    begin();
    ptl_handle_ni_t ni = open_ni(kind, NULL, NULL);
    ptl_handle_ct_t done = new_ct(ni), came = new_ct(ni);
    ptl_pt_index_t pt = new_pt(ni, 0, PTL_EQ_NONE, 1), ends = new_pt(ni, 0, PTL_EQ_NONE, 2);
    unsigned int options = PTL_ME_OP_PUT | PTL_ME_OP_GET;
    ptl_handle_me_t all = append_to(ni, 1, pt, shown, LONG, options, PTL_CT_NONE, 0, 0, PTL_PRIORITY_LIST, NULL);
    ptl_handle_me_t one = append_to(ni, 1, ends, (void *)&flag, 8, options | PTL_ME_EVENT_CT_COMM, came, 0, 0,
                                    PTL_PRIORITY_LIST, NULL);
    unsigned int counted = PTL_MD_EVENT_CT_ACK | PTL_MD_EVENT_CT_REPLY;
    ptl_handle_md_t md = new_md(ni, mine, LONG, counted, PTL_EQ_NONE, done);
    for (int turn = 0; turn < n; turn++) {
        flag = 0;
        MUST(runtime_barrier());
        if (me == turn) {
            /* Everybody else only looks at memory. */
            ptl_size_t operations = 0;
            for (int to = 0; to < n; to++) {
                memset(mine, 'a' + to, LONG);
                MUST(PtlPut(md, 0, LONG, PTL_ACK_REQ, name_of(kind, to), pt, 0, 0, NULL, 0));
                reach(done, ++operations);
                memset(mine, 0, LONG);
                MUST(PtlGet(md, 0, LONG, name_of(kind, to), pt, 0, 0, NULL));
                reach(done, ++operations);
                CHECK(mine[0] == 'a' + to && mine[LONG - 1] == 'a' + to);
                mine[0] = 1;
                memset(mine + 1, 0, 7);
                MUST(PtlAtomic(md, 0, 8, PTL_ACK_REQ, name_of(kind, to), ends, 0, 0, NULL, 0, PTL_SUM, PTL_UINT64_T));
                reach(done, ++operations);
            }
            CHECK_EQ(flag, 1);
            MUST(PtlCTSet(done, (ptl_ct_event_t){0, 0}));
        } else {
            while (flag == 0)
                ;
        }
        MUST(runtime_barrier());
        CHECK(shown[0] == 'a' + me && shown[LONG - 1] == 'a' + me);
    }
    MUST(PtlMDRelease(md));
    MUST(PtlMEUnlink(all));
    MUST(PtlMEUnlink(one));
    MUST(PtlNIFini(ni));
    return end();
}
