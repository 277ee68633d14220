/* Wrong arguments of operations that wait for a counting event, and of waits for one: the code that the specification names, and nothing
 * waits that could start later. */
#include "ptl.h"

static const unsigned int physical = PTL_NI_MATCHING | PTL_NI_PHYSICAL;
static ptl_handle_ni_t ni;
static ptl_handle_ct_t trigger, other;
static ptl_handle_md_t md;
static ptl_handle_me_t target;
static ptl_process_t mine;
static char bytes[64], there[64];

/* Each operation with the trigger `t` and the threshold 1. */
static int put(ptl_handle_md_t d, ptl_size_t offset, ptl_size_t length, unsigned ack, ptl_handle_ct_t t)
{
    return PtlTriggeredPut(d, offset, length, ack, mine, 0, 0, 0, NULL, 0, t, 1);
}

static int get(ptl_handle_md_t d, ptl_size_t offset, ptl_size_t length, ptl_handle_ct_t t)
{
    return PtlTriggeredGet(d, offset, length, mine, 0, 0, 0, NULL, t, 1);
}

static int atomic(ptl_handle_md_t d, ptl_size_t length, unsigned ack, unsigned op, unsigned type, ptl_handle_ct_t t)
{
    return PtlTriggeredAtomic(d, 0, length, ack, mine, 0, 0, 0, NULL, 0, op, type, t, 1);
}

static int fetch(ptl_handle_md_t g, ptl_handle_md_t p, ptl_size_t length, unsigned op, unsigned type, ptl_handle_ct_t t)
{
    return PtlTriggeredFetchAtomic(g, 0, p, 0, length, mine, 0, 0, 0, NULL, 0, op, type, t, 1);
}

static int swap(ptl_handle_md_t g, ptl_handle_md_t p, ptl_size_t length, const void *operand, unsigned op, unsigned type,
                ptl_handle_ct_t t)
{
    return PtlTriggeredSwap(g, 0, p, 0, length, mine, 0, 0, 0, NULL, 0, operand, op, type, t, 1);
}

static int increment(ptl_handle_ct_t ct, ptl_size_t success, ptl_size_t failure, ptl_handle_ct_t t)
{
    return PtlTriggeredCTInc(ct, (ptl_ct_event_t){success, failure}, t, 1);
}

static int set(ptl_handle_ct_t ct, ptl_handle_ct_t t) { return PtlTriggeredCTSet(ct, (ptl_ct_event_t){7, 0}, t, 1); }

static int append(ptl_handle_ni_t of, ptl_pt_index_t pt, const ptl_me_t *m, ptl_list_t list, ptl_handle_me_t *entry,
                  ptl_handle_ct_t t)
{
    return PtlTriggeredMEAppend(of, pt, m, list, NULL, entry, t, 1);
}

