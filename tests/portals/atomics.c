/* Atomic operations of every kind, fetching or not, swaps, and counts that many processes add up at once. */
#include "ptl.h"

#define PT 9
#define ROUNDS 200

static ptl_handle_ni_t ni;
static ptl_handle_eq_t eq;
static const unsigned int kind = PTL_NI_MATCHING | PTL_NI_LOGICAL;

/* What the next process shows. */
static union {
    int8_t i8;
    uint16_t u16;
    int32_t i32;
    uint64_t u64;
    float f;
    double d;
    long double ld;
    double complex_d[2];
} shown;

static void fetch(ptl_handle_md_t get, ptl_handle_md_t put, ptl_size_t length, ptl_op_t op, ptl_datatype_t type)
{
    ptl_process_t to = name_of(kind, (me + 1) % n);
    MUST(PtlFetchAtomic(get, 0, put, 0, length, to, PT, 1, 0, NULL, 0, op, type));
    CHECK_EQ(next_event(eq, PTL_EVENT_SEND).ni_fail_type, PTL_NI_OK);
    ptl_event_t event = next_event(eq, PTL_EVENT_REPLY);
    CHECK_EQ(event.ni_fail_type, PTL_NI_OK);
    CHECK_EQ(event.mlength, length);
}

/* One operation on each type, at the next process. */
#define FETCH(type, ptl_type, field, op, before, with, after)                                                  \
    do {                                                                                                       \
        type sent = (with), old = 0;                                                                           \
        shown.field = (before);                                                                                \
        MUST(runtime_barrier());                                                                               \
        ptl_handle_md_t get = new_md(ni, &old, sizeof old, 0, eq, PTL_CT_NONE);                                \
        ptl_handle_md_t put = new_md(ni, &sent, sizeof sent, 0, eq, PTL_CT_NONE);                              \
        fetch(get, put, sizeof sent, op, ptl_type);                                                            \
        MUST(runtime_barrier());                                                                               \
        CHECK(old == (type)(before));                                                                          \
        CHECK(shown.field == (type)(after));                                                                   \
        MUST(PtlMDRelease(get));                                                                               \
        MUST(PtlMDRelease(put));                                                                               \
    } while (0)

#define SWAP(op, operand_value, before, with, after)                                                           \
    do {                                                                                                       \
        uint64_t sent = (with), old = 0, operand = (operand_value);                                            \
        shown.u64 = (before);                                                                                  \
        MUST(runtime_barrier());                                                                               \
        ptl_handle_md_t get = new_md(ni, &old, 8, 0, eq, PTL_CT_NONE);                                         \
        ptl_handle_md_t put = new_md(ni, &sent, 8, 0, eq, PTL_CT_NONE);                                        \
        MUST(PtlSwap(get, 0, put, 0, 8, name_of(kind, (me + 1) % n), PT, 1, 0, NULL, 0, &operand, op,         \
                     PTL_UINT64_T));                                                                           \
        CHECK_EQ(next_event(eq, PTL_EVENT_SEND).ni_fail_type, PTL_NI_OK);                                      \
        CHECK_EQ(next_event(eq, PTL_EVENT_REPLY).ni_fail_type, PTL_NI_OK);                                     \
        MUST(runtime_barrier());                                                                               \
        CHECK_EQ(old, before);                                                                                 \
        CHECK_EQ(shown.u64, after);                                                                            \
        MUST(PtlMDRelease(get));                                                                               \
        MUST(PtlMDRelease(put));                                                                               \
    } while (0)

