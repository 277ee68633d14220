/* Several threads in one process: each waits for its own counting event or queue; one that is freed, or PtlAbort, ends waits. */
#include <pthread.h>
#include "ptl.h"

#define THREADS 4
#define ROUNDS 300
static const unsigned int kind = PTL_NI_NO_MATCHING | PTL_NI_LOGICAL;
static ptl_handle_ni_t ni;
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;

static void fault(const char *text, int code)
{
    pthread_mutex_lock(&guard);
    errors++;
    fprintf(stderr, "process %d: %s: %d\n", me, text, code);
    pthread_mutex_unlock(&guard);
}

struct worker {
    pthread_t thread;
    int number;
    ptl_handle_ct_t came;
    ptl_handle_eq_t eq;
    ptl_handle_md_t md;
};

/* A token goes round the processes, one for each thread. */
static void *rounds(void *argument)
{
    struct worker *w = argument;
    ptl_ct_event_t value;
    ptl_event_t event;
    int code;
    for (int i = 0; i < ROUNDS; i++) {
        if (me != 0 || i > 0)
            if ((code = PtlCTWait(w->came, me == 0 ? i : i + 1, &value)) != PTL_OK)
                fault("PtlCTWait", code);
        code = PtlPut(w->md, 0, 0, PTL_ACK_REQ, name_of(kind, (me + 1) % n), w->number, 0, 0, NULL, 0);
        if (code != PTL_OK)
            fault("PtlPut", code);
        for (int k = 0; k < 2; k++)
            if ((code = PtlEQWait(w->eq, &event)) != PTL_OK || event.ni_fail_type != PTL_NI_OK)
                fault("PtlEQWait", code);
    }
    if (me == 0 && (code = PtlCTWait(w->came, ROUNDS, &value)) != PTL_OK)
        fault("PtlCTWait", code);
    return NULL;
}

static int over; /* waits that have ended; under the guard */

static void *expect(void *argument)
{
    struct worker *w = argument;
    ptl_event_t event;
    int code = PtlEQWait(w->eq, &event);
    /* One that begins when its queue has gone finds none. */
    if (code != w->number && !(w->number == PTL_INTERRUPTED && code == PTL_ARG_INVALID))
        fault("a wait that was to end with another code", code);
    pthread_mutex_lock(&guard);
    over++;
    pthread_mutex_unlock(&guard);
    return NULL;
}

static int all_over(void)
{
    pthread_mutex_lock(&guard);
    int all = over == 2;
    pthread_mutex_unlock(&guard);
    return all;
}

static void ended(int wanted)
{
    struct worker waiting[2];
    over = 0;
    for (int i = 0; i < 2; i++) {
        waiting[i].number = wanted;
        waiting[i].eq = new_eq(ni, 4);
        pthread_create(&waiting[i].thread, NULL, expect, &waiting[i]);
    }
    struct timespec pause = {0, 2000000}; /* most of them wait by then; the test holds either way */
    nanosleep(&pause, NULL);
    for (int i = 0; i < 2; i++)
        if (wanted == PTL_INTERRUPTED)
            MUST(PtlEQFree(waiting[i].eq));
    /* Who begins to wait after it is not aborted by it. */
    while (wanted == PTL_ABORTED && !all_over()) {
        PtlAbort();
        nanosleep(&pause, NULL);
    }
    for (int i = 0; i < 2; i++)
        pthread_join(waiting[i].thread, NULL);
}

int main(void)
{
    begin();
    ni = open_ni(kind, NULL, NULL);
    struct worker workers[THREADS];
    for (int i = 0; i < THREADS; i++) {
        struct worker *w = &workers[i];
        w->number = i;
        w->came = new_ct(ni);
        w->eq = new_eq(ni, 8);
        new_pt(ni, 0, PTL_EQ_NONE, i);
        append_to(ni, 0, i, NULL, 0, PTL_LE_OP_PUT | PTL_LE_EVENT_CT_COMM, w->came, 0, 0, PTL_PRIORITY_LIST, NULL);
        w->md = new_md(ni, NULL, 0, 0, w->eq, PTL_CT_NONE);
    }
    MUST(runtime_barrier());
    for (int i = 0; i < THREADS; i++)
        pthread_create(&workers[i].thread, NULL, rounds, &workers[i]);
    for (int i = 0; i < THREADS; i++)
        pthread_join(workers[i].thread, NULL);
    MUST(runtime_barrier());
    ended(PTL_INTERRUPTED);
    ended(PTL_ABORTED);
    MUST(runtime_barrier());
    MUST(PtlNIFini(ni));
    return end();
}
