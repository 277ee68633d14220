/* Puts and gets of many lengths, to all processes and itself, by each of the four kinds of interface; every field of the events.
 */
#include "ptl.h"

#define LONGEST (1 << 20)
#define USER ((void *)0x1234)

static unsigned char *here, *there;
static const size_t lengths[] = {0, 1, 8, 100, 3968, 3969, 20000, 65536, 65537, LONGEST};

static unsigned char pattern(int process, size_t at) { return (unsigned char)(process * 37 + at * 7 + at / 251); }

static void check_target(ptl_event_t event, ptl_event_kind_t kind, unsigned int options, ptl_pt_index_t pt,
                         size_t length, size_t offset, int from)
{
    ptl_uid_t uid;
    CHECK_EQ(event.type, kind);
    CHECK_EQ(event.ni_fail_type, PTL_NI_OK);
    CHECK_EQ(event.pt_index, pt);
    CHECK_EQ(event.rlength, length);
    CHECK_EQ(event.mlength, length);
    CHECK_EQ(event.remote_offset, offset);
    CHECK(event.start == there + offset);
    CHECK(event.user_ptr == USER);
    CHECK_EQ(event.ptl_list, PTL_PRIORITY_LIST);
    if (options & PTL_NI_LOGICAL) {
        CHECK_EQ(event.initiator.rank, from);
    } else {
        CHECK_EQ(event.initiator.phys.nid, map[from].phys.nid);
        CHECK_EQ(event.initiator.phys.pid, map[from].phys.pid);
    }
    (void)uid;
}

/* Each puts to its right neighbour at `step`, and gets it back. */
static void neighbours(ptl_handle_ni_t ni, unsigned int options, int step, size_t length)
{
    int matching = !!(options & PTL_NI_MATCHING), to = (me + step) % n, from = (me - step + n) % n;
    size_t offset = length < LONGEST ? 3 : 0;
    ptl_handle_eq_t mine = new_eq(ni, 8), others = new_eq(ni, 8);
    ptl_pt_index_t pt = new_pt(ni, 0, others, 5);
    unsigned int entry = PTL_ME_OP_PUT | PTL_ME_OP_GET | PTL_ME_EVENT_LINK_DISABLE;
    ptl_handle_me_t me_handle =
        append_to(ni, matching, pt, there, LONGEST, entry, PTL_CT_NONE, 7, 0, PTL_PRIORITY_LIST, USER);
    ptl_handle_md_t md = new_md(ni, here, LONGEST, 0, mine, PTL_CT_NONE);
    for (size_t i = 0; i < length; i++)
        here[i] = pattern(me, i);
    memset(there, 0xee, LONGEST);
    MUST(runtime_barrier());

    MUST(PtlPut(md, 0, length, PTL_ACK_REQ, name_of(options, to), pt, 7, offset, USER, 99));
    ptl_event_t event = next_event(mine, PTL_EVENT_SEND);
    CHECK(event.user_ptr == USER);
    CHECK_EQ(event.ni_fail_type, PTL_NI_OK);
    event = next_event(mine, PTL_EVENT_ACK);
    CHECK_EQ(event.ni_fail_type, PTL_NI_OK);
    CHECK_EQ(event.mlength, length);
    CHECK_EQ(event.remote_offset, offset);
    CHECK(event.user_ptr == USER);
    event = next_event(others, PTL_EVENT_PUT);
    check_target(event, PTL_EVENT_PUT, options, pt, length, offset, from);
    CHECK_EQ(event.hdr_data, 99);
    if (matching)
        CHECK_EQ(event.match_bits, 7);
    size_t wrong = 0;
    for (size_t i = 0; i < length; i++)
        wrong += there[offset + i] != pattern(from, i);
    CHECK_EQ(wrong, 0);
    if (offset) {
        CHECK_EQ(there[offset - 1], 0xee);
        CHECK_EQ(there[offset + length], 0xee);
    }

    memset(here, 0, length);
    MUST(PtlGet(md, 0, length, name_of(options, to), pt, 7, offset, USER));
    event = next_event(mine, PTL_EVENT_REPLY);
    CHECK_EQ(event.ni_fail_type, PTL_NI_OK);
    CHECK_EQ(event.mlength, length);
    CHECK(event.user_ptr == USER);
    event = next_event(others, PTL_EVENT_GET);
    check_target(event, PTL_EVENT_GET, options, pt, length, offset, from);
    wrong = 0;
    for (size_t i = 0; i < length; i++)
        wrong += here[i] != pattern(me, i);
    CHECK_EQ(wrong, 0);
    no_event(mine);
    no_event(others);

    MUST(runtime_barrier());
    MUST(PtlMDRelease(md));
    MUST(matching ? PtlMEUnlink(me_handle) : PtlLEUnlink(me_handle));
    MUST(PtlPTFree(ni, pt));
    MUST(PtlEQFree(mine));
    MUST(PtlEQFree(others));
}

