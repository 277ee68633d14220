/* Sentences of the specification that the other programs leave out, one check for each: options of entries and of descriptors, the
   events of overflow lists, what atomic operations refuse, queues that are full, thresholds. Each process operates on its right
   neighbour, and all do the same. */
#include "ptl.h"

static const unsigned int kind = PTL_NI_MATCHING | PTL_NI_LOGICAL;
static ptl_handle_ni_t ni;
static ptl_handle_eq_t theirs, mine;
static ptl_handle_md_t md, into;
static ptl_pt_index_t pt;
static uint64_t here[8] = {1, 2, 3, 4, 5, 6, 7, 8}, there[4][8], got[8];
static ptl_process_t right;

enum { PUTS = PTL_ME_OP_PUT | PTL_ME_EVENT_LINK_DISABLE, BOTH = PUTS | PTL_ME_OP_GET };

static ptl_me_t entry(void *start, ptl_size_t length, unsigned int options, ptl_handle_ct_t ct, ptl_match_bits_t bits)
{
    ptl_me_t e = {start, length, ct, PTL_UID_ANY, options, {.rank = PTL_RANK_ANY}, bits, 0, 0};
    return e;
}

static ptl_handle_me_t append(ptl_me_t e, ptl_list_t list, void *user)
{
    ptl_handle_me_t handle = PTL_INVALID_HANDLE;
    MUST(PtlMEAppend(ni, pt, &e, list, user, &handle));
    return handle;
}

/* Waits for all, whose operations are then done: each has its acknowledgment. */
static void all(void) { MUST(runtime_barrier()); }

static ptl_event_t put(ptl_handle_md_t from, ptl_size_t length, ptl_match_bits_t bits, ptl_size_t offset)
{
    MUST(PtlPut(from, 0, length, PTL_ACK_REQ, right, pt, bits, offset, NULL, 77));
    next_event(mine, PTL_EVENT_SEND);
    ptl_event_t ack = next_event(mine, PTL_EVENT_ACK);
    all();
    return ack;
}

static ptl_event_t get(ptl_size_t length, ptl_match_bits_t bits, ptl_size_t offset)
{
    MUST(PtlGet(into, 0, length, right, pt, bits, offset, NULL));
    ptl_event_t reply = next_event(mine, PTL_EVENT_REPLY);
    all();
    return reply;
}

static ptl_ct_event_t now(ptl_handle_ct_t ct)
{
    ptl_ct_event_t value = {99, 99};
    MUST(PtlCTGet(ct, &value));
    return value;
}

/* Which events an entry makes, and what its counter counts. */
static void events_of_entries(void)
{
    ptl_handle_ct_t ct = new_ct(ni);
    ptl_event_t event;
    ptl_handle_me_t linked = append(entry(there[0], 64, PTL_ME_OP_PUT, PTL_CT_NONE, 1), PTL_OVERFLOW_LIST, "linked");
    event = next_event(theirs, PTL_EVENT_LINK);
    CHECK(event.ni_fail_type == PTL_NI_OK && event.pt_index == pt && !strcmp(event.user_ptr, "linked"));
    MUST(PtlMEUnlink(linked));
    no_event(theirs); /* an entry that the program takes out makes no event */

    unsigned int silent[] = {PTL_ME_EVENT_COMM_DISABLE, PTL_ME_EVENT_SUCCESS_DISABLE};
    for (int i = 0; i < 2; i++) {
        ptl_handle_me_t quiet = append(entry(there[0], 64, BOTH | PTL_ME_EVENT_CT_COMM | silent[i], ct, 2),
                                       PTL_PRIORITY_LIST, NULL);
        all();
        CHECK_EQ(put(md, 8, 2, 0).mlength, 8);
        CHECK_EQ(get(8, 2, 0).mlength, 8);
        CHECK_EQ(reach(ct, 2 * i + 2).success, 2 * i + 2);
        no_event(theirs);
        MUST(PtlMEUnlink(quiet));
    }

    ptl_ct_event_t zero = {0, 0};
    MUST(PtlCTSet(ct, zero));
    ptl_handle_me_t bytes = append(entry(there[0], 20, PUTS | PTL_ME_EVENT_CT_COMM | PTL_ME_EVENT_CT_BYTES |
                                         PTL_ME_USE_ONCE | PTL_ME_EVENT_UNLINK_DISABLE, ct, 3), PTL_PRIORITY_LIST, NULL);
    all();
    CHECK_EQ(put(md, 24, 3, 4).mlength, 16); /* what is cut off is not counted */
    CHECK_EQ(reach(ct, 16).success, 16);
    event = next_event(theirs, PTL_EVENT_PUT);
    CHECK(event.rlength == 24 && event.mlength == 16 && event.remote_offset == 4 && event.start == (char *)there[0] + 4);
    no_event(theirs); /* used once, without an event of that */
    REFUSED(PTL_ARG_INVALID, PtlMEUnlink(bytes));

    /* Memory of no length records events. */
    ptl_handle_me_t nothing = append(entry(NULL, 0, PUTS, PTL_CT_NONE, 4), PTL_PRIORITY_LIST, NULL);
    all();
    CHECK_EQ(put(md, 24, 4, 0).mlength, 0);
    event = next_event(theirs, PTL_EVENT_PUT);
    ptl_uid_t uid;
    MUST(PtlGetUid(ni, &uid));
    CHECK(event.rlength == 24 && event.mlength == 0 && event.hdr_data == 77 && event.match_bits == 4 && event.uid == uid);
    CHECK_EQ(event.initiator.rank, (ptl_rank_t)((me + n - 1) % n));
    MUST(PtlMEUnlink(nothing));
    MUST(PtlCTFree(ct));
}

