/* Puts whose data goes by itself, to targets that refuse it or have no room for all of it; others behind them arrive. */
#include "ptl.h"

#define LONGEST 70000

static const size_t lengths[] = {3969, 20000, 65536, 65537, LONGEST};
static unsigned char here[LONGEST], there[LONGEST];
static ptl_handle_ni_t ni;
static ptl_handle_eq_t mine, others;
static ptl_handle_md_t md;
static ptl_process_t to;

enum { NOWHERE = 9, OPEN = 10, CLOSED = 11, FULL = 1, HALF = 2 };

static void put(size_t length, ptl_pt_index_t pt, ptl_match_bits_t bits)
{
    MUST(PtlPut(md, 0, length, PTL_ACK_REQ, to, pt, bits, 0, NULL, length));
}

/* The data has left, and what the target says of it. */
static void answered(size_t length, ptl_ni_fail_t fail, size_t mlength)
{
    ptl_event_t event = next_event(mine, PTL_EVENT_SEND);
    CHECK_EQ(event.ni_fail_type, PTL_NI_OK);
    CHECK_EQ(event.mlength, length);
    event = next_event(mine, PTL_EVENT_ACK);
    CHECK_EQ(event.ni_fail_type, fail);
    CHECK_EQ(event.mlength, mlength);
}

static void arrived(size_t length, size_t mlength, int from)
{
    ptl_event_t event = next_event(others, PTL_EVENT_PUT);
    CHECK_EQ(event.ni_fail_type, PTL_NI_OK);
    CHECK_EQ(event.rlength, length);
    CHECK_EQ(event.mlength, mlength);
    CHECK_EQ(event.hdr_data, length);
    size_t wrong = 0;
    for (size_t i = 0; i < LONGEST; i++)
        wrong += there[i] != (i < mlength ? (unsigned char)(from + i * 7) : 0xee);
    CHECK_EQ(wrong, 0);
}

/* One after the other. */
static void each(size_t length, int from)
{
    ptl_handle_me_t half = append_to(ni, 1, OPEN, there, length / 2, PTL_ME_OP_PUT | PTL_ME_EVENT_LINK_DISABLE,
                                     PTL_CT_NONE, HALF, 0, PTL_PRIORITY_LIST, NULL);
    memset(there, 0xee, LONGEST);
    MUST(runtime_barrier());
    put(length, NOWHERE, FULL);
    answered(length, PTL_NI_DROPPED, 0);
    put(length, CLOSED, FULL);
    answered(length, PTL_NI_OP_VIOLATION, 0);
    put(length, OPEN, 77);
    answered(length, PTL_NI_DROPPED, 0);
    put(length, OPEN, HALF);
    answered(length, PTL_NI_OK, length / 2);
    arrived(length, length / 2, from);
    MUST(runtime_barrier());
    put(length, OPEN, FULL);
    answered(length, PTL_NI_OK, length);
    arrived(length, length, from);
    MUST(runtime_barrier());
    MUST(PtlMEUnlink(half));
}

/* All at once: what is taken is not what was refused before. */
static void together(int from)
{
    int events[] = {0, 0, 0}, fails = 0;
    memset(there, 0xee, LONGEST);
    MUST(runtime_barrier());
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        put(lengths[i], NOWHERE, FULL);
        put(lengths[i], CLOSED, FULL);
    }
    put(LONGEST, OPEN, FULL);
    for (size_t i = 0; i < 2 * (2 * (sizeof lengths / sizeof *lengths) + 1); i++) {
        ptl_event_t event;
        MUST(PtlEQWait(mine, &event));
        CHECK(event.type == PTL_EVENT_SEND || event.type == PTL_EVENT_ACK);
        events[event.type == PTL_EVENT_ACK]++;
        fails += event.ni_fail_type != PTL_NI_OK;
    }
    CHECK_EQ(events[0], 2 * sizeof lengths / sizeof *lengths + 1);
    CHECK_EQ(events[1], events[0]);
    CHECK_EQ(fails, events[0] - 1);
    arrived(LONGEST, LONGEST, from);
    no_event(mine);
    no_event(others);
    MUST(runtime_barrier());
}

/* The target has no such interface. */
static void nobody(void)
{
    unsigned int options = PTL_NI_NO_MATCHING | PTL_NI_LOGICAL;
    if (me % 2 == 0) {
        ptl_handle_ni_t other = open_ni(options, NULL, NULL);
        ptl_handle_ct_t ct = new_ct(other);
        ptl_handle_md_t from = new_md(other, here, LONGEST, PTL_MD_EVENT_CT_ACK, PTL_EQ_NONE, ct);
        for (int process = 1; process < n; process += 2)
            for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
                ptl_process_t target = name_of(options, process);
                MUST(PtlPut(from, 0, lengths[i], PTL_CT_ACK_REQ, target, 0, 0, 0, NULL, 0));
                /* Until its memory is free again: the answer then finds no descriptor. */
                while (PtlMDRelease(from) == PTL_IN_USE)
                    ;
                from = new_md(other, here, LONGEST, PTL_MD_EVENT_CT_ACK, PTL_EQ_NONE, ct);
            }
        MUST(PtlNIFini(other));
    }
    MUST(runtime_barrier());
}

int main(void)
{
    begin();
    unsigned int options = PTL_NI_MATCHING | PTL_NI_LOGICAL;
    int from = (me - 1 + n) % n;
    ni = open_ni(options, NULL, NULL);
    mine = new_eq(ni, 64);
    others = new_eq(ni, 64);
    to = name_of(options, (me + 1) % n);
    new_pt(ni, 0, others, OPEN);
    new_pt(ni, 0, others, CLOSED);
    md = new_md(ni, here, LONGEST, 0, mine, PTL_CT_NONE);
    append_to(ni, 1, OPEN, there, LONGEST, PTL_ME_OP_PUT | PTL_ME_EVENT_LINK_DISABLE, PTL_CT_NONE, FULL, 0,
              PTL_PRIORITY_LIST, NULL);
    append_to(ni, 1, CLOSED, there, LONGEST, PTL_ME_OP_GET | PTL_ME_EVENT_LINK_DISABLE, PTL_CT_NONE, FULL, 0,
              PTL_PRIORITY_LIST, NULL);
    for (size_t i = 0; i < LONGEST; i++)
        here[i] = (unsigned char)(me + i * 7);
    MUST(runtime_barrier());
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        each(lengths[i], from);
    nobody();
    together(from);
    MUST(PtlNIFini(ni));
    return end();
}
