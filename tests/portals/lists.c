/* Matching: sources, bits, both lists, unexpected messages, local offsets, truncation, searches, permissions. */
#include "ptl.h"

#define PT 4
static const unsigned int kind = PTL_NI_MATCHING | PTL_NI_LOGICAL;
static ptl_handle_ni_t ni;
static ptl_handle_eq_t eq, mine;
static ptl_handle_md_t md;
static ptl_pt_index_t pt;
static char text[100] = "0123456789abcdefghijklmnopqrstuvwxyz", there[4][100];

/* The right neighbour puts `length` bytes: all do the same, so each gets what it sends. */
static ptl_event_t put(ptl_size_t length, ptl_match_bits_t bits, ptl_size_t offset)
{
    MUST(PtlPut(md, 0, length, PTL_ACK_REQ, name_of(kind, (me + 1) % n), pt, bits, offset, NULL, 77));
    next_event(mine, PTL_EVENT_SEND);
    ptl_event_t ack = next_event(mine, PTL_EVENT_ACK);
    MUST(runtime_barrier());
    return ack;
}

static ptl_me_t entry(char *start, ptl_size_t length, unsigned int options, ptl_match_bits_t bits)
{
    ptl_me_t e = {start, length, PTL_CT_NONE, PTL_UID_ANY, options, {.rank = PTL_RANK_ANY}, bits, 0, 0};
    return e;
}

static ptl_handle_me_t append(ptl_me_t e, ptl_list_t list, void *user)
{
    ptl_handle_me_t handle = PTL_INVALID_HANDLE;
    MUST(PtlMEAppend(ni, pt, &e, list, user, &handle));
    return handle;
}

static const unsigned int puts_only = PTL_ME_OP_PUT | PTL_ME_EVENT_LINK_DISABLE;

static void order(void)
{
    ptl_me_t wide = entry(there[0], 100, puts_only | PTL_ME_USE_ONCE, 0);
    wide.ignore_bits = ~(ptl_match_bits_t)0;
    ptl_me_t right = entry(there[1], 100, puts_only | PTL_ME_USE_ONCE, 5);
    ptl_me_t wrong_source = entry(there[2], 100, puts_only, 5);
    wrong_source.match_id.rank = n > 1 ? me : 99;
    ptl_handle_me_t never = append(wrong_source, PTL_PRIORITY_LIST, "never");
    append(wide, PTL_PRIORITY_LIST, "wide");
    append(right, PTL_PRIORITY_LIST, "right");
    MUST(runtime_barrier());
    ptl_event_t ack = put(10, 5, 0);
    CHECK_EQ(ack.mlength, 10);
    CHECK_EQ(ack.ptl_list, PTL_PRIORITY_LIST);
    CHECK_EQ(put(5, 5, 1).remote_offset, 1);
    ptl_event_t event = next_event(eq, PTL_EVENT_PUT);
    CHECK(event.start == there[0] && !strcmp(event.user_ptr, "wide"));
    CHECK_EQ(event.initiator.rank, (me + n - 1) % n);
    event = next_event(eq, PTL_EVENT_AUTO_UNLINK);
    CHECK(!strcmp(event.user_ptr, "wide"));
    event = next_event(eq, PTL_EVENT_PUT);
    CHECK(event.start == there[1] + 1 && !strcmp(event.user_ptr, "right"));
    next_event(eq, PTL_EVENT_AUTO_UNLINK);
    CHECK(!memcmp(there[0], text, 10) && !memcmp(there[1] + 1, text, 5));
    MUST(PtlMEUnlink(never));
    REFUSED(PTL_ARG_INVALID, PtlMEUnlink(never));
}

static void unexpected(void)
{
    ptl_me_t over = entry(there[0], 25, puts_only | PTL_ME_MANAGE_LOCAL, 0);
    over.ignore_bits = ~(ptl_match_bits_t)0;
    over.min_free = 6;
    append(over, PTL_OVERFLOW_LIST, "over");
    MUST(runtime_barrier());
    ptl_event_t ack = put(10, 21, 50);
    CHECK_EQ(ack.remote_offset, 0);
    CHECK_EQ(ack.ptl_list, PTL_OVERFLOW_LIST);
    CHECK_EQ(put(12, 22, 50).remote_offset, 10);
    ptl_event_t event = next_event(eq, PTL_EVENT_PUT);
    CHECK_EQ(event.ptl_list, PTL_OVERFLOW_LIST);
    next_event(eq, PTL_EVENT_PUT);
    next_event(eq, PTL_EVENT_AUTO_UNLINK);
    /* The second one is looked for, then taken, then the first. */
    ptl_me_t wanted = entry(there[1], 100, PTL_ME_OP_PUT | PTL_ME_USE_ONCE, 22);
    MUST(PtlMESearch(ni, pt, &wanted, PTL_SEARCH_ONLY, "search"));
    event = next_event(eq, PTL_EVENT_SEARCH);
    CHECK_EQ(event.ni_fail_type, PTL_NI_OK);
    CHECK_EQ(event.mlength, 12);
    append(wanted, PTL_PRIORITY_LIST, "late");
    event = next_event(eq, PTL_EVENT_PUT_OVERFLOW);
    CHECK(event.start == there[0] + 10 && !strcmp(event.user_ptr, "late"));
    CHECK_EQ(event.hdr_data, 77);
    CHECK_EQ(event.rlength, 12);
    CHECK(!memcmp(event.start, text, 12));
    next_event(eq, PTL_EVENT_AUTO_UNLINK);
    MUST(PtlMESearch(ni, pt, &wanted, PTL_SEARCH_DELETE, NULL));
    CHECK_EQ(next_event(eq, PTL_EVENT_SEARCH).ni_fail_type, PTL_NI_NO_MATCH);
    wanted.match_bits = 21;
    MUST(PtlMESearch(ni, pt, &wanted, PTL_SEARCH_DELETE, "delete"));
    event = next_event(eq, PTL_EVENT_PUT_OVERFLOW);
    CHECK(event.start == there[0]);
    event = next_event(eq, PTL_EVENT_AUTO_FREE);
    CHECK(!strcmp(event.user_ptr, "over"));
    no_event(eq);
}