/* One offset for puts and gets, kept by the target; the initiator is told where its data went. */
static void local_offsets(void)
{
    memset(there[0], 0, sizeof there[0]);
    ptl_me_t wanted = entry(there[0], 40, BOTH | PTL_ME_MANAGE_LOCAL | PTL_ME_MAY_ALIGN | PTL_ME_IS_ACCESSIBLE, PTL_CT_NONE, 1);
    wanted.min_free = 9;
    append(wanted, PTL_PRIORITY_LIST, "local");
    all();
    CHECK_EQ(put(md, 8, 1, 1000).remote_offset, 0);
    CHECK_EQ(get(16, 1, 1000).remote_offset, 8);
    CHECK_EQ(next_event(theirs, PTL_EVENT_PUT).remote_offset, 1000);
    CHECK(next_event(theirs, PTL_EVENT_GET).start == there[0] + 1);
    CHECK_EQ(put(md, 8, 1, 0).remote_offset, 24); /* 8 bytes are left, fewer than min_free */
    next_event(theirs, PTL_EVENT_PUT);
    CHECK(!strcmp(next_event(theirs, PTL_EVENT_AUTO_UNLINK).user_ptr, "local"));
    CHECK_EQ(there[0][3], 1);
    all();
    CHECK_EQ(put(md, 8, 1, 0).ni_fail_type, PTL_NI_DROPPED);
    no_event(theirs);
}

/* What an entry does not allow, for atomic operations and gets as well. */
static void rights(void)
{
    uint64_t back = 5;
    ptl_handle_md_t result = new_md(ni, &back, 8, 0, mine, PTL_CT_NONE);
    ptl_handle_me_t puts = append(entry(there[0], 64, PUTS, PTL_CT_NONE, 1), PTL_PRIORITY_LIST, NULL);
    ptl_handle_me_t gets = append(entry(there[0], 64, PTL_ME_OP_GET | PTL_ME_EVENT_LINK_DISABLE, PTL_CT_NONE, 2),
                                  PTL_PRIORITY_LIST, NULL);
    there[0][0] = 40;
    all();
    for (ptl_match_bits_t bits = 1; bits <= 2; bits++) {
        MUST(PtlFetchAtomic(result, 0, md, 0, 8, right, pt, bits, 0, NULL, 0, PTL_SUM, PTL_UINT64_T));
        next_event(mine, PTL_EVENT_SEND);
        CHECK_EQ(next_event(mine, PTL_EVENT_REPLY).ni_fail_type, PTL_NI_OP_VIOLATION);
    }
    MUST(PtlAtomic(md, 0, 8, PTL_ACK_REQ, right, pt, 2, 0, NULL, 0, PTL_SUM, PTL_UINT64_T));
    next_event(mine, PTL_EVENT_SEND);
    CHECK_EQ(next_event(mine, PTL_EVENT_ACK).ni_fail_type, PTL_NI_OP_VIOLATION);
    CHECK_EQ(get(8, 1, 0).ni_fail_type, PTL_NI_OP_VIOLATION);
    CHECK(back == 5 && there[0][0] == 40);
    no_event(theirs);
    MUST(PtlMEUnlink(puts));
    MUST(PtlMEUnlink(gets));
    /* A disabled index refuses all kinds of operations. */
    MUST(PtlPTDisable(ni, pt));
    all();
    CHECK_EQ(get(8, 1, 0).ni_fail_type, PTL_NI_PT_DISABLED);
    MUST(PtlSwap(result, 0, md, 0, 8, right, pt, 1, 0, NULL, 0, NULL, PTL_SWAP, PTL_UINT64_T));
    next_event(mine, PTL_EVENT_SEND);
    CHECK_EQ(next_event(mine, PTL_EVENT_REPLY).ni_fail_type, PTL_NI_PT_DISABLED);
    all();
    MUST(PtlPTEnable(ni, pt));
    no_event(theirs);
    MUST(PtlMDRelease(result));
}

