/* Waiting and testing: one, all, any, some, with one value and with many; every comparison; signals. */
#include "osh.h"

#define COUNT 12

static long flags[COUNT];
static uint64_t flag_signal;

static void comparisons(void)
{
    static const int cmp[] = { SHMEM_CMP_EQ, SHMEM_CMP_NE, SHMEM_CMP_GT, SHMEM_CMP_GE, SHMEM_CMP_LT, SHMEM_CMP_LE };
    static short at;
    for (at = -2; at <= 2; at++)
        for (int k = 0; k < 6; k++) {
            int truth[] = { at == 0, at != 0, at > 0, at >= 0, at < 0, at <= 0 };
            CHECK_EQ(shmem_short_test(&at, cmp[k], 0) != 0, truth[k]);
            if (truth[k])
                shmem_wait_until(&at, cmp[k], 0);
        }
}

static void set(int i, long value)
{
    shmem_long_atomic_set(&flags[i], value, (me + 1) % n);
}

static void clear(void)
{
    shmem_barrier_all();
    memset(flags, 0, sizeof flags);
    shmem_barrier_all();
}

static void arrays(void)
{
    int status[COUNT] = { 0 };
    size_t indices[COUNT];
    long values[COUNT];
    for (int i = 0; i < COUNT; i++)
        values[i] = 100 + i;
    clear();
    CHECK_EQ(shmem_long_test_all(flags, COUNT, NULL, SHMEM_CMP_EQ, 1), 0);
    CHECK(shmem_long_test_any(flags, COUNT, NULL, SHMEM_CMP_EQ, 1) == SIZE_MAX);
    CHECK_EQ(shmem_long_test_some(flags, COUNT, indices, NULL, SHMEM_CMP_EQ, 1), 0);
    shmem_barrier_all();
    for (int i = 0; i < COUNT; i++)
        set((i * 5) % COUNT, 1);
    shmem_wait_until_all(flags, COUNT, NULL, SHMEM_CMP_EQ, 1);
    CHECK(shmem_test_all(flags, COUNT, NULL, SHMEM_CMP_EQ, 1));
    CHECK_EQ(shmem_test_some(flags, COUNT, indices, NULL, SHMEM_CMP_EQ, 1), COUNT);

    clear();
    for (int i = 0; i < COUNT; i++)
        set((i * 7) % COUNT, 3);
    for (int done = 0; done < COUNT; done++) {
        size_t i = shmem_wait_until_any(flags, COUNT, status, SHMEM_CMP_GT, 2);
        CHECK(i < COUNT && !status[i]);
        status[i] = 1;
    }
    CHECK(shmem_wait_until_any(flags, COUNT, status, SHMEM_CMP_GT, 2) == SIZE_MAX);
    CHECK_EQ(shmem_wait_until_some(flags, COUNT, indices, status, SHMEM_CMP_GT, 2), 0);
    shmem_wait_until_all(flags, COUNT, status, SHMEM_CMP_EQ, 77);
    CHECK(shmem_test_any(flags, 0, NULL, SHMEM_CMP_EQ, 0) == SIZE_MAX);
    CHECK(shmem_test_all(flags, 0, NULL, SHMEM_CMP_EQ, 0));

    clear();
    memset(status, 0, sizeof status);
    for (int i = 0; i < COUNT; i++)
        set(i, 100 + i);
    for (size_t done = 0; done < COUNT;) {
        size_t found = shmem_long_wait_until_some_vector(flags, COUNT, indices, status, SHMEM_CMP_EQ, values);
        CHECK(found > 0);
        for (size_t k = 0; k < found; k++)
            status[indices[k]] = 1;
        done += found;
    }
    shmem_wait_until_all_vector(flags, COUNT, NULL, SHMEM_CMP_EQ, values);
    CHECK(shmem_test_all_vector(flags, COUNT, NULL, SHMEM_CMP_EQ, values));
    CHECK(shmem_test_any_vector(flags, COUNT, NULL, SHMEM_CMP_NE, values) == SIZE_MAX);
    CHECK(shmem_wait_until_any_vector(flags, COUNT, NULL, SHMEM_CMP_LE, values) < COUNT);
    CHECK_EQ(shmem_test_some_vector(flags, COUNT, indices, NULL, SHMEM_CMP_GE, values), COUNT);
}

static void signals(void)
{
    static double data[3000];
    double mine[3000];
    int right = (me + 1) % n, left = (me + n - 1) % n;
    double *heap = need(sizeof data);
    uint64_t *heap_signal = need(sizeof *heap_signal);
    for (int round = 1; round <= 60; round++) {
        /* Data and signal in the heap, in static data, and one here, one there. */
        double *to = round % 2 ? heap : data;
        uint64_t *signal = round / 2 % 2 ? heap_signal : &flag_signal;
        size_t len = round % 3 ? 5 : 3000;
        for (size_t i = 0; i < len; i++)
            mine[i] = me * 1e6 + round * 1e3 + (double)i;
        if (round % 5)
            shmem_put_signal(to, mine, len, signal, (uint64_t)round, SHMEM_SIGNAL_SET, right);
        else
            shmem_double_put_signal_nbi(to, mine, len, signal, (uint64_t)round, SHMEM_SIGNAL_SET, right);
        CHECK_EQ(shmem_signal_wait_until(signal, SHMEM_CMP_EQ, (uint64_t)round), round);
        for (size_t i = 0; i < len; i++)
            CHECK(to[i] == left * 1e6 + round * 1e3 + (double)i);
        shmem_barrier_all();
    }
    *heap_signal = 0;
    shmem_barrier_all();
    for (int i = 0; i < 10; i++)
        shmem_putmem_signal(heap, mine, 8, heap_signal, 3, SHMEM_SIGNAL_ADD, right);
    shmem_signal_add(heap_signal, 5, right);
    shmem_signal_wait_until(heap_signal, SHMEM_CMP_GE, 35);
    CHECK_EQ(shmem_signal_fetch(heap_signal), 35);
    shmem_barrier_all();
    shmem_signal_set(SHMEM_CTX_DEFAULT, heap_signal, 1, right);
    shmem_signal_wait_until(heap_signal, SHMEM_CMP_EQ, 1);
    shmem_barrier_all();
}

/* A ring of turns: each waits for the one before, many times. */
static void ring(void)
{
    static int turn;
    for (int round = 1; round <= 100; round++) {
        if (me == 0)
            shmem_int_p(&turn, round, (me + 1) % n);
        shmem_wait_until(&turn, SHMEM_CMP_GE, round);
        if (me)
            shmem_int_p(&turn, round, (me + 1) % n);
    }
    while (!shmem_test(&turn, SHMEM_CMP_EQ, 100))
        ;
    shmem_barrier_all();
}

int main(void)
{
    begin();
    comparisons();
    for (int round = 0; round < 10; round++)
        arrays();
    signals();
    ring();
    return end();
}