/* Memory in parts, at both sides. */
static void vectors(ptl_handle_ni_t ni, unsigned int options, size_t length)
{
    int matching = !!(options & PTL_NI_MATCHING), to = (me + 1) % n, from = (me - 1 + n) % n;
    size_t a = length / 3, b = length / 2;
    ptl_iovec_t sent[3] = {{here + length, a}, {here, 0}, {here, length - a}};
    ptl_iovec_t received[2] = {{there + 2 * length, b}, {there, length - b}};
    ptl_handle_ct_t ct = new_ct(ni), back = new_ct(ni);
    ptl_pt_index_t pt = new_pt(ni, 0, PTL_EQ_NONE, PTL_PT_ANY);
    unsigned int entry = PTL_ME_OP_PUT | PTL_ME_OP_GET | PTL_ME_EVENT_CT_COMM | PTL_ME_EVENT_CT_BYTES | PTL_IOVEC;
    ptl_handle_me_t me_handle = append_to(ni, matching, pt, received, 2, entry, ct, 0, 0, PTL_PRIORITY_LIST, NULL);
    unsigned int counted = PTL_MD_EVENT_CT_REPLY | PTL_MD_EVENT_CT_ACK | PTL_MD_EVENT_CT_BYTES | PTL_IOVEC;
    ptl_handle_md_t md = new_md(ni, sent, 3, counted, PTL_EQ_NONE, back);
    for (size_t i = 0; i < length; i++)
        (i < a ? here + length : here - a)[i] = pattern(me, i);
    MUST(runtime_barrier());
    MUST(PtlPut(md, 1, length - 1, PTL_CT_ACK_REQ, name_of(options, to), pt, 0, 1, NULL, 0));
    CHECK_EQ(reach(back, length - 1).success, length - 1);
    CHECK_EQ(reach(ct, length - 1).failure, 0);
    size_t wrong = 0;
    for (size_t i = 1; i < length; i++)
        wrong += (i < b ? there + 2 * length : there - b)[i] != pattern(from, i);
    CHECK_EQ(wrong, 0);
    memset(here, 0, 2 * length);
    MUST(PtlGet(md, 1, length - 1, name_of(options, to), pt, 0, 1, NULL));
    CHECK_EQ(reach(back, 2 * (length - 1)).success, 2 * (length - 1));
    for (size_t i = 1; i < length; i++)
        wrong += (i < a ? here + length : here - a)[i] != pattern(me, i);
    CHECK_EQ(wrong, 0);
    reach(ct, 2 * (length - 1));
    MUST(runtime_barrier());
    MUST(PtlMDRelease(md));
    MUST(matching ? PtlMEUnlink(me_handle) : PtlLEUnlink(me_handle));
    MUST(PtlPTFree(ni, pt));
}

int main(void)
{
    static const unsigned int kinds[] = {
        PTL_NI_MATCHING | PTL_NI_LOGICAL, PTL_NI_MATCHING | PTL_NI_PHYSICAL, PTL_NI_NO_MATCHING | PTL_NI_LOGICAL,
        PTL_NI_NO_MATCHING | PTL_NI_PHYSICAL};
    here = malloc(LONGEST);
    there = malloc(LONGEST);
    begin();
    for (int kind = 0; kind < 4; kind++) {
        ptl_ni_limits_t limits;
        ptl_handle_ni_t ni = open_ni(kinds[kind], NULL, &limits);
        CHECK(limits.max_pt_index >= 63);
        ptl_process_t id;
        MUST(PtlGetId(ni, &id));
        if (kinds[kind] & PTL_NI_LOGICAL)
            CHECK_EQ(id.rank, me);
        MUST(PtlGetPhysId(ni, &id));
        CHECK_EQ(id.phys.nid, map[me].phys.nid);
        CHECK_EQ(id.phys.pid, map[me].phys.pid);
        MUST(runtime_barrier());
        for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
            for (int step = 0; step < n; step++)
                neighbours(ni, kinds[kind], step, lengths[i]);
        vectors(ni, kinds[kind], 500);
        vectors(ni, kinds[kind], 50000);
        MUST(PtlNIFini(ni));
        MUST(runtime_barrier());
    }
    free(here);
    free(there);
    return end();
}