/* All kinds of operations in the overflow list, and what an append makes of them. */
static void overflows(void)
{
    uint64_t back = 0;
    ptl_handle_ct_t ct = new_ct(ni);
    ptl_handle_md_t result = new_md(ni, &back, 8, 0, mine, PTL_CT_NONE);
    ptl_me_t wide = entry(there[1], 64, BOTH, PTL_CT_NONE, 0);
    wide.ignore_bits = ~(ptl_match_bits_t)0;
    ptl_handle_me_t over = append(wide, PTL_OVERFLOW_LIST, "over");
    memset(there[1], 0, sizeof there[1]);
    all();
    CHECK_EQ(put(md, 8, 1, 0).ptl_list, PTL_OVERFLOW_LIST);
    CHECK_EQ(get(8, 1, 0).ptl_list, PTL_OVERFLOW_LIST);
    MUST(PtlAtomic(md, 0, 8, PTL_ACK_REQ, right, pt, 1, 8, NULL, 6, PTL_SUM, PTL_UINT64_T));
    next_event(mine, PTL_EVENT_SEND);
    next_event(mine, PTL_EVENT_ACK);
    MUST(PtlFetchAtomic(result, 0, md, 8, 8, right, pt, 1, 8, NULL, 7, PTL_PROD, PTL_UINT64_T));
    next_event(mine, PTL_EVENT_SEND);
    next_event(mine, PTL_EVENT_REPLY);
    CHECK_EQ(back, 1);
    all();
    static const ptl_event_kind_t arrived[] = {PTL_EVENT_PUT, PTL_EVENT_GET, PTL_EVENT_ATOMIC, PTL_EVENT_FETCH_ATOMIC};
    for (int i = 0; i < 4; i++) {
        ptl_event_t event = next_event(theirs, arrived[i]);
        CHECK(event.ptl_list == PTL_OVERFLOW_LIST && !strcmp(event.user_ptr, "over"));
    }
    REFUSED(PTL_IN_USE, PtlMEUnlink(over));

    /* An entry that stays takes all headers that it matches, in their order, and is then linked. What it would allow is not asked. */
    ptl_uid_t uid;
    MUST(PtlGetUid(ni, &uid));
    ptl_me_t late = entry(there[2], 64, PTL_ME_EVENT_CT_OVERFLOW | PTL_ME_EVENT_CT_BYTES, ct, 1);
    late.uid = uid + 1;
    ptl_handle_me_t stays = append(late, PTL_PRIORITY_LIST, "late");
    static const ptl_event_kind_t found[] = {PTL_EVENT_PUT_OVERFLOW, PTL_EVENT_GET_OVERFLOW, PTL_EVENT_ATOMIC_OVERFLOW,
                                             PTL_EVENT_FETCH_ATOMIC_OVERFLOW};
    for (int i = 0; i < 4; i++) {
        ptl_event_t event = next_event(theirs, found[i]);
        CHECK(event.mlength == 8 && event.rlength == 8 && event.match_bits == 1 && !strcmp(event.user_ptr, "late"));
        CHECK(event.start == there[1] + (i >= 2) && event.remote_offset == (i >= 2) * sizeof(uint64_t));
        CHECK_EQ(event.initiator.rank, (ptl_rank_t)((me + n - 1) % n));
        if (i >= 2)
            CHECK(event.hdr_data == (ptl_hdr_data_t)i + 4 && event.atomic_type == PTL_UINT64_T &&
                  event.atomic_operation == (i == 2 ? PTL_SUM : PTL_PROD));
    }
    next_event(theirs, PTL_EVENT_LINK);
    CHECK(now(ct).success == 32 && now(ct).failure == 0);
    no_event(theirs);
    MUST(PtlMEUnlink(stays));
    all();

    /* Without overflow events; used once it is not linked. */
    CHECK_EQ(put(md, 8, 5, 0).mlength, 8);
    next_event(theirs, PTL_EVENT_PUT);
    ptl_me_t once = entry(there[2], 64, PTL_ME_OP_PUT | PTL_ME_USE_ONCE | PTL_ME_EVENT_OVER_DISABLE | PTL_ME_EVENT_CT_OVERFLOW, ct, 5);
    append(once, PTL_PRIORITY_LIST, "once");
    CHECK(!strcmp(next_event(theirs, PTL_EVENT_AUTO_UNLINK).user_ptr, "once"));
    CHECK_EQ(now(ct).success, 33);
    no_event(theirs);
    MUST(PtlMEUnlink(over));

    /* A header that is not kept is not found, and holds nobody. */
    wide.options = PUTS | PTL_ME_UNEXPECTED_HDR_DISABLE;
    over = append(wide, PTL_OVERFLOW_LIST, NULL);
    all();
    CHECK_EQ(put(md, 8, 6, 0).mlength, 8);
    next_event(theirs, PTL_EVENT_PUT);
    once.match_bits = 6;
    MUST(PtlMESearch(ni, pt, &once, PTL_SEARCH_ONLY, "sought"));
    ptl_event_t event = next_event(theirs, PTL_EVENT_SEARCH);
    CHECK(event.ni_fail_type == PTL_NI_NO_MATCH && !strcmp(event.user_ptr, "sought"));
    MUST(PtlMEUnlink(over));
    no_event(theirs);
    all();
    MUST(PtlMDRelease(result));
    MUST(PtlCTFree(ct));
}

