/* Wrong arguments: the code that the specification names, and nothing else happens. */
#include "ptl.h"

int main(void)
{
    ptl_handle_ni_t ni, again, logical;
    ptl_handle_eq_t eq;
    ptl_handle_ct_t ct;
    ptl_handle_md_t md;
    ptl_handle_any_t handle;
    ptl_pt_index_t pt;
    ptl_event_t event;
    ptl_ct_event_t value = {0, 0};
    ptl_process_t id;
    ptl_uid_t uid;
    ptl_sr_value_t status;
    ptl_size_t size;
    unsigned int which;
    char bytes[64];

    REFUSED(PTL_NO_INIT, PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_MATCHING | PTL_NI_PHYSICAL, PTL_PID_ANY, NULL, NULL, &ni));
    REFUSED(PTL_NO_INIT, PtlEQGet(1, &event));
    REFUSED(PTL_NO_INIT, PtlEQWait(1, &event));
    REFUSED(PTL_NO_INIT, PtlCTWait(1, 1, &value));
    REFUSED(PTL_NO_INIT, PtlAtomicSync());
    REFUSED(-1, runtime_get_rank());
    PtlFini();
    begin();

    const unsigned int physical = PTL_NI_MATCHING | PTL_NI_PHYSICAL;
    REFUSED(PTL_ARG_INVALID, PtlNIInit(PTL_IFACE_DEFAULT, physical, PTL_PID_ANY, NULL, NULL, NULL));
    REFUSED(PTL_ARG_INVALID, PtlNIInit(77, physical, PTL_PID_ANY, NULL, NULL, &ni));
    REFUSED(PTL_ARG_INVALID, PtlNIInit(PTL_IFACE_DEFAULT, 0, PTL_PID_ANY, NULL, NULL, &ni));
    REFUSED(PTL_ARG_INVALID, PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_MATCHING, PTL_PID_ANY, NULL, NULL, &ni));
    REFUSED(PTL_ARG_INVALID, PtlNIInit(PTL_IFACE_DEFAULT, 15, PTL_PID_ANY, NULL, NULL, &ni));
    REFUSED(PTL_ARG_INVALID, PtlNIInit(PTL_IFACE_DEFAULT, physical | 16, PTL_PID_ANY, NULL, NULL, &ni));
    REFUSED(PTL_ARG_INVALID, PtlNIInit(PTL_IFACE_DEFAULT, physical, 999, NULL, NULL, &ni));
    for (int other = 0; other < n; other++)
        if (other != me && map[other].phys.nid == map[me].phys.nid)
            REFUSED(PTL_PID_IN_USE,
                    PtlNIInit(PTL_IFACE_DEFAULT, physical, map[other].phys.pid, NULL, NULL, &ni));

    ptl_ni_limits_t wish, limits, limits_again;
    memset(&wish, 0, sizeof wish);
    wish.max_entries = 3;
    wish.max_mds = 2;
    wish.max_cts = 2;
    wish.max_eqs = 2;
    wish.max_list_size = 2;
    wish.max_triggered_ops = 1;
    wish.max_iovecs = 2;
    wish.max_msg_size = 50;
    wish.max_atomic_size = 32;
    MUST(PtlNIInit(PTL_IFACE_DEFAULT, physical, map[me].phys.pid, &wish, &limits, &ni));
    CHECK_EQ(limits.max_entries, 3);
    CHECK_EQ(limits.max_pt_index, 63);
    CHECK_EQ(limits.max_msg_size, 50);
    MUST(PtlNIInit(PTL_IFACE_DEFAULT, physical, PTL_PID_ANY, NULL, &limits_again, &again));
    CHECK(PtlHandleIsEqual(ni, again));
    CHECK(!memcmp(&limits, &limits_again, sizeof limits));
    MUST(PtlNIFini(again));
    MUST(PtlGetUid(ni, &uid));
    MUST(PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_MATCHING | PTL_NI_LOGICAL, PTL_PID_ANY, NULL, NULL, &logical));
    CHECK(!PtlHandleIsEqual(ni, logical));

    /* The map. */
    REFUSED(PTL_ARG_INVALID, PtlSetMap(ni, n, map));
    REFUSED(PTL_ARG_INVALID, PtlSetMap(logical, 0, map));
    REFUSED(PTL_ARG_INVALID, PtlSetMap(logical, n, NULL));
    REFUSED(PTL_ARG_INVALID, PtlSetMap(logical, PTL_SIZE_MAX, map));
    REFUSED(PTL_ARG_INVALID, PtlGetMap(ni, 0, NULL, &size));
    MUST(PtlGetMap(logical, 0, NULL, &size));
    CHECK_EQ(size, 0);
    MUST(PtlGetId(logical, &id));
    CHECK_EQ(id.rank, PTL_RANK_ANY);
    MUST(PtlSetMap(logical, n, map));
    ptl_process_t found[MAX_PROCESSES];
    MUST(PtlGetMap(logical, MAX_PROCESSES, found, &size));
    CHECK_EQ(size, n);
    CHECK(!memcmp(found, map, n * sizeof *map));

    /* Handles of another kind, of nothing, of the past. */
    const ptl_handle_any_t none[] = {PTL_INVALID_HANDLE, PTL_EQ_NONE, PTL_CT_NONE, 0, 12345, 0xe0000000u};
    for (unsigned i = 0; i < sizeof none / sizeof *none; i++) {
        REFUSED(PTL_ARG_INVALID, PtlNIFini(none[i]));
        REFUSED(PTL_ARG_INVALID, PtlEQFree(none[i]));
        REFUSED(PTL_ARG_INVALID, PtlCTFree(none[i]));
        REFUSED(PTL_ARG_INVALID, PtlMDRelease(none[i]));
        REFUSED(PTL_ARG_INVALID, PtlMEUnlink(none[i]));
        REFUSED(PTL_ARG_INVALID, PtlLEUnlink(none[i]));
        REFUSED(PTL_ARG_INVALID, PtlEQGet(none[i], &event));
        REFUSED(PTL_ARG_INVALID, PtlEQWait(none[i], &event));
        REFUSED(PTL_ARG_INVALID, PtlCTWait(none[i], 1, &value));
        REFUSED(PTL_ARG_INVALID, PtlNIHandle(none[i], &handle));
        REFUSED(PTL_ARG_INVALID, PtlStartBundle(none[i]));
    }
    MUST(PtlStartBundle(ni));
    MUST(PtlEndBundle(ni));
    REFUSED(PTL_ARG_INVALID, PtlNIStatus(ni, 3, &status));
    REFUSED(PTL_ARG_INVALID, PtlNIStatus(ni, 0, NULL));

    /* Limits, and what is null. */
    REFUSED(PTL_ARG_INVALID, PtlEQAlloc(ni, 4, NULL));
    eq = new_eq(ni, 1);
    MUST(PtlNIHandle(eq, &handle));
    CHECK(PtlHandleIsEqual(handle, ni));
    REFUSED(PTL_ARG_INVALID, PtlCTFree(eq));
    REFUSED(PTL_ARG_INVALID, PtlNIFini(eq));
    new_eq(ni, 0);
    REFUSED(PTL_NO_SPACE, PtlEQAlloc(ni, 1, &handle));
    ct = new_ct(ni);
    new_ct(ni);
    REFUSED(PTL_NO_SPACE, PtlCTAlloc(ni, &handle));
    REFUSED(PTL_ARG_INVALID, PtlEQGet(eq, NULL));
    REFUSED(PTL_ARG_INVALID, PtlEQPoll(NULL, 1, 0, &event, &which));
    REFUSED(PTL_ARG_INVALID, PtlEQPoll(&eq, 0, 0, &event, &which));
    REFUSED(PTL_ARG_INVALID, PtlEQPoll(&eq, 1, 0, &event, NULL));
    REFUSED(PTL_EQ_EMPTY, PtlEQPoll(&eq, 1, 5, &event, &which));
    REFUSED(PTL_ARG_INVALID, PtlCTGet(ct, NULL));
    MUST(PtlTriggeredCTInc(ct, (ptl_ct_event_t){1, 0}, ct, 5));
    REFUSED(PTL_NO_SPACE, PtlTriggeredCTInc(ct, (ptl_ct_event_t){1, 0}, ct, 5));

    ptl_md_t d = {bytes, sizeof bytes, 0, eq, ct};
    REFUSED(PTL_ARG_INVALID, PtlMDBind(ni, NULL, &md));
    REFUSED(PTL_ARG_INVALID, PtlMDBind(ni, &d, NULL));
    REFUSED(PTL_ARG_INVALID, PtlMDBind(logical, &d, &md)); /* its queue is of another interface */
    d.options = 1 << 20;
    REFUSED(PTL_ARG_INVALID, PtlMDBind(ni, &d, &md));
    d.options = 0;
    d.start = (void *)-8;
    REFUSED(PTL_ARG_INVALID, PtlMDBind(ni, &d, &md));
    d.options = PTL_IOVEC;
    d.length = 3;
    REFUSED(PTL_ARG_INVALID, PtlMDBind(ni, &d, &md));
    md = new_md(ni, bytes, sizeof bytes, 0, eq, ct);
    new_md(ni, NULL, 0, 0, PTL_EQ_NONE, PTL_CT_NONE);
    d = (ptl_md_t){bytes, sizeof bytes, 0, eq, ct};
    REFUSED(PTL_NO_SPACE, PtlMDBind(ni, &d, &handle));

    REFUSED(PTL_ARG_INVALID, PtlPTAlloc(ni, 0, eq, 64, &pt));
    REFUSED(PTL_ARG_INVALID, PtlPTAlloc(ni, 0, ct, 1, &pt));
    REFUSED(PTL_ARG_INVALID, PtlPTAlloc(ni, 16, eq, 1, &pt));
    REFUSED(PTL_ARG_INVALID, PtlPTAlloc(ni, 0, eq, 1, NULL));
    REFUSED(PTL_PT_EQ_NEEDED, PtlPTAlloc(ni, PTL_PT_FLOWCTRL, PTL_EQ_NONE, 1, &pt));
    for (ptl_pt_index_t i = 0; i < 64; i++)
        CHECK_EQ(new_pt(ni, 0, eq, PTL_PT_ANY), i);
    REFUSED(PTL_PT_FULL, PtlPTAlloc(ni, 0, eq, PTL_PT_ANY, &pt));
    REFUSED(PTL_PT_IN_USE, PtlPTAlloc(ni, 0, eq, 1, &pt));
    MUST(PtlPTFree(ni, 1));
    REFUSED(PTL_ARG_INVALID, PtlPTFree(ni, 1));
    REFUSED(PTL_ARG_INVALID, PtlPTEnable(ni, 1));
    REFUSED(PTL_ARG_INVALID, PtlPTDisable(ni, 99));
    CHECK_EQ(new_pt(ni, PTL_PT_ONLY_USE_ONCE | PTL_PT_ONLY_TRUNCATE, eq, 1), 1);

    ptl_me_t m = {bytes, 10, PTL_CT_NONE, PTL_UID_ANY, PTL_ME_OP_PUT, {0}, 0, 0, 0};
    ptl_le_t l = {bytes, 10, PTL_CT_NONE, PTL_UID_ANY, PTL_ME_OP_PUT};
    m.match_id = map[0];
    REFUSED(PTL_ARG_INVALID, PtlLEAppend(ni, 0, &l, PTL_PRIORITY_LIST, NULL, &handle));
    REFUSED(PTL_ARG_INVALID, PtlMEAppend(ni, 0, NULL, PTL_PRIORITY_LIST, NULL, &handle));
    REFUSED(PTL_ARG_INVALID, PtlMEAppend(ni, 0, &m, 2, NULL, &handle));
    REFUSED(PTL_ARG_INVALID, PtlMEAppend(ni, 0, &m, PTL_PRIORITY_LIST, NULL, NULL));
    REFUSED(PTL_ARG_INVALID, PtlMEAppend(ni, 1, &m, PTL_PRIORITY_LIST, NULL, &handle));
    REFUSED(PTL_ARG_INVALID, PtlMEAppend(ni, 64, &m, PTL_PRIORITY_LIST, NULL, &handle));
    REFUSED(PTL_ARG_INVALID, PtlMESearch(ni, 0, &m, 7, NULL));
    m.options = 1 << 30;
    REFUSED(PTL_ARG_INVALID, PtlMEAppend(ni, 0, &m, PTL_PRIORITY_LIST, NULL, &handle));
    m.options = PTL_ME_OP_PUT | PTL_ME_EVENT_LINK_DISABLE;
    m.ct_handle = eq;
    REFUSED(PTL_ARG_INVALID, PtlMEAppend(ni, 0, &m, PTL_PRIORITY_LIST, NULL, &handle));
    m.ct_handle = PTL_CT_NONE;
    ptl_handle_me_t first;
    MUST(PtlMEAppend(ni, 0, &m, PTL_PRIORITY_LIST, NULL, &first));
    MUST(PtlMEAppend(ni, 0, &m, PTL_PRIORITY_LIST, NULL, &handle));
    REFUSED(PTL_LIST_TOO_LONG, PtlMEAppend(ni, 0, &m, PTL_PRIORITY_LIST, NULL, &handle));
    MUST(PtlMEAppend(ni, 2, &m, PTL_PRIORITY_LIST, NULL, &handle));
    REFUSED(PTL_NO_SPACE, PtlMEAppend(ni, 2, &m, PTL_PRIORITY_LIST, NULL, &handle));
    REFUSED(PTL_IN_USE, PtlPTFree(ni, 0));
    REFUSED(PTL_ARG_INVALID, PtlLEUnlink(first));

    /* Operations. */
    REFUSED(PTL_ARG_INVALID, PtlPut(md, 60, 5, 0, map[0], 0, 0, 0, NULL, 0));
    REFUSED(PTL_ARG_INVALID, PtlPut(md, PTL_SIZE_MAX, 5, 0, map[0], 0, 0, 0, NULL, 0));
    REFUSED(PTL_ARG_INVALID, PtlPut(md, 0, 51, 0, map[0], 0, 0, 0, NULL, 0));
    REFUSED(PTL_ARG_INVALID, PtlPut(md, 0, 5, 4, map[0], 0, 0, 0, NULL, 0));
    id.phys.nid = 4000;
    id.phys.pid = 1;
    REFUSED(PTL_ARG_INVALID, PtlPut(md, 0, 5, 0, id, 0, 0, 0, NULL, 0));
    REFUSED(PTL_ARG_INVALID, PtlGet(md, 0, 65, map[0], 0, 0, 0, NULL));
    REFUSED(PTL_ARG_INVALID, PtlGet(eq, 0, 5, map[0], 0, 0, 0, NULL));
    ptl_handle_md_t far = new_md(logical, bytes, sizeof bytes, 0, PTL_EQ_NONE, PTL_CT_NONE);
    id.rank = n;
    REFUSED(PTL_ARG_INVALID, PtlPut(far, 0, 5, 0, id, 0, 0, 0, NULL, 0));
    REFUSED(PTL_ARG_INVALID, PtlFetchAtomic(md, 0, far, 0, 8, map[0], 0, 0, 0, NULL, 0, PTL_SUM, PTL_INT64_T));
    no_event(eq);

    MUST(PtlNIFini(logical));
    REFUSED(PTL_ARG_INVALID, PtlMDRelease(far));
    MUST(PtlNIFini(ni));
    REFUSED(PTL_ARG_INVALID, PtlNIFini(ni));
    REFUSED(PTL_ARG_INVALID, PtlGetId(ni, &id));
    MUST(PtlNIInit(PTL_IFACE_DEFAULT, physical, PTL_PID_ANY, NULL, NULL, &again));
    REFUSED(PTL_ARG_INVALID, PtlGetId(ni, &id)); /* that one was another */
    MUST(PtlNIFini(again));
    MUST(runtime_barrier());
    return end();
}
