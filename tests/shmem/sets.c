/* The older collectives on active sets. */
#include "osh.h"

static long sync_all[SHMEM_REDUCE_SYNC_SIZE], work[SHMEM_REDUCE_MIN_WRKDATA_SIZE + 8];
static double double_work[16];
static long in[64 * 8], out[64 * 8];
static int in32[64], out32[64];
static double dsum, dmine;

/* On the set of `size` PEs from `start` on, 2^log apart. */
static void on_set(int start, int log, int size)
{
    int stride = 1 << log;
    if (me < start || (me - start) % stride || (me - start) / stride >= size)
        return;
    int number = (me - start) / stride;
    for (int i = 0; i < 8 * size; i++) {
        in[i] = me * 1000 + i;
        out[i] = -1;
    }
    shmem_barrier(start, log, size, sync_all);
    shmem_broadcast64(out, in, 8, size - 1, start, log, size, sync_all);
    for (int i = 0; i < 8; i++)
        CHECK_EQ(out[i], number == size - 1 ? -1 : (start + (size - 1) * stride) * 1000 + i);
    shmem_sync(start, log, size, sync_all);
    shmem_fcollect64(out, in, 8, start, log, size, sync_all);
    for (int i = 0; i < 8 * size; i++)
        CHECK_EQ(out[i], (start + i / 8 * stride) * 1000 + i % 8);
    shmem_barrier(start, log, size, sync_all);
    shmem_collect64(out, in, (size_t)(number % 2), start, log, size, sync_all);
    for (int k = 0; k < size / 2; k++)
        CHECK_EQ(out[k], (start + (2 * k + 1) * stride) * 1000);
    shmem_barrier(start, log, size, sync_all);
    shmem_alltoall64(out, in, 2, start, log, size, sync_all);
    for (int i = 0; i < 2 * size; i++)
        CHECK_EQ(out[i], (start + i / 2 * stride) * 1000 + number * 2 + i % 2);
    shmem_barrier(start, log, size, sync_all);
    for (int i = 0; i < size; i++)
        in32[i] = me * 100 + i;
    shmem_barrier(start, log, size, sync_all);
    shmem_alltoalls32(out32, in32, 1, 1, 1, start, log, size, sync_all);
    for (int i = 0; i < size; i++)
        CHECK_EQ(out32[i], (start + i * stride) * 100 + number);
    shmem_barrier(start, log, size, sync_all);
    shmem_long_sum_to_all(out, in, 4, start, log, size, work, sync_all);
    long sum = 0;
    for (int i = 0; i < size; i++)
        sum += (start + i * stride) * 1000 + 3;
    CHECK_EQ(out[3], sum);
    dmine = me + 0.5;
    shmem_barrier(start, log, size, sync_all);
    shmem_double_max_to_all(&dsum, &dmine, 1, start, log, size, double_work, sync_all);
    CHECK(dsum == start + (size - 1) * stride + 0.5);
    shmem_barrier(start, log, size, sync_all);
    shmem_long_and_to_all(out, in, 1, start, log, size, work, sync_all);
    shmem_barrier(start, log, size, sync_all);
}

int main(void)
{
    start_pes(0);
    me = _my_pe();
    n = _num_pes();
    for (int i = 0; i < SHMEM_REDUCE_SYNC_SIZE; i++)
        sync_all[i] = SHMEM_SYNC_VALUE;
    shmem_barrier_all();
    for (int round = 0; round < 3; round++) {
        on_set(0, 0, n);
        on_set(0, 1, (n + 1) / 2);
        if (n > 1)
            on_set(1, 0, n - 1);
        if (n > 1)
            on_set(1, 1, n / 2);
        on_set(n - 1, 0, 1);
    }
    shmem_barrier_all();
    long *older = shmalloc(sizeof *older);
    *older = 0;
    shmem_barrier_all();
    CHECK_EQ(shmem_long_fadd(older, 1, me), 0);
    shmem_int_inc(&in32[0], me);
    CHECK_EQ(shmem_long_swap(older, 9, me), 1);
    CHECK_EQ(shmem_long_cswap(older, 9, 11, me), 9);
    CHECK_EQ(shmem_long_finc(older, me), 11);
    shmem_long_add(older, 5, me);
    CHECK_EQ(shmem_long_fetch(older, me), 17);
    shmem_long_wait_until(older, _SHMEM_CMP_EQ, 17);
    shmem_wait(older, 16);
    shmem_set_cache_inv();
    shmem_udcflush_line(older);
    shfree(older);
    return end();
}