/* What descriptors tell and count, of what is done and of what is refused. */
static void events_of_descriptors(void)
{
    ptl_handle_ct_t ct = new_ct(ni);
    ptl_handle_me_t open = append(entry(there[3], 16, BOTH | PTL_ME_EVENT_COMM_DISABLE, PTL_CT_NONE, 1), PTL_PRIORITY_LIST, NULL);
    ptl_handle_md_t failures = new_md(ni, here, 64, PTL_MD_EVENT_SUCCESS_DISABLE, mine, PTL_CT_NONE);
    all();
    MUST(PtlPut(failures, 0, 8, PTL_ACK_REQ, right, pt, 1, 0, NULL, 0));
    MUST(PtlPut(failures, 0, 8, PTL_ACK_REQ, right, pt, 99, 0, "lost", 0));
    ptl_event_t event = next_event(mine, PTL_EVENT_ACK);
    CHECK(event.ni_fail_type == PTL_NI_DROPPED && !strcmp(event.user_ptr, "lost"));
    no_event(mine);

    unsigned int counted = PTL_MD_EVENT_CT_SEND | PTL_MD_EVENT_CT_ACK | PTL_MD_EVENT_CT_REPLY;
    ptl_handle_md_t numbers = new_md(ni, here, 64, counted | PTL_MD_VOLATILE | PTL_MD_UNORDERED, PTL_EQ_NONE, ct);
    MUST(PtlPut(numbers, 0, 8, PTL_CT_ACK_REQ, right, pt, 1, 0, NULL, 0));
    CHECK_EQ(reach(ct, 2).success, 2);
    MUST(PtlPut(numbers, 0, 8, PTL_OC_ACK_REQ, right, pt, 1, 0, NULL, 0));
    CHECK_EQ(reach(ct, 4).success, 4);
    MUST(PtlPut(numbers, 0, 8, PTL_NO_ACK_REQ, right, pt, 1, 0, NULL, 0));
    CHECK_EQ(reach(ct, 5).success, 5);
    MUST(PtlGet(numbers, 0, 8, right, pt, 1, 0, NULL));
    CHECK_EQ(reach(ct, 6).success, 6);
    MUST(PtlGet(numbers, 0, 8, right, pt, 99, 0, NULL));
    ptl_ct_event_t value = reach(ct, 100); /* the failure ends it */
    CHECK(value.success == 6 && value.failure == 1);

    ptl_ct_event_t zero = {0, 0};
    MUST(PtlCTSet(ct, zero));
    ptl_handle_md_t bytes = new_md(ni, here, 64, counted | PTL_MD_EVENT_CT_BYTES, mine, ct);
    MUST(PtlPut(bytes, 0, 24, PTL_CT_ACK_REQ, right, pt, 1, 0, NULL, 0)); /* 24 leave, 16 arrive */
    CHECK_EQ(reach(ct, 40).success, 40);
    next_event(mine, PTL_EVENT_SEND);
    no_event(mine); /* an acknowledgment that only counts is no event */
    MUST(PtlGet(bytes, 0, 24, right, pt, 1, 12, NULL));
    CHECK_EQ(reach(ct, 44).success, 44);
    CHECK_EQ(next_event(mine, PTL_EVENT_REPLY).mlength, 4);
    MUST(PtlPut(bytes, 0, 24, PTL_CT_ACK_REQ, right, pt, 99, 0, NULL, 0));
    value = reach(ct, 1000);
    CHECK(value.success == 68 && value.failure == 1);
    next_event(mine, PTL_EVENT_SEND);

    /* An acknowledgment for nobody. */
    ptl_handle_md_t mute = new_md(ni, here, 64, 0, PTL_EQ_NONE, PTL_CT_NONE);
    MUST(PtlPut(mute, 0, 8, PTL_ACK_REQ, right, pt, 1, 0, NULL, 0));
    all();
    no_event(mine);
    MUST(PtlMEUnlink(open));
    MUST(PtlMDRelease(failures));
    MUST(PtlMDRelease(numbers));
    MUST(PtlMDRelease(bytes));
    MUST(PtlMDRelease(mute));
    MUST(PtlCTFree(ct));
    all();
}

