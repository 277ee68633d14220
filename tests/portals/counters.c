/* Counting events, polls with time limits, and the operations that counts trigger. */
#include "ptl.h"

static const unsigned int kind = PTL_NI_NO_MATCHING | PTL_NI_LOGICAL;
static ptl_handle_ni_t ni;

static void values(void)
{
    ptl_handle_ct_t ct = new_ct(ni), other = new_ct(ni), both[2] = {ct, other};
    ptl_size_t tests[2] = {5, 1};
    ptl_ct_event_t value = {9, 9}, one = {1, 0}, fault = {0, 2}, mixed = {1, 1}, five = {5, 0};
    unsigned int which = 9;
    MUST(PtlCTGet(ct, &value));
    CHECK(value.success == 0 && value.failure == 0);
    REFUSED(PTL_CT_NONE_REACHED, PtlCTPoll(both, tests, 2, 0, &value, &which));
    REFUSED(PTL_CT_NONE_REACHED, PtlCTPoll(both, tests, 2, 20, &value, &which));
    MUST(PtlCTInc(other, one));
    MUST(PtlCTPoll(both, tests, 2, PTL_TIME_FOREVER, &value, &which));
    CHECK(which == 1 && value.success == 1 && value.failure == 0);
    MUST(PtlCTSet(ct, five));
    MUST(PtlCTPoll(both, tests, 2, 1000, &value, &which));
    CHECK(which == 0 && value.success == 5);
    REFUSED(PTL_ARG_INVALID, PtlCTInc(ct, mixed));
    MUST(PtlCTInc(ct, fault));
    MUST(PtlCTWait(ct, 1000000, &value)); /* a failure ends it */
    CHECK(value.success == 5 && value.failure == 2);
    MUST(PtlCTFree(ct));
    MUST(PtlCTFree(other));
    REFUSED(PTL_ARG_INVALID, PtlCTFree(ct));
    REFUSED(PTL_ARG_INVALID, PtlCTGet(ct, &value));
    REFUSED(PTL_ARG_INVALID, PtlCTWait(ct, 1, &value));
}

static void chains(void)
{
    ptl_handle_ct_t a = new_ct(ni), b = new_ct(ni), c = new_ct(ni);
    ptl_ct_event_t one = {1, 0}, ten = {10, 0}, value;
    MUST(PtlTriggeredCTInc(b, one, a, 2));
    MUST(PtlTriggeredCTInc(c, one, b, 1));
    MUST(PtlTriggeredCTSet(c, ten, a, 3));
    MUST(PtlTriggeredCTInc(c, one, a, 4));
    MUST(PtlCTInc(a, one));
    MUST(PtlCTGet(b, &value));
    CHECK_EQ(value.success, 0);
    MUST(PtlCTInc(a, one));
    MUST(PtlCTGet(c, &value));
    CHECK_EQ(value.success, 1);
    MUST(PtlCTInc(a, one));
    MUST(PtlCTGet(c, &value));
    CHECK_EQ(value.success, 10);
    MUST(PtlCTCancelTriggered(a));
    MUST(PtlCTInc(a, one));
    MUST(PtlCTGet(c, &value));
    CHECK_EQ(value.success, 10);
    /* Reached already. */
    MUST(PtlTriggeredCTInc(c, one, a, 1));
    MUST(PtlCTGet(c, &value));
    CHECK_EQ(value.success, 11);
    MUST(PtlCTFree(a));
    MUST(PtlCTFree(b));
    MUST(PtlCTFree(c));
}