/* A handle that is none of what it should be, wherever one is expected. */
static void wrong_handle(ptl_handle_any_t none, const ptl_me_t *m)
{
    const int64_t operand = 1;
    ptl_handle_me_t entry;
    REFUSED(PTL_ARG_INVALID, put(none, 0, 8, 0, trigger));
    REFUSED(PTL_ARG_INVALID, get(none, 0, 8, trigger));
    REFUSED(PTL_ARG_INVALID, atomic(none, 8, 0, PTL_SUM, PTL_INT64_T, trigger));
    REFUSED(PTL_ARG_INVALID, fetch(none, md, 8, PTL_SUM, PTL_INT64_T, trigger));
    REFUSED(PTL_ARG_INVALID, fetch(md, none, 8, PTL_SUM, PTL_INT64_T, trigger));
    REFUSED(PTL_ARG_INVALID, swap(none, md, 8, &operand, PTL_CSWAP, PTL_INT64_T, trigger));
    REFUSED(PTL_ARG_INVALID, swap(md, none, 8, &operand, PTL_CSWAP, PTL_INT64_T, trigger));
    REFUSED(PTL_ARG_INVALID, increment(none, 1, 0, trigger));
    REFUSED(PTL_ARG_INVALID, set(none, trigger));
    REFUSED(PTL_ARG_INVALID, PtlTriggeredMEUnlink(none, trigger, 1));
    REFUSED(PTL_ARG_INVALID, put(md, 0, 8, 0, none));
    REFUSED(PTL_ARG_INVALID, get(md, 0, 8, none));
    REFUSED(PTL_ARG_INVALID, atomic(md, 8, 0, PTL_SUM, PTL_INT64_T, none));
    REFUSED(PTL_ARG_INVALID, fetch(md, md, 8, PTL_SUM, PTL_INT64_T, none));
    REFUSED(PTL_ARG_INVALID, swap(md, md, 8, &operand, PTL_CSWAP, PTL_INT64_T, none));
    REFUSED(PTL_ARG_INVALID, increment(other, 1, 0, none));
    REFUSED(PTL_ARG_INVALID, set(other, none));
    REFUSED(PTL_ARG_INVALID, append(ni, 0, m, PTL_PRIORITY_LIST, &entry, none));
    REFUSED(PTL_ARG_INVALID, PtlTriggeredMEUnlink(target, none, 1));
}

static void wrong_numbers(const ptl_me_t *m)
{
    const int64_t operand = 1;
    ptl_handle_me_t entry;
    ptl_me_t odd = *m;
    REFUSED(PTL_ARG_INVALID, put(md, 60, 5, 0, trigger));
    REFUSED(PTL_ARG_INVALID, put(md, PTL_SIZE_MAX, 5, 0, trigger));
    REFUSED(PTL_ARG_INVALID, put(md, 0, 8, 4, trigger));
    REFUSED(PTL_ARG_INVALID, get(md, 1, 64, trigger));
    REFUSED(PTL_ARG_INVALID, get(md, 8, PTL_SIZE_MAX, trigger));
    REFUSED(PTL_ARG_INVALID, atomic(md, 8, 9, PTL_SUM, PTL_INT64_T, trigger));
    REFUSED(PTL_ARG_INVALID, atomic(md, 7, 0, PTL_SUM, PTL_INT64_T, trigger));
    REFUSED(PTL_ARG_INVALID, atomic(md, 8, 0, PTL_SWAP, PTL_INT64_T, trigger));
    REFUSED(PTL_ARG_INVALID, atomic(md, 8, 0, PTL_CSWAP, PTL_INT64_T, trigger));
    REFUSED(PTL_ARG_INVALID, atomic(md, 8, 0, PTL_BAND, PTL_DOUBLE, trigger));
    REFUSED(PTL_ARG_INVALID, atomic(md, 8, 0, 200, PTL_INT64_T, trigger));
    REFUSED(PTL_ARG_INVALID, atomic(md, 8, 0, PTL_SUM, 200, trigger));
    REFUSED(PTL_ARG_INVALID, fetch(md, md, 8, 200, PTL_INT64_T, trigger));
    REFUSED(PTL_ARG_INVALID, fetch(md, md, 65, PTL_SUM, PTL_INT8_T, trigger));
    REFUSED(PTL_ARG_INVALID, swap(md, md, 8, NULL, PTL_CSWAP, PTL_INT64_T, trigger));
    REFUSED(PTL_ARG_INVALID, swap(md, md, 16, &operand, PTL_CSWAP, PTL_INT64_T, trigger));
    REFUSED(PTL_ARG_INVALID, swap(md, md, 8, &operand, PTL_SUM, PTL_INT64_T, trigger));
    REFUSED(PTL_ARG_INVALID, swap(md, md, 8, &operand, PTL_MSWAP, PTL_DOUBLE, trigger));
    REFUSED(PTL_ARG_INVALID, increment(other, 1, 1, trigger));
    REFUSED(PTL_ARG_INVALID, append(ni, 64, m, PTL_PRIORITY_LIST, &entry, trigger));
    REFUSED(PTL_ARG_INVALID, append(ni, 0, m, 2, &entry, trigger));
    REFUSED(PTL_ARG_INVALID, append(ni, 0, NULL, PTL_PRIORITY_LIST, &entry, trigger));
    REFUSED(PTL_ARG_INVALID, append(ni, 0, m, PTL_PRIORITY_LIST, NULL, trigger));
    odd.options = 1 << 30;
    REFUSED(PTL_ARG_INVALID, append(ni, 0, &odd, PTL_PRIORITY_LIST, &entry, trigger));
    mine.phys.nid = 4000;
    REFUSED(PTL_ARG_INVALID, put(md, 0, 8, 0, trigger));
    REFUSED(PTL_ARG_INVALID, get(md, 0, 8, trigger));
    mine = map[me];
}