static void refused_operations(const ptl_ni_limits_t *limits)
{
    static char large[1 << 16];
    uint64_t operand = 1;
    ptl_handle_md_t all_of_it = new_md(ni, large, sizeof large, 0, mine, PTL_CT_NONE);
#define ATOMIC(length, op, type) PtlAtomic(all_of_it, 0, length, PTL_ACK_REQ, right, pt, 1, 0, NULL, 0, op, type)
#define FETCH(length, op, type) PtlFetchAtomic(all_of_it, 64, all_of_it, 0, length, right, pt, 1, 0, NULL, 0, op, type)
#define SWAP(length, operand, op, type) \
    PtlSwap(all_of_it, 64, all_of_it, 0, length, right, pt, 1, 0, NULL, 0, operand, op, type)
    /* Swaps are no sums, and sums no swaps. */
    for (ptl_op_t op = PTL_SWAP; op <= PTL_MSWAP; op++) {
        REFUSED(PTL_ARG_INVALID, ATOMIC(8, op, PTL_UINT64_T));
        REFUSED(PTL_ARG_INVALID, FETCH(8, op, PTL_UINT64_T));
    }
    for (ptl_op_t op = PTL_MIN; op < PTL_SWAP; op++)
        REFUSED(PTL_ARG_INVALID, SWAP(8, &operand, op, PTL_UINT64_T));
    /* Bits of whole numbers only; an order of real ones only. */
    static const ptl_op_t bits[] = {PTL_LOR, PTL_LAND, PTL_BOR, PTL_BAND, PTL_LXOR, PTL_BXOR};
    for (unsigned i = 0; i < sizeof bits / sizeof *bits; i++) {
        REFUSED(PTL_ARG_INVALID, ATOMIC(8, bits[i], PTL_DOUBLE));
        REFUSED(PTL_ARG_INVALID, FETCH(8, bits[i], PTL_FLOAT_COMPLEX));
    }
    REFUSED(PTL_ARG_INVALID, ATOMIC(8, PTL_MIN, PTL_FLOAT_COMPLEX));
    REFUSED(PTL_ARG_INVALID, ATOMIC(16, PTL_MAX, PTL_DOUBLE_COMPLEX));
    REFUSED(PTL_ARG_INVALID, SWAP(8, &operand, PTL_CSWAP_LT, PTL_FLOAT_COMPLEX));
    REFUSED(PTL_ARG_INVALID, SWAP(8, &operand, PTL_MSWAP, PTL_DOUBLE));
    REFUSED(PTL_ARG_INVALID, ATOMIC(8, 200, PTL_UINT64_T));
    REFUSED(PTL_ARG_INVALID, ATOMIC(8, PTL_SUM, 200));
    /* Whole elements; of swaps that compare, one, and something to compare with. */
    REFUSED(PTL_ARG_INVALID, ATOMIC(12, PTL_SUM, PTL_UINT64_T));
    REFUSED(PTL_ARG_INVALID, FETCH(3, PTL_SUM, PTL_INT16_T));
    REFUSED(PTL_ARG_INVALID, SWAP(16, &operand, PTL_CSWAP, PTL_UINT64_T));
    REFUSED(PTL_ARG_INVALID, SWAP(8, NULL, PTL_CSWAP, PTL_UINT64_T));
    /* No longer than the interface says. */
    REFUSED(PTL_ARG_INVALID, ATOMIC(limits->max_atomic_size + 8, PTL_SUM, PTL_UINT64_T));
    REFUSED(PTL_ARG_INVALID, FETCH(limits->max_fetch_atomic_size + 8, PTL_SUM, PTL_UINT64_T));
    /* Handles and kinds of acknowledgments. */
    REFUSED(PTL_ARG_INVALID, PtlAtomic(ni, 0, 8, PTL_ACK_REQ, right, pt, 1, 0, NULL, 0, PTL_SUM, PTL_UINT64_T));
    REFUSED(PTL_ARG_INVALID, PtlAtomic(all_of_it, 0, 8, 9, right, pt, 1, 0, NULL, 0, PTL_SUM, PTL_UINT64_T));
    REFUSED(PTL_ARG_INVALID, PtlFetchAtomic(all_of_it, sizeof large, all_of_it, 0, 8, right, pt, 1, 0, NULL, 0, PTL_SUM, PTL_UINT64_T));
    REFUSED(PTL_ARG_INVALID, PtlFetchAtomic(all_of_it, 0, PTL_INVALID_HANDLE, 0, 8, right, pt, 1, 0, NULL, 0, PTL_SUM, PTL_UINT64_T));
    no_event(mine);
    MUST(PtlMDRelease(all_of_it));
    MUST(PtlAtomicSync());
}