/* A broadcast that no process drives: what arrives triggers what is sent on, while nobody but the first calls anything. */
static void broadcast(void)
{
    static uint64_t word;
    ptl_handle_ct_t came = new_ct(ni);
    ptl_pt_index_t pt = new_pt(ni, 0, PTL_EQ_NONE, 8);
    ptl_handle_le_t entry = append_to(ni, 0, pt, &word, 8, PTL_LE_OP_PUT | PTL_LE_EVENT_CT_COMM, came, 0, 0,
                                      PTL_PRIORITY_LIST, NULL);
    ptl_handle_md_t md = new_md(ni, &word, 8, 0, PTL_EQ_NONE, PTL_CT_NONE);
    for (int child = 2 * me + 1; child <= 2 * me + 2 && child < n; child++)
        MUST(PtlTriggeredPut(md, 0, 8, PTL_NO_ACK_REQ, name_of(kind, child), pt, 0, 0, NULL, 0, came, 1));
    MUST(runtime_barrier());
    if (me == 0) {
        word = 4711;
        ptl_ct_event_t one = {1, 0};
        MUST(PtlCTInc(came, one));
    }
    reach(came, 1);
    CHECK_EQ(word, 4711);
    MUST(runtime_barrier());
    MUST(PtlMDRelease(md));
    MUST(PtlLEUnlink(entry));
    MUST(PtlPTFree(ni, pt));
    MUST(PtlCTFree(came));
}

/* Triggered gets, atomics, fetches and swaps, and what they read is what is there when they start. */
static void others(void)
{
    static uint64_t shown, got[3], sent;
    ptl_process_t to = name_of(kind, (me + 1) % n);
    uint64_t operand = 8;
    ptl_handle_ct_t go = new_ct(ni), done = new_ct(ni);
    ptl_pt_index_t pt = new_pt(ni, 0, PTL_EQ_NONE, 8);
    ptl_handle_le_t entry =
        append_to(ni, 0, pt, &shown, 8, PTL_LE_OP_PUT | PTL_LE_OP_GET, PTL_CT_NONE, 0, 0, PTL_PRIORITY_LIST, NULL);
    unsigned int counted = PTL_MD_EVENT_CT_REPLY | PTL_MD_EVENT_CT_ACK;
    ptl_handle_md_t get = new_md(ni, got, sizeof got, counted, PTL_EQ_NONE, done);
    ptl_handle_md_t put = new_md(ni, &sent, 8, counted, PTL_EQ_NONE, done);
    ptl_ct_event_t one = {1, 0};
    MUST(PtlTriggeredGet(get, 0, 8, to, pt, 0, 0, NULL, go, 4));
    MUST(PtlTriggeredAtomic(put, 0, 8, PTL_CT_ACK_REQ, to, pt, 0, 0, NULL, 0, PTL_SUM, PTL_UINT64_T, go, 1));
    MUST(PtlTriggeredFetchAtomic(get, 8, put, 0, 8, to, pt, 0, 0, NULL, 0, PTL_SUM, PTL_UINT64_T, go, 2));
    MUST(PtlTriggeredSwap(get, 16, put, 0, 8, to, pt, 0, 0, NULL, 0, &operand, PTL_CSWAP, PTL_UINT64_T, go, 3));
    operand = 0;
    sent = 4;
    MUST(runtime_barrier());
    for (int i = 1; i <= 4; i++) {
        MUST(PtlCTInc(go, one));
        reach(done, i);
        MUST(runtime_barrier());
    }
    CHECK_EQ(got[1], 4);
    CHECK_EQ(got[2], 8);
    CHECK_EQ(got[0], 4);
    CHECK_EQ(shown, 4);
    REFUSED(PTL_ARG_INVALID, PtlTriggeredGet(get, 20, 8, to, pt, 0, 0, NULL, go, 4));
    REFUSED(PTL_ARG_INVALID, PtlTriggeredGet(get, 0, 8, to, pt, 0, 0, NULL, PTL_CT_NONE, 4));
    MUST(PtlMDRelease(get));
    MUST(PtlMDRelease(put));
    MUST(PtlLEUnlink(entry));
    MUST(PtlPTFree(ni, pt));
}

int main(void)
{
    begin();
    ni = open_ni(kind, NULL, NULL);
    MUST(runtime_barrier());
    values();
    chains();
    broadcast();
    MUST(runtime_barrier());
    others();
    MUST(runtime_barrier());
    MUST(PtlNIFini(ni));
    return end();
}
