/* Collectives on the world, with short and long data, also in place. */
#include "osh.h"

#define LONGEST 40000

static long number(int pe, size_t i)
{
    return (long)pe * 1000003 + (long)i;
}

static void all(size_t len, long *in, long *out)
{
    int root = (int)(len % (size_t)n);
    for (size_t i = 0; i < len * (size_t)n; i++) {
        in[i] = number(me, i);
        out[i] = -1;
    }
    shmem_barrier_all();
    CHECK_EQ(shmem_long_broadcast(SHMEM_TEAM_WORLD, out, in, len, root), 0);
    for (size_t i = 0; i < len; i++)
        CHECK_EQ(out[i], number(root, i));
    shmem_sync_all();
    CHECK_EQ(shmem_broadcastmem(SHMEM_TEAM_WORLD, out, out, len * sizeof *out, 0), 0);
    for (size_t i = 0; i < len; i++)
        CHECK_EQ(out[i], number(root, i));
    shmem_sync(SHMEM_TEAM_WORLD);

    CHECK_EQ(shmem_fcollect(SHMEM_TEAM_WORLD, out, in, len), 0);
    for (size_t i = 0; i < len * (size_t)n; i++)
        CHECK_EQ(out[i], number((int)(i / len), i % len));
    shmem_sync_all();

    /* PE p gives len - p elements, or none. */
    size_t mine = len > (size_t)me ? len - (size_t)me : 0, at = 0;
    CHECK_EQ(shmem_collect(SHMEM_TEAM_WORLD, out, in, mine), 0);
    for (int pe = 0; pe < n; pe++)
        for (size_t i = 0; i < (len > (size_t)pe ? len - (size_t)pe : 0); i++)
            CHECK_EQ(out[at++], number(pe, i));
    shmem_sync_all();

    CHECK_EQ(shmem_alltoall(SHMEM_TEAM_WORLD, out, in, len), 0);
    for (size_t i = 0; i < len * (size_t)n; i++)
        CHECK_EQ(out[i], number((int)(i / len), (size_t)me * len + i % len));
    shmem_sync_all();

    CHECK_EQ(shmem_long_max_reduce(SHMEM_TEAM_WORLD, out, in, len), 0);
    for (size_t i = 0; i < len; i++)
        CHECK_EQ(out[i], number(n - 1, i));
    shmem_sync_all();
    CHECK_EQ(shmem_long_sum_reduce(SHMEM_TEAM_WORLD, in, in, len), 0);
    for (size_t i = 0; i < len; i++)
        CHECK_EQ(in[i], (long)n * (n - 1) / 2 * 1000003 + (long)n * (long)i);
    shmem_barrier_all();
}

static void strided(void)
{
    int *in = need((size_t)n * 5 * 3 * sizeof *in), *out = need((size_t)n * 5 * 2 * sizeof *out);
    for (int i = 0; i < n * 5 * 3; i++)
        in[i] = me * 100000 + i;
    shmem_barrier_all();
    CHECK_EQ(shmem_alltoalls(SHMEM_TEAM_WORLD, out, in, 2, 3, 5), 0);
    for (int pe = 0; pe < n; pe++)
        for (int k = 0; k < 5; k++) {
            CHECK_EQ(out[(pe * 5 + k) * 2], pe * 100000 + (me * 5 + k) * 3);
            CHECK_EQ(out[(pe * 5 + k) * 2 + 1], 0);
        }
    shmem_free(out);
    shmem_free(in);
}

int main(void)
{
    static const size_t lengths[] = { 1, 3, 17, 1000, LONGEST };
    begin();
    long *in = need((size_t)n * LONGEST * sizeof *in), *out = need((size_t)n * LONGEST * sizeof *out);
    for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++)
        all(lengths[k], in, out);
    strided();
    CHECK_EQ(shmem_long_sum_reduce(SHMEM_TEAM_WORLD, out, in, 0), 0);
    CHECK_EQ(shmem_alltoalls(SHMEM_TEAM_WORLD, out, in, 1, 1, 0), 0);
    CHECK(shmem_team_sync(SHMEM_TEAM_INVALID) != 0);
    CHECK(shmem_long_sum_reduce(SHMEM_TEAM_INVALID, out, in, 1) != 0);
    /* What is put before a barrier is there after it. */
    for (long i = 0; i < 300; i++) {
        shmem_long_p(&in[me], i * n + me, (int)(i % n));
        shmem_barrier_all();
        if (i % n == me)
            for (int pe = 0; pe < n; pe++)
                CHECK_EQ(in[pe], i * n + pe);
        shmem_sync_all();
    }
    return end();
}
