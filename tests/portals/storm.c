/* All to all, many operations at once: puts of mixed lengths with their checksums, gets, atomic additions; every event is counted. */
#include "ptl.h"

#define SLOT 20000
#define ROUNDS 60
static const unsigned int kind = PTL_NI_MATCHING | PTL_NI_PHYSICAL;

static uint64_t seed;
static uint64_t draw(void)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return seed >> 33;
}

static uint32_t sum(const unsigned char *bytes, size_t length)
{
    uint32_t total = 1;
    for (size_t i = 0; i < length; i++)
        total = total * 31 + bytes[i];
    return total;
}

int main(int argc, char **argv)
{
    begin();
    seed = (argc > 1 ? strtoull(argv[1], NULL, 10) : 1) * 1000 + me;
    ptl_handle_ni_t ni = open_ni(kind, NULL, NULL);
    ptl_handle_eq_t came = new_eq(ni, 3 * n * ROUNDS + 8), mine = new_eq(ni, 8 * n * ROUNDS + 8);
    new_pt(ni, 0, came, 3);
    /* For each process and round a place of its own. */
    unsigned char *places = calloc((size_t)n * ROUNDS, SLOT), *sent = malloc((size_t)n * ROUNDS * SLOT);
    for (int from = 0; from < n; from++) {
        ptl_me_t entry = {places + (size_t)from * ROUNDS * SLOT, (ptl_size_t)ROUNDS * SLOT, PTL_CT_NONE, PTL_UID_ANY,
                          PTL_ME_OP_PUT | PTL_ME_OP_GET | PTL_ME_EVENT_LINK_DISABLE, map[from], 1, 0, 0};
        ptl_handle_me_t handle;
        MUST(PtlMEAppend(ni, 3, &entry, PTL_PRIORITY_LIST, NULL, &handle));
    }
    static uint64_t total, one = 1;
    append_to(ni, 1, 3, &total, 8, PTL_ME_OP_PUT | PTL_ME_EVENT_LINK_DISABLE, PTL_CT_NONE, 2, 0, PTL_PRIORITY_LIST,
              NULL);
    ptl_handle_md_t md = new_md(ni, sent, (ptl_size_t)n * ROUNDS * SLOT, 0, mine, PTL_CT_NONE);
    ptl_handle_md_t ones = new_md(ni, &one, 8, 0, mine, PTL_CT_NONE);
    MUST(runtime_barrier());
    for (int round = 0; round < ROUNDS; round++)
        for (int to = 0; to < n; to++) {
            unsigned char *from = sent + ((size_t)to * ROUNDS + round) * SLOT;
            size_t length = draw() % 4 == 0 ? draw() % SLOT : draw() % 300;
            for (size_t i = 0; i < length; i++)
                from[i] = (unsigned char)draw();
            MUST(PtlPut(md, from - sent, length, PTL_ACK_REQ, map[to], 3, 1, (ptl_size_t)round * SLOT, NULL,
                        (ptl_hdr_data_t)round << 32 | sum(from, length)));
            MUST(PtlAtomic(ones, 0, 8, PTL_ACK_REQ, map[to], 3, 2, 0, NULL, 0, PTL_SUM, PTL_UINT64_T));
        }
    int puts = 0, atomics = 0, sends = 0, acks = 0;
    ptl_handle_eq_t both[2] = {came, mine};
    while (puts + atomics < 2 * n * ROUNDS || sends + acks < 4 * n * ROUNDS) {
        ptl_event_t event;
        unsigned int which;
        MUST(PtlEQPoll(both, 2, PTL_TIME_FOREVER, &event, &which));
        CHECK_EQ(event.ni_fail_type, PTL_NI_OK);
        if (event.type == PTL_EVENT_PUT) {
            puts++;
            CHECK_EQ(sum(event.start, event.mlength), event.hdr_data & 0xffffffff);
            CHECK_EQ(event.remote_offset, (event.hdr_data >> 32) * SLOT);
        }
        atomics += event.type == PTL_EVENT_ATOMIC;
        sends += event.type == PTL_EVENT_SEND;
        acks += event.type == PTL_EVENT_ACK;
    }
    CHECK_EQ(puts, n * ROUNDS);
    CHECK_EQ(atomics, n * ROUNDS);
    CHECK_EQ(sends, 2 * n * ROUNDS);
    CHECK_EQ(acks, 2 * n * ROUNDS);
    CHECK_EQ(total, n * ROUNDS);
    MUST(runtime_barrier());
    /* Everything back again. */
    unsigned char *back = malloc((size_t)n * ROUNDS * SLOT);
    ptl_handle_md_t gets = new_md(ni, back, (ptl_size_t)n * ROUNDS * SLOT, 0, mine, PTL_CT_NONE);
    for (int to = 0; to < n; to++)
        MUST(PtlGet(gets, (ptl_size_t)to * ROUNDS * SLOT, (ptl_size_t)ROUNDS * SLOT, map[to], 3, 1, 0, NULL));
    for (int i = 0; i < n; i++)
        CHECK_EQ(next_event(mine, PTL_EVENT_REPLY).mlength, (ptl_size_t)ROUNDS * SLOT);
    for (int i = 0; i < n; i++)
        CHECK_EQ(next_event(came, PTL_EVENT_GET).mlength, (ptl_size_t)ROUNDS * SLOT);
    no_event(came);
    no_event(mine);
    MUST(runtime_barrier());
    MUST(PtlNIFini(ni));
    free(places);
    free(sent);
    free(back);
    return end();
}
