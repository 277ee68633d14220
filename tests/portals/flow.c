/* Flow control: a target that lacks an entry, room in its queue or room for headers disables its entry of the table, says so to
 * all, and goes on when it has what it lacked. Nothing is lost, and the order of each initiator is kept. */
#include "ptl.h"

#define PT 6
#define EACH 300
static const unsigned int kind = PTL_NI_MATCHING | PTL_NI_LOGICAL;
static ptl_handle_ni_t ni;

/* Puts one message after the other until each is taken. */
static void initiator(ptl_handle_eq_t eq, ptl_handle_md_t md)
{
    for (int i = 0; i < EACH;) {
        MUST(PtlPut(md, 0, 8, PTL_ACK_REQ, name_of(kind, 0), PT, 1, 0, NULL, i));
        ptl_event_t event = next_event(eq, PTL_EVENT_ACK);
        CHECK(event.ni_fail_type == PTL_NI_OK || event.ni_fail_type == PTL_NI_PT_DISABLED);
        i += event.ni_fail_type == PTL_NI_OK;
    }
}

enum { NO_QUEUE, NO_ENTRY, NO_HEADER };

static void target(int lacks)
{
    static uint64_t word, over[4];
    int taken = 0, disabled = 0, from = 1;
    ptl_hdr_data_t last[MAX_PROCESSES];
    ptl_event_kind_t wanted = lacks == NO_HEADER ? PTL_EVENT_PUT_OVERFLOW : PTL_EVENT_PUT;
    memset(last, 0xff, sizeof last);
    ptl_handle_eq_t eq = new_eq(ni, lacks == NO_QUEUE ? 20 : 4000);
    new_pt(ni, PTL_PT_FLOWCTRL, eq, PT);
    unsigned int options = PTL_ME_OP_PUT | PTL_ME_EVENT_LINK_DISABLE | PTL_ME_EVENT_UNLINK_DISABLE;
    ptl_handle_me_t stays = PTL_INVALID_HANDLE;
    if (lacks == NO_QUEUE)
        stays = append_to(ni, 1, PT, &word, 8, options, PTL_CT_NONE, 1, 0, PTL_PRIORITY_LIST, NULL);
    if (lacks == NO_HEADER)
        stays = append_to(ni, 1, PT, over, sizeof over, options | PTL_ME_EVENT_COMM_DISABLE, PTL_CT_NONE, 1, 0,
                          PTL_OVERFLOW_LIST, NULL);
    MUST(runtime_barrier());
    if (lacks == NO_ENTRY && n > 1) {
        next_event(eq, PTL_EVENT_PT_DISABLED);
        disabled++;
        MUST(PtlPTEnable(ni, PT));
    }
    while (taken < EACH * (n - from)) {
        if (lacks != NO_QUEUE)
            append_to(ni, 1, PT, &word, 8, options | PTL_ME_USE_ONCE, PTL_CT_NONE, 1, 0, PTL_PRIORITY_LIST, NULL);
        ptl_event_t event;
        do {
            MUST(PtlEQWait(eq, &event));
            if (event.type == PTL_EVENT_PT_DISABLED) {
                CHECK_EQ(event.pt_index, PT);
                disabled++;
                /* What waits in the queue is taken first, or there would be no room again. */
                while (lacks == NO_QUEUE && PtlEQGet(eq, &event) == PTL_OK) {
                    CHECK_EQ(event.type, PTL_EVENT_PUT);
                    CHECK_EQ(event.hdr_data, last[event.initiator.rank] + 1);
                    last[event.initiator.rank] = event.hdr_data;
                    taken++;
                }
                MUST(PtlPTEnable(ni, PT));
                event.type = PTL_EVENT_PT_DISABLED;
                if (taken == EACH * (n - from))
                    break;
            }
        } while (event.type == PTL_EVENT_PT_DISABLED);
        if (event.type == PTL_EVENT_PT_DISABLED)
            break;
        if (lacks != NO_HEADER)
            CHECK_EQ(event.type, wanted);
        CHECK(event.type == PTL_EVENT_PUT || event.type == PTL_EVENT_PUT_OVERFLOW);
        CHECK_EQ(event.hdr_data, last[event.initiator.rank] + 1);
        last[event.initiator.rank] = event.hdr_data;
        taken++;
    }
    MUST(runtime_barrier());
    if (lacks == NO_ENTRY && n > 1)
        CHECK(disabled > 0);
    if (stays != PTL_INVALID_HANDLE)
        MUST(PtlMEUnlink(stays));
    MUST(PtlPTFree(ni, PT));
    MUST(PtlEQFree(eq));
}

int main(void)
{
    begin();
    ptl_ni_limits_t wish, limits;
    ptl_handle_ni_t any;
    MUST(PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_NO_MATCHING | PTL_NI_LOGICAL, PTL_PID_ANY, NULL, &wish, &any));
    MUST(PtlNIFini(any));
    wish.max_unexpected_headers = 2;
    ni = open_ni(kind, &wish, &limits);
    CHECK_EQ(limits.max_unexpected_headers, 2);
    ptl_handle_eq_t eq = new_eq(ni, 16);
    static uint64_t word;
    ptl_handle_md_t md = new_md(ni, &word, 8, PTL_MD_EVENT_SEND_DISABLE, eq, PTL_CT_NONE);
    for (int lacks = NO_QUEUE; lacks <= NO_HEADER; lacks++) {
        if (me == 0) {
            target(lacks);
        } else {
            MUST(runtime_barrier());
            initiator(eq, md);
            MUST(runtime_barrier());
        }
    }
    MUST(PtlMDRelease(md));
    MUST(PtlNIFini(ni));
    return end();
}