static void truncation(void)
{
    ptl_handle_me_t strict = append(entry(there[0], 8, puts_only | PTL_ME_NO_TRUNCATE, 1), PTL_PRIORITY_LIST, NULL);
    ptl_handle_me_t cut = append(entry(there[1], 8, puts_only, 1), PTL_PRIORITY_LIST, NULL);
    MUST(runtime_barrier());
    CHECK_EQ(put(8, 1, 0).mlength, 8);
    CHECK(next_event(eq, PTL_EVENT_PUT).start == there[0]);
    CHECK_EQ(put(9, 1, 0).mlength, 8);
    ptl_event_t event = next_event(eq, PTL_EVENT_PUT);
    CHECK(event.start == there[1]);
    CHECK_EQ(event.rlength, 9);
    CHECK_EQ(event.mlength, 8);
    CHECK_EQ(put(4, 1, 1000).mlength, 0);
    CHECK_EQ(next_event(eq, PTL_EVENT_PUT).mlength, 0);
    MUST(PtlMEUnlink(strict));
    MUST(PtlMEUnlink(cut));
}

/* Data that does not travel with its header is cut off, too, and finds an unexpected place. */
static void long_ones(void)
{
    static char big[100000], room[60000], late[100000];
    memset(big, 'b', sizeof big);
    ptl_handle_md_t data = new_md(ni, big, sizeof big, 0, mine, PTL_CT_NONE);
    ptl_handle_me_t over = append(entry(room, sizeof room, puts_only, 3), PTL_OVERFLOW_LIST, NULL);
    MUST(runtime_barrier());
    MUST(PtlPut(data, 0, sizeof big, PTL_ACK_REQ, name_of(kind, (me + 1) % n), pt, 3, 10000, NULL, 0));
    next_event(mine, PTL_EVENT_SEND);
    ptl_event_t ack = next_event(mine, PTL_EVENT_ACK);
    CHECK_EQ(ack.mlength, 50000);
    CHECK_EQ(ack.ptl_list, PTL_OVERFLOW_LIST);
    CHECK_EQ(next_event(eq, PTL_EVENT_PUT).mlength, 50000);
    MUST(runtime_barrier());
    CHECK(room[9999] == 0 && room[10000] == 'b' && room[59999] == 'b');
    append(entry(late, sizeof late, puts_only | PTL_ME_USE_ONCE | PTL_ME_EVENT_UNLINK_DISABLE, 3), PTL_PRIORITY_LIST,
           NULL);
    CHECK(next_event(eq, PTL_EVENT_PUT_OVERFLOW).start == room + 10000);
    MUST(runtime_barrier());
    MUST(PtlPut(data, 0, sizeof big, PTL_ACK_REQ, name_of(kind, (me + 1) % n), pt, 3, 60000, NULL, 0));
    next_event(mine, PTL_EVENT_SEND);
    CHECK_EQ(next_event(mine, PTL_EVENT_ACK).mlength, 0);
    CHECK_EQ(next_event(eq, PTL_EVENT_PUT).mlength, 0);
    /* Its header is still there: the entry is in use. */
    REFUSED(PTL_IN_USE, PtlMEUnlink(over));
    ptl_me_t any = entry(NULL, 0, PTL_ME_OP_PUT | PTL_ME_USE_ONCE, 3);
    MUST(PtlMESearch(ni, pt, &any, PTL_SEARCH_DELETE, NULL));
    next_event(eq, PTL_EVENT_PUT_OVERFLOW);
    MUST(PtlMEUnlink(over));
    MUST(runtime_barrier());
    MUST(PtlPut(data, 0, sizeof big, PTL_ACK_REQ, name_of(kind, (me + 1) % n), pt, 3, 0, NULL, 0));
    next_event(mine, PTL_EVENT_SEND);
    CHECK_EQ(next_event(mine, PTL_EVENT_ACK).ni_fail_type, PTL_NI_DROPPED);
    MUST(runtime_barrier());
    MUST(PtlMDRelease(data));
}

