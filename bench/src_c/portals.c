/* hpvmportals: small and large messages of Portals between ranks 0 and 1, and the same by MPI. Rank 0 prints one JSON object
 * per line, as hpvmbench does.
 *
 * Latency is half of a round trip: puts of which a counting event tells, puts of which an event queue tells, and gets,
 * which are a whole round trip. Bandwidth: WINDOW puts whose acknowledgments are counted. A job measures one of the two
 * models, so that neither pays for the other.
 *
 *     hpvmportals mpi|portals [--budget SECONDS_PER_POINT] [--max BYTES]
 */
#include "batches.h"
#include <mpi.h>
#include <portals4.h>
#include <portals4_runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCHES = 15, WINDOW = 16 };

static double budget = 0.2;
static long most = 1 << 20;
static int me;
static unsigned char *source, *target;

/* A call that has to work. */
#define MUST(call)                                                                                                     \
    do {                                                                                                               \
        int code_ = (call);                                                                                            \
        if (code_ != 0) {                                                                                              \
            fprintf(stderr, "hpvmportals: %s: %d\n", #call, code_);                                                    \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

static ptl_handle_ni_t ni;
static ptl_handle_ct_t came, fetched, acknowledged;
static ptl_handle_eq_t events;
static ptl_handle_md_t memory;
static ptl_pt_index_t counted, told, readable;
static ptl_process_t peer;
/* What the counting events have reached. */
static ptl_size_t arrivals, fetches, answers;

static void reach(ptl_handle_ct_t counter, ptl_size_t count)
{
    ptl_ct_event_t value;
    MUST(PtlCTWait(counter, count, &value));
    if (value.failure != 0) {
        fprintf(stderr, "hpvmportals: %lu operations failed\n", (unsigned long)value.failure);
        exit(1);
    }
}

static void put(ptl_pt_index_t index, long size, ptl_ack_req_t ack)
{
    MUST(PtlPut(memory, 0, (ptl_size_t)size, ack, peer, index, 7, 0, NULL, 0));
}

static void put_counted(long size)
{
    if (me == 0)
        put(counted, size, PTL_NO_ACK_REQ);
    reach(came, ++arrivals);
    if (me == 1)
        put(counted, size, PTL_NO_ACK_REQ);
}

static void put_told(long size)
{
    ptl_event_t event;
    if (me == 0)
        put(told, size, PTL_NO_ACK_REQ);
    MUST(PtlEQWait(events, &event));
    if (event.type != PTL_EVENT_PUT || event.mlength != (ptl_size_t)size)
        exit(1);
    if (me == 1)
        put(told, size, PTL_NO_ACK_REQ);
}

static void get(long size)
{
    if (me == 0) {
        MUST(PtlGet(memory, 0, (ptl_size_t)size, peer, readable, 7, 0, NULL));
        reach(acknowledged, ++answers);
    } else {
        reach(fetched, ++fetches);
    }
}

static void window_of_puts(long size)
{
    if (me == 0) {
        for (int i = 0; i < WINDOW; i++)
            put(counted, size, PTL_CT_ACK_REQ);
        reach(acknowledged, answers += WINDOW);
    } else {
        reach(came, arrivals += WINDOW);
    }
}

static void mpi_round_trip(long size)
{
    if (me == 0)
        MPI_Send(source, (int)size, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
    MPI_Recv(target, (int)size, MPI_BYTE, 1 - me, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (me == 1)
        MPI_Send(source, (int)size, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
}

static void mpi_window(long size)
{
    MPI_Request requests[WINDOW];
    for (int i = 0; i < WINDOW; i++) {
        if (me == 0)
            MPI_Isend(source, (int)size, MPI_BYTE, 1, 1, MPI_COMM_WORLD, &requests[i]);
        else
            MPI_Irecv(target, (int)size, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &requests[i]);
    }
    MPI_Waitall(WINDOW, requests, MPI_STATUSES_IGNORE);
    if (me == 1)
        MPI_Send(source, 1, MPI_BYTE, 0, 2, MPI_COMM_WORLD);
    else
        MPI_Recv(target, 1, MPI_BYTE, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static double timed(void (*run)(long), long size, long iterations)
{
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = MPI_Wtime();
    for (long i = 0; i < iterations; i++)
        run(size);
    return (MPI_Wtime() - begin) / (double)iterations;
}

/* Prints the median of some batches. `moved`: bytes for each run, of which the bandwidth is told in place of the time. */
static void measure(const char *mode, const char *op, void (*run)(long), long size, double half, double moved)
{
    double once, batch[BATCHES];
    timed(run, size, 8);
    once = timed(run, size, 8);
    long iterations = (long)(budget / BATCHES / (once > 1e-8 ? once : 1e-8)) + 1;
    MPI_Bcast(&iterations, 1, MPI_LONG, 0, MPI_COMM_WORLD);
    for (int i = 0; i < BATCHES; i++) {
        double seconds = timed(run, size, iterations);
        batch[i] = moved > 0 ? moved / seconds / 1e6 : seconds * half * 1e6;
    }
    qsort(batch, BATCHES, sizeof batch[0], ascending);
    if (me == 0) {
        printf("{\"mode\":\"%s\",\"op\":\"%s\",\"ranks\":2,\"size\":%ld,\"unit\":\"%s\",\"median\":%.6g,\"min\":%.6g,"
               "\"max\":%.6g,\"iters\":%ld,\"batches\":%d}\n",
               mode, op, size, moved > 0 ? "MB/s" : "us", batch[BATCHES / 2], batch[0], batch[BATCHES - 1], iterations,
               BATCHES);
        fflush(stdout);
    }
}

static void measure_all(int portals)
{
    static const long sizes[] = {8, 64, 1024, 3968, 16384, 65536, 1 << 20};
    for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0] && sizes[i] <= most; i++) {
        long size = sizes[i];
        if (portals) {
            measure("latency", "put", put_counted, size, 0.5, 0);
            measure("latency", "put, event", put_told, size, 0.5, 0);
            measure("latency", "get", get, size, 1, 0);
            measure("bandwidth", "put", window_of_puts, size, 1, (double)size * WINDOW);
        } else {
            measure("latency", "send", mpi_round_trip, size, 0.5, 0);
            measure("bandwidth", "send", mpi_window, size, 1, (double)size * WINDOW);
        }
    }
}

static ptl_pt_index_t entry(ptl_handle_eq_t queue, ptl_handle_ct_t counter, unsigned int options)
{
    ptl_pt_index_t index;
    ptl_handle_me_t handle;
    ptl_me_t me_entry = {target, (ptl_size_t)most, counter, PTL_UID_ANY, PTL_ME_OP_PUT | PTL_ME_OP_GET | options, {0}, 7, 0, 0};
    me_entry.match_id.rank = PTL_RANK_ANY;
    MUST(PtlPTAlloc(ni, 0, queue, PTL_PT_ANY, &index));
    MUST(PtlMEAppend(ni, index, &me_entry, PTL_PRIORITY_LIST, NULL, &handle));
    return index;
}

static void open_portals(void)
{
    ptl_process_t map[2];
    ptl_md_t md = {source, (ptl_size_t)most, PTL_MD_EVENT_CT_ACK | PTL_MD_EVENT_CT_REPLY, PTL_EQ_NONE, 0};
    MUST(runtime_get_nidpid_map(map, 2));
    MUST(PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_MATCHING | PTL_NI_LOGICAL, PTL_PID_ANY, NULL, NULL, &ni));
    MUST(PtlSetMap(ni, 2, map));
    MUST(PtlCTAlloc(ni, &came));
    MUST(PtlCTAlloc(ni, &fetched));
    MUST(PtlCTAlloc(ni, &acknowledged));
    MUST(PtlEQAlloc(ni, 64, &events));
    md.ct_handle = acknowledged;
    MUST(PtlMDBind(ni, &md, &memory));
    unsigned int silent = PTL_ME_EVENT_LINK_DISABLE;
    counted = entry(PTL_EQ_NONE, came, silent | PTL_ME_EVENT_CT_COMM);
    told = entry(events, PTL_CT_NONE, silent);
    readable = entry(PTL_EQ_NONE, fetched, silent | PTL_ME_EVENT_CT_COMM);
    peer.rank = (ptl_rank_t)(1 - me);
}

/* Whether the arguments are those that the head of this file names. */
static int options(int argc, char **argv)
{
    if (argc % 2 != 0 || (strcmp(argv[1], "portals") != 0 && strcmp(argv[1], "mpi") != 0))
        return 0;
    for (int i = 2; i < argc; i += 2) {
        char *end;
        if (strcmp(argv[i], "--budget") == 0)
            budget = strtod(argv[i + 1], &end);
        else if (strcmp(argv[i], "--max") == 0)
            most = strtol(argv[i + 1], &end, 10);
        else
            return 0;
        if (end == argv[i + 1] || *end != '\0')
            return 0;
    }
    return 1;
}

int main(int argc, char **argv)
{
    int portals = argc > 1 && strcmp(argv[1], "portals") == 0, ranks;
    int known = options(argc, argv);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (!known || ranks != 2 || budget <= 0 || most < 8 || most > 1 << 30) {
        fprintf(stderr, "hpvmportals: expected mpi or portals [--budget SECONDS] [--max BYTES], on 2 ranks\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    source = calloc(1, (size_t)most);
    target = calloc(1, (size_t)most);
    if (portals) {
        MUST(PtlInit());
        open_portals();
    }
    measure_all(portals);
    if (portals) {
        MUST(PtlMDRelease(memory));
        PtlNIFini(ni);
        PtlFini();
    }
    MPI_Finalize();
    return 0;
}