static void wrong_polls(void)
{
    ptl_handle_ct_t both[2] = {trigger, PTL_INVALID_HANDLE};
    ptl_size_t tests[2] = {1, 1};
    ptl_ct_event_t value;
    unsigned int which;
    REFUSED(PTL_ARG_INVALID, PtlCTPoll(NULL, tests, 1, 0, &value, &which));
    REFUSED(PTL_ARG_INVALID, PtlCTPoll(both, NULL, 1, 0, &value, &which));
    REFUSED(PTL_ARG_INVALID, PtlCTPoll(both, tests, 0, 0, &value, &which));
    REFUSED(PTL_ARG_INVALID, PtlCTPoll(both, tests, 1, 0, NULL, &which));
    REFUSED(PTL_ARG_INVALID, PtlCTPoll(both, tests, 1, 0, &value, NULL));
    REFUSED(PTL_ARG_INVALID, PtlCTPoll(both, tests, 2, 0, &value, &which));
    REFUSED(PTL_CT_NONE_REACHED, PtlCTPoll(both, tests, 1, 0, &value, &which));
    REFUSED(PTL_CT_NONE_REACHED, PtlCTPoll(both, tests, 1, 5, &value, &which));
    REFUSED(PTL_ARG_INVALID, PtlGetPhysId(ni, NULL));
    REFUSED(PTL_ARG_INVALID, PtlGetPhysId(trigger, &mine));
    mine = map[me];
}

/* What is released before it is triggered does not move, and nothing else does. */
static void gone_before_it_starts(ptl_handle_eq_t eq)
{
    ptl_event_t event;
    ptl_handle_md_t brief = PTL_INVALID_HANDLE;
    ptl_md_t d = {bytes, 8, 0, PTL_EQ_NONE, PTL_CT_NONE};
    MUST(PtlMDBind(ni, &d, &brief));
    MUST(put(brief, 0, 8, 0, trigger));
    int released = PtlMDRelease(brief);
    CHECK(released == PTL_OK || released == PTL_IN_USE);
    ptl_handle_ct_t counted = new_ct(ni);
    MUST(increment(counted, 1, 0, trigger));
    MUST(PtlCTFree(counted));
    MUST(PtlCTInc(trigger, (ptl_ct_event_t){1, 0}));
    if (released == PTL_IN_USE)
        MUST(PtlEQWait(eq, &event));
    REFUSED(PTL_EQ_EMPTY, PtlEQPoll(&eq, 1, 20, &event, &(unsigned int){0}));
    MUST(PtlCTSet(trigger, (ptl_ct_event_t){0, 0}));
    /* Operations that wait end with their counting event. */
    ptl_handle_ct_t left = new_ct(ni);
    MUST(put(md, 0, 8, 0, left));
    MUST(PtlCTFree(left));
}

