/* What the programs of Portals share: begin and end, and the calls that must work. */
#ifndef PTL_H
#define PTL_H

#include <portals4.h>
#include <portals4_runtime.h>

#define WHO "process"
#include "../model.h"

/* A call that must work. */
#define MUST(call) CHECK_EQ(call, PTL_OK)
/* A call that must be refused. */
#define REFUSED(code, call) CHECK_EQ(call, code)

#define MAX_PROCESSES 64
static ptl_process_t map[MAX_PROCESSES];

static inline void begin(void)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    MUST(PtlInit());
    me = runtime_get_rank();
    n = runtime_get_size();
    if (n > MAX_PROCESSES)
        abort();
    MUST(runtime_get_nidpid_map(map, n));
}

static inline ptl_handle_ni_t open_ni(unsigned int options, const ptl_ni_limits_t *desired, ptl_ni_limits_t *actual)
{
    ptl_handle_ni_t ni = PTL_INVALID_HANDLE;
    MUST(PtlNIInit(PTL_IFACE_DEFAULT, options, PTL_PID_ANY, desired, actual, &ni));
    if (options & PTL_NI_LOGICAL)
        MUST(PtlSetMap(ni, n, map));
    return ni;
}

/* How an interface names a process. */
static inline ptl_process_t name_of(unsigned int options, int process)
{
    ptl_process_t id = map[process];
    if (options & PTL_NI_LOGICAL)
        id.rank = process;
    return id;
}

static inline ptl_handle_eq_t new_eq(ptl_handle_ni_t ni, int count)
{
    ptl_handle_eq_t eq = PTL_INVALID_HANDLE;
    MUST(PtlEQAlloc(ni, count, &eq));
    return eq;
}

static inline ptl_handle_ct_t new_ct(ptl_handle_ni_t ni)
{
    ptl_handle_ct_t ct = PTL_INVALID_HANDLE;
    MUST(PtlCTAlloc(ni, &ct));
    return ct;
}

static inline ptl_handle_md_t new_md(ptl_handle_ni_t ni, void *start, ptl_size_t length, unsigned int options,
                                     ptl_handle_eq_t eq, ptl_handle_ct_t ct)
{
    ptl_md_t md = {start, length, options, eq, ct};
    ptl_handle_md_t handle = PTL_INVALID_HANDLE;
    MUST(PtlMDBind(ni, &md, &handle));
    return handle;
}

static inline ptl_pt_index_t new_pt(ptl_handle_ni_t ni, unsigned int options, ptl_handle_eq_t eq, ptl_pt_index_t wanted)
{
    ptl_pt_index_t index = PTL_PT_ANY;
    MUST(PtlPTAlloc(ni, options, eq, wanted, &index));
    if (wanted != PTL_PT_ANY)
        CHECK_EQ(index, wanted);
    return index;
}

/* A match entry for everybody; without matching, the list entry with the same content. */
static inline ptl_handle_me_t append_to(ptl_handle_ni_t ni, int matching, ptl_pt_index_t pt, void *start, ptl_size_t length,
                                 unsigned int options, ptl_handle_ct_t ct, ptl_match_bits_t bits,
                                 ptl_match_bits_t ignore, ptl_list_t list, void *user)
{
    ptl_handle_me_t handle = PTL_INVALID_HANDLE;
    if (matching) {
        ptl_me_t entry = {start, length, ct, PTL_UID_ANY, options, {0}, bits, ignore, 0};
        ptl_process_t id;
        MUST(PtlGetId(ni, &id));
        entry.match_id.phys.nid = PTL_NID_ANY;
        entry.match_id.phys.pid = PTL_PID_ANY;
        ptl_size_t size;
        if (PtlGetMap(ni, 0, NULL, &size) == PTL_OK)
            entry.match_id.rank = PTL_RANK_ANY;
        MUST(PtlMEAppend(ni, pt, &entry, list, user, &handle));
    } else {
        ptl_le_t entry = {start, length, ct, PTL_UID_ANY, options};
        MUST(PtlLEAppend(ni, pt, &entry, list, user, &handle));
    }
    return handle;
}

static inline ptl_event_t next_event(ptl_handle_eq_t eq, ptl_event_kind_t kind)
{
    ptl_event_t event;
    memset(&event, 0xff, sizeof event);
    MUST(PtlEQWait(eq, &event));
    CHECK_EQ(event.type, kind);
    return event;
}

static inline void no_event(ptl_handle_eq_t eq)
{
    ptl_event_t event;
    REFUSED(PTL_EQ_EMPTY, PtlEQGet(eq, &event));
}

static inline ptl_ct_event_t reach(ptl_handle_ct_t ct, ptl_size_t test)
{
    ptl_ct_event_t value = {0, 0};
    MUST(PtlCTWait(ct, test, &value));
    return value;
}

/* Ends, and says what all have found. */
static inline int end(void)
{
    ptl_handle_ni_t ni;
    ptl_process_t first = map[0];
    /* The errors of all, by Portals itself. */
    static uint64_t total, mine;
    MUST(PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_NO_MATCHING | PTL_NI_PHYSICAL, PTL_PID_ANY, NULL, NULL, &ni));
    ptl_handle_ct_t ct = new_ct(ni), done = new_ct(ni);
    ptl_handle_le_t le;
    ptl_le_t entry = {&total, sizeof total, ct, PTL_UID_ANY, PTL_LE_OP_PUT | PTL_LE_EVENT_CT_COMM};
    ptl_pt_index_t pt = new_pt(ni, 0, PTL_EQ_NONE, 63);
    MUST(PtlLEAppend(ni, pt, &entry, PTL_PRIORITY_LIST, NULL, &le));
    MUST(runtime_barrier());
    mine = errors;
    ptl_handle_md_t md = new_md(ni, &mine, sizeof mine, PTL_MD_EVENT_CT_ACK, PTL_EQ_NONE, done);
    MUST(PtlAtomic(md, 0, sizeof mine, PTL_CT_ACK_REQ, first, pt, 0, 0, NULL, 0, PTL_SUM, PTL_UINT64_T));
    ptl_ct_event_t value = reach(done, 1);
    CHECK_EQ(value.success, 1);
    if (me == 0)
        reach(ct, n);
    MUST(runtime_barrier());
    MUST(PtlMDRelease(md));
    MUST(PtlLEUnlink(le));
    MUST(PtlPTFree(ni, pt));
    MUST(PtlNIFini(ni));
    PtlFini();
    REFUSED(PTL_NO_INIT, PtlCTFree(ct));
    return verdict(me == 0 ? (int)total + (errors - (int)mine) : 0);
}

#endif