/* A queue that is full loses its oldest events, and says so once. */
static void full_queues(void)
{
    ptl_handle_eq_t small = new_eq(ni, 4), both[2] = {mine, small};
    ptl_handle_md_t sends = new_md(ni, here, 64, 0, small, PTL_CT_NONE);
    ptl_handle_me_t open = append(entry(there[0], 64, PUTS | PTL_ME_EVENT_COMM_DISABLE, PTL_CT_NONE, 1), PTL_PRIORITY_LIST, NULL);
    ptl_event_t event;
    unsigned int which = 9, count = 0;
    int code;
    all();
    for (uintptr_t i = 0; i < 100; i++)
        MUST(PtlPut(sends, 0, 8, PTL_NO_ACK_REQ, right, pt, 1, 0, (void *)i, 0));
    CHECK_EQ(PtlEQPoll(both, 2, 0, &event, &which), PTL_EQ_DROPPED);
    CHECK(which == 1 && event.type == PTL_EVENT_SEND && event.user_ptr != NULL);
    for (void *last = event.user_ptr; (code = PtlEQGet(small, &event)) != PTL_EQ_EMPTY; last = event.user_ptr, count++)
        CHECK(code == PTL_OK && (uintptr_t)event.user_ptr == (uintptr_t)last + 1);
    CHECK(count >= 3 && count < 99); /* at least as many events as the queue was made for */
    REFUSED(PTL_EQ_EMPTY, PtlEQPoll(both, 2, 1, &event, &which));
    all();
    MUST(PtlMEUnlink(open));
    MUST(PtlMDRelease(sends));
    MUST(PtlEQFree(small));
}