/* Whatever is given back twice. */
static void twice(void)
{
    ptl_md_t d = {bytes, 8, 0, PTL_EQ_NONE, PTL_CT_NONE};
    ptl_handle_md_t descriptor;
    ptl_handle_ct_t counter = new_ct(ni);
    ptl_handle_eq_t queue = new_eq(ni, 4);
    ptl_event_t event;
    ptl_ct_event_t value;
    MUST(PtlMDBind(ni, &d, &descriptor));
    MUST(PtlMDRelease(descriptor));
    REFUSED(PTL_ARG_INVALID, PtlMDRelease(descriptor));
    MUST(PtlCTFree(counter));
    REFUSED(PTL_ARG_INVALID, PtlCTFree(counter));
    REFUSED(PTL_ARG_INVALID, PtlCTCancelTriggered(counter));
    REFUSED(PTL_ARG_INVALID, PtlCTGet(counter, &value));
    REFUSED(PTL_ARG_INVALID, PtlCTSet(counter, (ptl_ct_event_t){1, 0}));
    REFUSED(PTL_ARG_INVALID, PtlCTInc(counter, (ptl_ct_event_t){1, 0}));
    MUST(PtlEQFree(queue));
    REFUSED(PTL_ARG_INVALID, PtlEQFree(queue));
    REFUSED(PTL_ARG_INVALID, PtlEQGet(queue, &event));
}

int main(void)
{
    begin();
    mine = map[me];
    ni = open_ni(physical, NULL, NULL);
    ptl_handle_ni_t foreign = open_ni(PTL_NI_NO_MATCHING | PTL_NI_PHYSICAL, NULL, NULL);
    ptl_handle_ct_t foreign_ct = new_ct(foreign), freed = new_ct(ni);
    MUST(PtlCTFree(freed));
    trigger = new_ct(ni);
    other = new_ct(ni);
    ptl_handle_eq_t eq = new_eq(ni, 8);
    ptl_pt_index_t pt;
    MUST(PtlPTAlloc(ni, 0, eq, 0, &pt));
    ptl_md_t d = {bytes, sizeof bytes, 0, PTL_EQ_NONE, PTL_CT_NONE};
    MUST(PtlMDBind(ni, &d, &md));
    ptl_me_t m = {there, sizeof there, PTL_CT_NONE, PTL_UID_ANY,
                  PTL_ME_OP_PUT | PTL_ME_OP_GET | PTL_ME_EVENT_LINK_DISABLE, {0}, 0, 0, 0};
    m.match_id.phys.nid = PTL_NID_ANY;
    m.match_id.phys.pid = PTL_PID_ANY;
    MUST(PtlMEAppend(ni, 0, &m, PTL_PRIORITY_LIST, NULL, &target));

    const ptl_handle_any_t none[] = {PTL_INVALID_HANDLE, PTL_CT_NONE, 0, 12345, 0xe0000000u, eq, ni, foreign_ct, freed};
    for (unsigned i = 0; i < sizeof none / sizeof *none; i++)
        wrong_handle(none[i], &m);
    wrong_numbers(&m);
    for (unsigned i = 0; i < sizeof none / sizeof *none; i++)
        if (none[i] != foreign_ct)
            REFUSED(PTL_ARG_INVALID, PtlCTCancelTriggered(none[i]));
    wrong_polls();
    twice();

    /* Nothing of it waits for the trigger. */
    ptl_event_t event;
    ptl_ct_event_t value;
    MUST(PtlCTInc(trigger, (ptl_ct_event_t){1, 0}));
    REFUSED(PTL_EQ_EMPTY, PtlEQPoll(&eq, 1, 20, &event, &(unsigned int){0}));
    MUST(PtlCTGet(other, &value));
    CHECK_EQ(value.success, 0);
    MUST(PtlCTSet(trigger, (ptl_ct_event_t){0, 0}));
    gone_before_it_starts(eq);

    MUST(PtlMEUnlink(target));
    REFUSED(PTL_ARG_INVALID, PtlMEUnlink(target));
    REFUSED(PTL_ARG_INVALID, PtlTriggeredMEUnlink(target, trigger, 1));
    MUST(PtlNIFini(foreign));
    MUST(PtlNIFini(ni));
    MUST(runtime_barrier());
    return end();
}
