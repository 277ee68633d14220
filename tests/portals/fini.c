/* PtlFini while threads of the process wait: their calls end, and so does the process. */
#include <pthread.h>
#include <unistd.h>
#include "ptl.h"

static ptl_handle_ni_t ni;
static ptl_handle_eq_t eq;
static ptl_handle_ct_t ct;

static void *wait_for_event(void *place)
{
    ptl_event_t event;
    *(int *)place = PtlEQWait(eq, &event);
    return NULL;
}

static void *poll_for_event(void *place)
{
    ptl_event_t event;
    unsigned int which;
    *(int *)place = PtlEQPoll(&eq, 1, 60000, &event, &which);
    return NULL;
}

static void *wait_for_count(void *place)
{
    ptl_ct_event_t value;
    *(int *)place = PtlCTWait(ct, 1, &value);
    return NULL;
}

int main(void)
{
    void *(*const waits[])(void *) = {wait_for_event, poll_for_event, wait_for_count, wait_for_count};
    enum { THREADS = sizeof waits / sizeof *waits };
    pthread_t threads[THREADS];
    int codes[THREADS];
    begin();
    ni = open_ni(PTL_NI_NO_MATCHING | PTL_NI_LOGICAL, NULL, NULL);
    eq = new_eq(ni, 4);
    ct = new_ct(ni);
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, waits[i], &codes[i]))
            abort();
    usleep(20000);
    PtlFini();
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        /* A call that begins when Portals has ended is told so. */
        CHECK(codes[i] == PTL_INTERRUPTED || codes[i] == PTL_NO_INIT);
    }
    REFUSED(PTL_NO_INIT, PtlNIFini(ni));
    return verdict(errors);
}
