/* Descriptors and entries that cover the whole address space, and addresses in them where no memory is: whoever asks is told,
 * whatever the length, and nothing is read as zeros. */
#include "ptl.h"

/* With their data in one packet, in two, and by themselves. */
static const ptl_size_t lengths[] = {1, 8, 300, 3000, 5000, 300000};
enum { LENGTHS = sizeof lengths / sizeof *lengths, MOST = 300000, NOWHERE = 64 };

static ptl_handle_eq_t mine;

static ptl_event_t next_of(ptl_event_kind_t kind)
{
    ptl_event_t event;
    MUST(PtlEQWait(mine, &event));
    CHECK_EQ(event.type, kind);
    return event;
}

int main(void)
{
    static char here[MOST], there[MOST];
    const unsigned int kind = PTL_NI_MATCHING | PTL_NI_LOGICAL;
    begin();
    ptl_handle_ni_t ni = open_ni(kind, NULL, NULL);
    mine = new_eq(ni, 64);
    ptl_pt_index_t pt = new_pt(ni, 0, PTL_EQ_NONE, PTL_PT_ANY);
    ptl_me_t all = {NULL, PTL_SIZE_MAX, PTL_CT_NONE, PTL_UID_ANY, PTL_ME_OP_PUT | PTL_ME_OP_GET, {.rank = PTL_RANK_ANY}, 0, 0, 0};
    ptl_handle_me_t entry;
    MUST(PtlMEAppend(ni, pt, &all, PTL_PRIORITY_LIST, NULL, &entry));
    ptl_handle_md_t md = new_md(ni, here, sizeof here, 0, mine, PTL_CT_NONE);
    ptl_handle_md_t everything = new_md(ni, NULL, PTL_SIZE_MAX, 0, mine, PTL_CT_NONE);
    ptl_process_t right = name_of(kind, (me + 1) % n);
    ptl_size_t where = (ptl_size_t)(uintptr_t)there;
    runtime_barrier();

    for (int i = 0; i < LENGTHS; i++) {
        ptl_size_t length = lengths[i];
        memset(here, 7, sizeof here);
        MUST(PtlGet(md, 0, length, right, pt, 0, NOWHERE, NULL));
        CHECK_EQ(next_of(PTL_EVENT_REPLY).ni_fail_type, PTL_NI_SEGV);
        CHECK(here[0] == 7 && here[length - 1] == 7);
        MUST(PtlPut(md, 0, length, PTL_ACK_REQ, right, pt, 0, NOWHERE, NULL, 0));
        CHECK_EQ(next_of(PTL_EVENT_SEND).ni_fail_type, PTL_NI_OK);
        CHECK_EQ(next_of(PTL_EVENT_ACK).ni_fail_type, PTL_NI_SEGV);

        /* The initiator's own memory: nothing is sent. */
        MUST(PtlPut(everything, NOWHERE, length, PTL_NO_ACK_REQ, right, pt, 0, NOWHERE, NULL, 0));
        CHECK_EQ(next_of(PTL_EVENT_SEND).ni_fail_type, PTL_NI_SEGV);
    }

    /* Programs are loaded at different addresses: each process gets from and puts to itself. */
    ptl_process_t self = name_of(kind, me);
    for (int i = 0; i < LENGTHS; i++) {
        ptl_size_t length = lengths[i];
        memset(here, i, sizeof here);
        MUST(PtlPut(everything, (ptl_size_t)(uintptr_t)here, length, PTL_ACK_REQ, self, pt, 0, where, NULL, 0));
        for (int k = 0; k < 2; k++) {
            ptl_event_t event;
            MUST(PtlEQWait(mine, &event));
            CHECK_EQ(event.ni_fail_type, PTL_NI_OK);
        }
        CHECK(there[0] == i && there[length - 1] == i);
        MUST(PtlGet(everything, NOWHERE, length, self, pt, 0, where, NULL));
        CHECK_EQ(next_of(PTL_EVENT_REPLY).ni_fail_type, PTL_NI_SEGV);
        memset(here, 9, sizeof here);
        MUST(PtlGet(everything, (ptl_size_t)(uintptr_t)here, length, self, pt, 0, where, NULL));
        CHECK_EQ(next_of(PTL_EVENT_REPLY).ni_fail_type, PTL_NI_OK);
        CHECK(!memcmp(here, there, length));
    }
    runtime_barrier();
    MUST(PtlNIFini(ni));
    return end();
}
