/* Small puts and updates in a row, which nothing completes: they arrive although their origin computes from then on, also the last ones. */
#include "osh.h"

#define WORDS 1500

static struct {
    unsigned char bytes[WORDS];
    short shorts[WORDS];
    int ints[WORDS];
    long longs[WORDS];
    uint64_t counts[WORDS], signal;
} there;
static volatile long seen;
static long data[8];

/* PE 0 computes until the other one has seen all. */
static void compute(long round)
{
    while (seen != round)
        ;
}

static void tell(long round)
{
    shmem_long_p((long *)&seen, round, 0);
    shmem_quiet();
}

static void words(void)
{
    if (me == 0) {
        for (int i = 0; i < WORDS; i++) {
            shmem_char_p((char *)&there.bytes[i], (char)(i % 100 + 1), 1);
            shmem_long_p(&there.longs[i], -i - 1L, 1);
            shmem_short_p(&there.shorts[i], (short)(i + 1), 1);
            shmem_int_p(&there.ints[i], i + 1, 1);
        }
        compute(1);
    } else if (me == 1) {
        for (int i = 0; i < WORDS; i++) {
            shmem_int_wait_until(&there.ints[i], SHMEM_CMP_EQ, i + 1);
            shmem_long_wait_until(&there.longs[i], SHMEM_CMP_EQ, -i - 1L);
            shmem_short_wait_until(&there.shorts[i], SHMEM_CMP_EQ, (short)(i + 1));
            while (*(volatile unsigned char *)&there.bytes[i] != i % 100 + 1)
                shmem_int_test(&there.ints[0], SHMEM_CMP_EQ, 0);
        }
        tell(1);
    }
}

static void updates(void)
{
    if (me == 0) {
        for (int times = 0; times < 3; times++)
            for (int i = 0; i < WORDS; i++)
                shmem_uint64_atomic_add(&there.counts[i], 1, 1);
        compute(2);
    } else if (me == 1) {
        for (int i = 0; i < WORDS; i++)
            shmem_uint64_wait_until(&there.counts[i], SHMEM_CMP_EQ, 3);
        tell(2);
    }
}

/* A signal comes behind its data, also behind a row. */
static void order(void)
{
    long from[8];
    if (me == 0) {
        for (int i = 0; i < 8; i++)
            from[i] = 90 + i;
        for (int i = 0; i < WORDS; i++)
            shmem_long_p(&there.longs[i], 5, 1);
        shmem_long_put_signal(data, from, 8, &there.signal, 7, SHMEM_SIGNAL_SET, 1);
        compute(3);
    } else if (me == 1) {
        shmem_signal_wait_until(&there.signal, SHMEM_CMP_EQ, 7);
        for (int i = 0; i < 8; i++)
            CHECK_EQ(data[i], 90 + i);
        tell(3);
    }
}

int main(void)
{
    begin();
    if (n > 1) {
        words();
        updates();
        order();
    }
    shmem_barrier_all();
    /* All to all: a barrier completes rows, too. */
    for (int times = 0; times < 2; times++)
        for (int i = 0; i < WORDS; i++)
            for (int pe = 0; pe < n; pe++)
                shmem_uint64_atomic_add(&there.counts[i], 1, pe);
    shmem_barrier_all();
    for (int i = 0; i < WORDS; i++)
        CHECK_EQ(there.counts[i], 2 * n + (me == 1 ? 3 : 0));
    return end();
}