/* A threshold is reached by successes and failures together, by an increment or a set; equal ones in the order of the calls. */
static void thresholds(void)
{
    ptl_handle_ct_t trigger = new_ct(ni), seen = new_ct(ni);
    ptl_ct_event_t one = {1, 0}, fault = {0, 1}, seven = {7, 0}, nine = {9, 0}, ten = {10, 0};
    MUST(PtlTriggeredCTInc(seen, one, trigger, 0));
    CHECK_EQ(now(seen).success, 1);
    MUST(PtlTriggeredCTInc(seen, one, trigger, 2));
    MUST(PtlCTInc(trigger, one));
    CHECK_EQ(now(seen).success, 1);
    MUST(PtlCTInc(trigger, fault));
    CHECK_EQ(now(seen).success, 2);
    MUST(PtlTriggeredCTSet(seen, seven, trigger, 5));
    MUST(PtlTriggeredCTInc(seen, fault, trigger, 5));
    MUST(PtlCTSet(trigger, nine));
    CHECK(now(seen).success == 7 && now(seen).failure == 1);
    /* An operation whose counter ends is none. */
    MUST(PtlTriggeredCTInc(seen, one, trigger, 10));
    MUST(PtlCTCancelTriggered(trigger));
    MUST(PtlCTCancelTriggered(trigger));
    MUST(PtlTriggeredCTInc(seen, one, trigger, 11));
    MUST(PtlCTSet(trigger, ten));
    MUST(PtlCTFree(trigger));
    CHECK_EQ(now(seen).success, 7);
    REFUSED(PTL_ARG_INVALID, PtlCTCancelTriggered(trigger));
    REFUSED(PTL_ARG_INVALID, PtlTriggeredCTInc(trigger, one, seen, 1));
    REFUSED(PTL_ARG_INVALID, PtlTriggeredCTSet(seen, one, trigger, 1));
    REFUSED(PTL_ARG_INVALID, PtlCTSet(trigger, one));
    REFUSED(PTL_ARG_INVALID, PtlCTInc(trigger, one));
    MUST(PtlCTFree(seen));
}

/* Whose object a handle names, the map, entries of the other kind of interface. */
static void objects(void)
{
    ptl_handle_ni_t found, lists;
    ptl_handle_ct_t ct = new_ct(ni);
    ptl_handle_le_t le;
    ptl_handle_me_t handle = append(entry(there[0], 8, PUTS, PTL_CT_NONE, 1), PTL_PRIORITY_LIST, NULL);
    ptl_handle_any_t all_kinds[] = {ni, theirs, ct, md, handle};
    for (unsigned i = 0; i < sizeof all_kinds / sizeof *all_kinds; i++) {
        MUST(PtlNIHandle(all_kinds[i], &found));
        CHECK(PtlHandleIsEqual(found, ni));
        CHECK_EQ(PtlHandleIsEqual(all_kinds[i], handle), all_kinds[i] == handle);
    }
    MUST(PtlMEUnlink(handle));
    MUST(PtlCTFree(ct));
    ptl_process_t some[2] = {{.phys = {0, 0}}, {.phys = {9, 9}}};
    ptl_size_t size = 0;
    MUST(PtlGetMap(ni, 1, some, &size));
    CHECK(size == (ptl_size_t)n && some[0].phys.nid == map[0].phys.nid && some[1].phys.pid == 9);

    lists = open_ni(PTL_NI_NO_MATCHING | PTL_NI_LOGICAL, NULL, NULL);
    ptl_handle_eq_t eq = new_eq(lists, 8);
    ptl_pt_index_t index = new_pt(lists, 0, eq, PTL_PT_ANY);
    ptl_me_t wrong = entry(there[0], 8, PTL_ME_OP_PUT, PTL_CT_NONE, 0);
    ptl_le_t good = {there[0], 8, PTL_CT_NONE, PTL_UID_ANY, PTL_LE_OP_PUT | PTL_LE_EVENT_LINK_DISABLE};
    REFUSED(PTL_ARG_INVALID, PtlMEAppend(lists, index, &wrong, PTL_PRIORITY_LIST, NULL, &handle));
    REFUSED(PTL_ARG_INVALID, PtlMESearch(lists, index, &wrong, PTL_SEARCH_ONLY, NULL));
    REFUSED(PTL_ARG_INVALID, PtlLESearch(ni, pt, &good, PTL_SEARCH_ONLY, NULL));
    /* Without matching the first header is the one that is found. */
    MUST(PtlLEAppend(lists, index, &good, PTL_OVERFLOW_LIST, NULL, &le));
    all();
    ptl_handle_md_t from = new_md(lists, here, 64, 0, PTL_EQ_NONE, PTL_CT_NONE);
    MUST(PtlPut(from, 0, 8, PTL_NO_ACK_REQ, right, index, 0, 0, NULL, 5));
    next_event(eq, PTL_EVENT_PUT);
    good.options |= PTL_LE_USE_ONCE;
    MUST(PtlLESearch(lists, index, &good, PTL_SEARCH_ONLY, "first"));
    ptl_event_t event = next_event(eq, PTL_EVENT_SEARCH);
    CHECK(event.ni_fail_type == PTL_NI_OK && event.hdr_data == 5 && event.mlength == 8 && !strcmp(event.user_ptr, "first"));
    MUST(PtlLESearch(lists, index, &good, PTL_SEARCH_DELETE, NULL));
    CHECK(next_event(eq, PTL_EVENT_PUT_OVERFLOW).start == there[0]);
    MUST(PtlLESearch(lists, index, &good, PTL_SEARCH_DELETE, NULL));
    CHECK_EQ(next_event(eq, PTL_EVENT_SEARCH).ni_fail_type, PTL_NI_NO_MATCH);
    MUST(PtlLEUnlink(le));
    all();
    MUST(PtlNIFini(lists));
}