static void values(void)
{
    FETCH(int8_t, PTL_INT8_T, i8, PTL_SUM, 100, 50, -106);
    FETCH(uint16_t, PTL_UINT16_T, u16, PTL_PROD, 300, 300, 90000 % 65536);
    FETCH(int32_t, PTL_INT32_T, i32, PTL_MIN, -3, -4, -4);
    FETCH(int32_t, PTL_INT32_T, i32, PTL_MAX, -3, -4, -3);
    FETCH(uint64_t, PTL_UINT64_T, u64, PTL_MAX, 1, UINT64_MAX, UINT64_MAX);
    FETCH(int32_t, PTL_INT32_T, i32, PTL_LOR, 0, 6, 1);
    FETCH(int32_t, PTL_INT32_T, i32, PTL_LAND, 6, 0, 0);
    FETCH(int32_t, PTL_INT32_T, i32, PTL_LXOR, 6, 9, 0);
    FETCH(uint64_t, PTL_UINT64_T, u64, PTL_BOR, 0xf0, 0x0f, 0xff);
    FETCH(uint64_t, PTL_UINT64_T, u64, PTL_BAND, 0xf0, 0x3c, 0x30);
    FETCH(uint64_t, PTL_UINT64_T, u64, PTL_BXOR, 0xff, 0x0f, 0xf0);
    FETCH(float, PTL_FLOAT, f, PTL_SUM, 1.5f, 2.25f, 3.75f);
    FETCH(double, PTL_DOUBLE, d, PTL_PROD, 1.5, -2, -3);
    FETCH(long double, PTL_LONG_DOUBLE, ld, PTL_SUM, 1.5L, 0x1p-60L, 1.5L + 0x1p-60L);
    SWAP(PTL_SWAP, 0, 5, 9, 9);
    SWAP(PTL_CSWAP, 5, 5, 9, 9);
    SWAP(PTL_CSWAP, 4, 5, 9, 5);
    SWAP(PTL_CSWAP_NE, 4, 5, 9, 9);
    SWAP(PTL_CSWAP_LE, 5, 5, 9, 9);
    SWAP(PTL_CSWAP_LT, 5, 5, 9, 5);
    SWAP(PTL_CSWAP_GE, 5, 5, 9, 9);
    SWAP(PTL_CSWAP_GT, 6, 5, 9, 9);
    SWAP(PTL_MSWAP, 0x0f, 0xab, 0x12, 0xa2);
}

/* All add to the elements of process 0, with events there. */
static void together(void)
{
    static uint64_t sums[64], ones[64];
    ptl_handle_eq_t others = new_eq(ni, n * ROUNDS + 8);
    ptl_handle_ct_t acks = new_ct(ni);
    ptl_pt_index_t pt = new_pt(ni, 0, others, 11);
    ptl_handle_me_t entry = append_to(ni, 1, pt, sums, sizeof sums, PTL_ME_OP_PUT | PTL_ME_EVENT_LINK_DISABLE,
                                      PTL_CT_NONE, 0, 0, PTL_PRIORITY_LIST, &entry);
    ptl_handle_md_t md = new_md(ni, ones, sizeof ones, PTL_MD_EVENT_CT_ACK, PTL_EQ_NONE, acks);
    for (int i = 0; i < 64; i++)
        ones[i] = i;
    MUST(runtime_barrier());
    for (int i = 0; i < ROUNDS; i++)
        MUST(PtlAtomic(md, 0, sizeof ones, PTL_CT_ACK_REQ, name_of(kind, 0), pt, 0, 0, NULL, i, PTL_SUM,
                       PTL_UINT64_T));
    ptl_ct_event_t value = reach(acks, ROUNDS);
    CHECK_EQ(value.success, ROUNDS);
    CHECK_EQ(value.failure, 0);
    MUST(runtime_barrier());
    if (me == 0) {
        uint64_t last[MAX_PROCESSES];
        memset(last, 0xff, sizeof last);
        for (int i = 0; i < n * ROUNDS; i++) {
            ptl_event_t event = next_event(others, PTL_EVENT_ATOMIC);
            CHECK_EQ(event.atomic_operation, PTL_SUM);
            CHECK_EQ(event.atomic_type, PTL_UINT64_T);
            /* In the order of the calls. */
            CHECK_EQ(event.hdr_data, last[event.initiator.rank] + 1);
            last[event.initiator.rank] = event.hdr_data;
        }
        for (int i = 0; i < 64; i++)
            CHECK_EQ(sums[i], (uint64_t)i * n * ROUNDS);
    }
    no_event(others);
    MUST(PtlMDRelease(md));
    MUST(PtlMEUnlink(entry));
    MUST(PtlPTFree(ni, pt));
}

