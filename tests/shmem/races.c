/* HPVM_CHECK finds accesses to the same symmetric bytes that nothing orders, and none in programs that order theirs. The
 * argument says what is wrong; without one all orders that the check knows or does not follow are used. */
#include "osh.h"

static long cell, flag;
static uint64_t signal_word;

static void two_pes(const char *what, long *heap)
{
    if (strcmp(what, "puts") == 0)
        shmem_long_p(heap + 3, me, 0);
    if (strcmp(what, "static") == 0)
        shmem_long_p(&cell, me, n - 1);
    if (strcmp(what, "put_get") == 0 && me == 0)
        shmem_long_p(heap, 1, 0);
    if (strcmp(what, "put_get") == 0 && me == 1)
        shmem_long_g(heap, 0);
    if (strcmp(what, "put_atomic") == 0 && me == 0)
        shmem_long_p(heap, 1, 0);
    if (strcmp(what, "put_atomic") == 0 && me == 1)
        shmem_long_atomic_inc(heap, 0);
    if (strcmp(what, "put_fetch") == 0 && me == 0)
        shmem_long_p(heap, 1, 0);
    if (strcmp(what, "put_fetch") == 0 && me == 1)
        shmem_long_atomic_fetch(heap, 0);
    if (strcmp(what, "strided") == 0) {
        long values[4] = {1, 2, 3, 4};
        /* Of PE 0 elements 0, 2, 4, 6, of PE 1 elements 1, 4, 7, 10. */
        shmem_long_iput(heap + me, values, 2 + me, 1, 4, 0);
    }
    if (strcmp(what, "free") == 0) {
        shmem_long_p(heap, me, 0);
        shmem_free(heap);
    }
}

static void one_pe(const char *what, long *heap)
{
    long values[2] = {1, 2};
    if (strcmp(what, "own_puts") == 0) {
        shmem_long_p(heap, 1, 0);
        shmem_long_put(heap, values, 2, 0);
    }
    if (strcmp(what, "own_get") == 0) {
        shmem_long_p(heap, 1, 0);
        shmem_long_g(heap, 0);
    }
    if (strcmp(what, "own_nbi") == 0) {
        shmem_long_get_nbi(values, heap, 2, 0);
        shmem_long_p(heap + 1, 1, 0);
    }
}

/* Each step is ordered with the next one in another way. */
static void right(long *heap)
{
    int next = (me + 1) % n;
    long values[8] = {0};
    for (int round = 0; round < 3; round++) {
        shmem_long_put(heap + 8 * (round % 2), values, 8, next);
        shmem_fence();
        shmem_long_put(heap + 8 * (round % 2), values, 8, next);
        shmem_quiet();
        shmem_long_get(values, heap + 8 * (round % 2), 8, next);
        shmem_long_put(heap + 8 * (round % 2), values, 8, next);
        shmem_barrier_all();
        /* Side by side, and only reads. */
        shmem_long_p(heap + 16 + me, me, 0);
        shmem_long_g(heap, 0);
        shmem_long_atomic_add(&cell, 1, 0);
        shmem_barrier_all();
        /* An atomic fetch reads, too. */
        if (me % 2)
            shmem_long_atomic_fetch(heap + 1, 0);
        else
            shmem_long_g(heap + 1, 0);
        shmem_barrier_all();
    }
    /* One after the other at PE 0: by a flag, a signal, a lock, a collective. */
    if (me > 0)
        shmem_long_wait_until(&flag, SHMEM_CMP_EQ, 1);
    shmem_long_p(heap, me, 0);
    shmem_fence();
    if (me + 1 < n)
        shmem_long_p(&flag, 1, me + 1);
    shmem_barrier_all();
    if (me > 0)
        shmem_signal_wait_until(&signal_word, SHMEM_CMP_EQ, 1);
    shmem_long_p(heap, me, 0);
    shmem_quiet();
    if (me + 1 < n)
        shmem_signal_set(&signal_word, 1, me + 1);
    shmem_barrier_all();
    /* There and back: what came back tells that the put is complete. */
    for (long round = 1; round < 5; round++) {
        if (me == 0)
            shmem_long_put_signal(heap, values, 8, &signal_word, 1 + round, SHMEM_SIGNAL_SET, next);
        if (me == 1 % n)
            shmem_signal_wait_until(&signal_word, SHMEM_CMP_EQ, 1 + round);
        if (me == 1 % n)
            shmem_long_p(&flag, 1 + round, 0);
        if (me == 0)
            shmem_long_wait_until(&flag, SHMEM_CMP_EQ, 1 + round);
    }
    shmem_barrier_all();
    static long lock;
    shmem_set_lock(&lock);
    shmem_long_p(heap, shmem_long_g(heap, 0) + 1, 0);
    shmem_clear_lock(&lock);
    shmem_barrier_all();
    for (int pe = 0; pe < n; pe++) {
        if (me == pe)
            shmem_long_p(heap, me, 0);
        shmem_quiet();
        shmem_team_sync(SHMEM_TEAM_WORLD);
    }
    CHECK(shmem_long_g(heap, 0) == n - 1);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    setenv("HPVM_CHECK", "1", 1);
    begin();
    long *heap = need(64 * sizeof(long));
    two_pes(what, heap);
    if (me == 0)
        one_pe(what, heap);
    if (argc < 2)
        right(heap);
    return end();
}