/* Physical sources: a wildcard for either part. */
static void physical_sources(void)
{
    const unsigned int other = PTL_NI_MATCHING | PTL_NI_PHYSICAL;
    ptl_process_t left = map[(me + n - 1) % n];
    ptl_handle_ni_t physical = open_ni(other, NULL, NULL);
    ptl_handle_eq_t eq = new_eq(physical, 16), acks = new_eq(physical, 16);
    ptl_pt_index_t index = new_pt(physical, 0, eq, PTL_PT_ANY);
    ptl_handle_md_t from = new_md(physical, here, 64, PTL_MD_EVENT_SEND_DISABLE, acks, PTL_CT_NONE);
    ptl_process_t sources[] = {left, left, left, left};
    sources[1].phys.nid = PTL_NID_ANY;
    sources[2].phys.pid = PTL_PID_ANY;
    sources[3].phys.nid = left.phys.nid + 1;
    for (int i = 0; i < 4; i++) {
        ptl_me_t e = {there[i], 8, PTL_CT_NONE, PTL_UID_ANY, PUTS, sources[i], 1, 0, 0};
        ptl_handle_me_t handle;
        MUST(PtlMEAppend(physical, index, &e, PTL_PRIORITY_LIST, NULL, &handle));
        all();
        MUST(PtlPut(from, 0, 8, PTL_ACK_REQ, map[(me + 1) % n], index, 1, 0, NULL, 0));
        CHECK_EQ(next_event(acks, PTL_EVENT_ACK).ni_fail_type, i < 3 ? PTL_NI_OK : PTL_NI_DROPPED);
        all();
        if (i < 3) {
            ptl_event_t event = next_event(eq, PTL_EVENT_PUT);
            CHECK(event.start == there[i] && event.initiator.phys.nid == left.phys.nid && event.initiator.phys.pid == left.phys.pid);
        }
        no_event(eq);
        no_event(acks);
        MUST(PtlMEUnlink(handle));
    }
    all();
    MUST(PtlNIFini(physical));
}

/* A wish beyond what there may be is cut, and the least that the specification asks for is there. */
static ptl_ni_limits_t wishes(void)
{
    ptl_ni_limits_t wish, limits;
    memset(&wish, 0x7f, sizeof wish);
    ni = open_ni(kind, &wish, &limits);
    CHECK(limits.max_pt_index >= 63 && limits.max_entries > 0 && limits.max_entries <= wish.max_entries);
    CHECK(limits.max_waw_ordered_size >= 64 && limits.max_war_ordered_size >= 8 && limits.max_volatile_size >= 64);
    CHECK(limits.max_atomic_size >= 32 && limits.max_fetch_atomic_size >= 32 && limits.max_iovecs > 0);
    CHECK(limits.max_triggered_ops > 0 && limits.max_unexpected_headers > 0 && limits.max_list_size > 0);
    MUST(PtlNIFini(ni));
    ni = open_ni(kind, NULL, &limits);
    return limits;
}

int main(void)
{
    begin();
    ptl_ni_limits_t limits = wishes();
    right = name_of(kind, (me + 1) % n);
    theirs = new_eq(ni, 64);
    mine = new_eq(ni, 64);
    pt = new_pt(ni, 0, theirs, 5);
    md = new_md(ni, here, sizeof here, 0, mine, PTL_CT_NONE);
    into = new_md(ni, got, sizeof got, 0, mine, PTL_CT_NONE);
    all();
    events_of_entries();
    local_offsets();
    rights();
    overflows();
    events_of_descriptors();
    refused_operations(&limits);
    full_queues();
    thresholds();
    objects();
    physical_sources();
    no_event(theirs);
    no_event(mine);
    all();
    MUST(PtlNIFini(ni));
    return end();
}