static int status(ptl_sr_index_t which)
{
    ptl_sr_value_t value = -1;
    MUST(PtlNIStatus(ni, which, &value));
    return value;
}

static void refusals(void)
{
    int dropped = status(PTL_SR_DROP_COUNT);
    MUST(runtime_barrier());
    CHECK_EQ(put(4, 1234, 0).ni_fail_type, PTL_NI_DROPPED);
    CHECK_EQ(status(PTL_SR_DROP_COUNT), dropped + 1);
    MUST(runtime_barrier());
    ptl_me_t foreign = entry(there[0], 100, puts_only, 1);
    ptl_uid_t uid;
    MUST(PtlGetUid(ni, &uid));
    foreign.uid = uid + 1;
    ptl_handle_me_t guarded = append(foreign, PTL_PRIORITY_LIST, NULL);
    ptl_handle_me_t gets = append(entry(there[0], 100, PTL_ME_OP_GET | PTL_ME_EVENT_LINK_DISABLE, 2),
                                  PTL_PRIORITY_LIST, NULL);
    ptl_handle_me_t quiet = append(entry(there[0], 100, puts_only | PTL_ME_ACK_DISABLE, 3), PTL_PRIORITY_LIST, NULL);
    MUST(runtime_barrier());
    CHECK_EQ(put(4, 1, 0).ni_fail_type, PTL_NI_PERM_VIOLATION);
    CHECK_EQ(put(4, 2, 0).ni_fail_type, PTL_NI_OP_VIOLATION);
    CHECK_EQ(status(PTL_SR_PERMISSION_VIOLATIONS), 1);
    CHECK_EQ(status(PTL_SR_OPERATION_VIOLATIONS), 1);
    MUST(runtime_barrier());
    MUST(PtlGet(md, 0, 4, name_of(kind, (me + 1) % n), pt, 3, 0, NULL));
    CHECK_EQ(next_event(mine, PTL_EVENT_REPLY).ni_fail_type, PTL_NI_OP_VIOLATION);
    no_event(eq);
    MUST(runtime_barrier());
    /* An entry that acknowledges nothing. */
    MUST(PtlPut(md, 0, 4, PTL_ACK_REQ, name_of(kind, (me + 1) % n), pt, 3, 0, NULL, 0));
    next_event(mine, PTL_EVENT_SEND);
    next_event(eq, PTL_EVENT_PUT);
    MUST(runtime_barrier());
    no_event(mine);
    MUST(PtlMEUnlink(guarded));
    MUST(PtlMEUnlink(gets));
    MUST(PtlMEUnlink(quiet));
    /* No such entry of the table. */
    MUST(PtlPut(md, 0, 4, PTL_ACK_REQ, name_of(kind, (me + 1) % n), 40, 3, 0, NULL, 0));
    next_event(mine, PTL_EVENT_SEND);
    CHECK_EQ(next_event(mine, PTL_EVENT_ACK).ni_fail_type, PTL_NI_DROPPED);
    MUST(PtlPTDisable(ni, pt));
    MUST(runtime_barrier());
    CHECK_EQ(put(4, 3, 0).ni_fail_type, PTL_NI_PT_DISABLED);
    MUST(PtlPTEnable(ni, pt));
}

/* An entry that covers all of the memory there could be: what is not there is told. */
static void inaccessible(void)
{
    ptl_handle_me_t all = append(entry(NULL, PTL_SIZE_MAX, puts_only | PTL_ME_OP_GET, 6), PTL_PRIORITY_LIST, NULL);
    MUST(runtime_barrier());
    CHECK_EQ(put(4, 6, 8).ni_fail_type, PTL_NI_SEGV);
    CHECK_EQ(next_event(eq, PTL_EVENT_PUT).ni_fail_type, PTL_NI_SEGV);
    if (n == 1) {
        CHECK_EQ(put(4, 6, (uintptr_t)there[3]).ni_fail_type, PTL_NI_OK);
        CHECK_EQ(next_event(eq, PTL_EVENT_PUT).ni_fail_type, PTL_NI_OK);
        CHECK(!memcmp(there[3], text, 4));
    }
    MUST(PtlMEUnlink(all));
}

int main(void)
{
    begin();
    ni = open_ni(kind, NULL, NULL);
    eq = new_eq(ni, 64);
    mine = new_eq(ni, 64);
    pt = new_pt(ni, 0, eq, PT);
    md = new_md(ni, text, sizeof text, 0, mine, PTL_CT_NONE);
    MUST(runtime_barrier());
    order();
    unexpected();
    truncation();
    long_ones();
    refusals();
    MUST(runtime_barrier());
    inaccessible();
    MUST(runtime_barrier());
    no_event(eq);
    no_event(mine);
    MUST(PtlMDRelease(md));
    MUST(PtlPTFree(ni, pt));
    MUST(PtlNIFini(ni));
    return end();
}