/* An entry without room for the last element: whole elements only. */
static void truncated(void)
{
    static uint32_t small[3], mine[3] = {1, 2, 3};
    ptl_pt_index_t pt = new_pt(ni, 0, PTL_EQ_NONE, 12);
    ptl_handle_me_t entry = append_to(ni, 1, pt, small, 11, PTL_ME_OP_PUT | PTL_ME_OP_GET, PTL_CT_NONE, 0, 0,
                                      PTL_PRIORITY_LIST, NULL);
    ptl_handle_md_t md = new_md(ni, mine, sizeof mine, 0, eq, PTL_CT_NONE);
    MUST(runtime_barrier());
    MUST(PtlAtomic(md, 0, 12, PTL_ACK_REQ, name_of(kind, (me + 1) % n), pt, 0, 0, NULL, 0, PTL_SUM, PTL_UINT32_T));
    next_event(eq, PTL_EVENT_SEND);
    CHECK_EQ(next_event(eq, PTL_EVENT_ACK).mlength, 8);
    MUST(runtime_barrier());
    CHECK_EQ(small[1], 2);
    CHECK_EQ(small[2], 0);
    MUST(PtlMDRelease(md));
    MUST(PtlMEUnlink(entry));
    MUST(PtlPTFree(ni, pt));
}

static void refused(void)
{
    static uint64_t word;
    ptl_handle_md_t md = new_md(ni, &word, 8, 0, eq, PTL_CT_NONE);
    ptl_process_t to = name_of(kind, 0);
    REFUSED(PTL_ARG_INVALID, PtlAtomic(md, 0, 8, 0, to, PT, 1, 0, NULL, 0, PTL_BOR, PTL_DOUBLE));
    REFUSED(PTL_ARG_INVALID, PtlAtomic(md, 0, 7, 0, to, PT, 1, 0, NULL, 0, PTL_SUM, PTL_INT64_T));
    REFUSED(PTL_ARG_INVALID, PtlAtomic(md, 0, 8, 0, to, PT, 1, 0, NULL, 0, PTL_OP_LAST, PTL_INT64_T));
    REFUSED(PTL_ARG_INVALID, PtlAtomic(md, 0, 8, 0, to, PT, 1, 0, NULL, 0, PTL_SUM, PTL_DATATYPE_LAST));
    REFUSED(PTL_ARG_INVALID, PtlAtomic(md, 0, 8, 0, to, PT, 1, 0, NULL, 0, PTL_CSWAP, PTL_INT64_T));
    REFUSED(PTL_ARG_INVALID, PtlAtomic(md, 0, 8, 9, to, PT, 1, 0, NULL, 0, PTL_SUM, PTL_INT64_T));
    REFUSED(PTL_ARG_INVALID, PtlFetchAtomic(md, 0, md, 0, 8, to, PT, 1, 0, NULL, 0, PTL_CSWAP, PTL_INT64_T));
    REFUSED(PTL_ARG_INVALID, PtlSwap(md, 0, md, 0, 8, to, PT, 1, 0, NULL, 0, NULL, PTL_CSWAP, PTL_INT64_T));
    REFUSED(PTL_ARG_INVALID, PtlSwap(md, 0, md, 0, 8, to, PT, 1, 0, NULL, 0, &word, PTL_CSWAP, PTL_INT32_T));
    REFUSED(PTL_ARG_INVALID, PtlSwap(md, 0, md, 0, 8, to, PT, 1, 0, NULL, 0, &word, PTL_SUM, PTL_INT64_T));
    no_event(eq);
    MUST(PtlMDRelease(md));
}

int main(void)
{
    begin();
    ni = open_ni(kind, NULL, NULL);
    eq = new_eq(ni, 16);
    ptl_pt_index_t pt = new_pt(ni, 0, PTL_EQ_NONE, PT);
    ptl_handle_me_t entry = append_to(ni, 1, pt, &shown, sizeof shown, PTL_ME_OP_PUT | PTL_ME_OP_GET, PTL_CT_NONE, 1,
                                      0, PTL_PRIORITY_LIST, NULL);
    MUST(runtime_barrier());
    values();
    together();
    truncated();
    refused();
    MUST(runtime_barrier());
    MUST(PtlAtomicSync());
    MUST(PtlMEUnlink(entry));
    MUST(PtlNIFini(ni));
    return end();
}
