/* Parallel bucket sort of 32-bit keys in OpenSHMEM.
 *
 * Every PE makes keys at random. PE p is to own the keys of the p-th part of the range of values, its bucket:
 *
 *   1. Each PE counts its keys by bucket and orders them so (a counting sort by owner).
 *   2. Each PE reserves room in every bucket with one atomic fetch-and-add: who comes first lies first. No messages
 *      say how much comes from whom.
 *   3. Each PE puts its keys there, one put for each owner, and begins with its neighbour, so that not all PEs
 *      write to the same one.
 *   4. After a barrier each PE sorts its bucket by itself.
 *
 * The result is checked: each bucket is in order and inside its part of the range, neighbours do not overlap, and
 * number, sum and exclusive-or of all keys are what they were.
 *
 *   oshcc -O2 -o bucket_sort bucket_sort.c ../common/options.c ../common/arguments.c && oshrun -n 4 ./bucket_sort --keys 1000000
 */
#include "../common/options.h"
#include "first.h"

#include <shmem.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static struct run run = {.launcher = "oshrun -n PES", .name = "shmem_bucket_sort", .first = is_first, .end = shmem_finalize};
static long keys_of_each = 1000000;

/* Number, sum and exclusive-or of keys: what sorting does not change. */
static uint64_t before[3], after[3], sums[3];
static size_t filled; /* symmetric: keys in this PE's bucket */

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Random numbers of 64 bits (splitmix64). */
static uint64_t next(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

/* Whose bucket a key belongs to. */
static int owner(uint32_t key, int n)
{
    return (int)((uint64_t)key * (uint64_t)n >> 32);
}

static int ascending(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static void summarise(uint64_t *summary, const uint32_t *keys, size_t count)
{
    memset(summary, 0, 3 * sizeof *summary);
    summary[0] = count;
    for (size_t i = 0; i < count; i++) {
        summary[1] += keys[i];
        summary[2] ^= keys[i];
    }
}

/* Orders keys by owner. `start` gets where each owner's begin, and behind the last one their number. */
static void by_owner(uint32_t *ordered, size_t *start, const uint32_t *keys, size_t count, int n)
{
    memset(start, 0, ((size_t)n + 1) * sizeof *start);
    for (size_t i = 0; i < count; i++)
        start[owner(keys[i], n) + 1]++;
    for (int pe = 0; pe < n; pe++)
        start[pe + 1] += start[pe];
    size_t *at = malloc((size_t)n * sizeof *at);
    memcpy(at, start, (size_t)n * sizeof *at);
    for (size_t i = 0; i < count; i++)
        ordered[at[owner(keys[i], n)]++] = keys[i];
    free(at);
}

/* Sends every key to its owner. False: a bucket has no room for all of its keys. */
static int exchange(uint32_t *bucket, size_t room, const uint32_t *ordered, const size_t *start, int me, int n)
{
    int fits = 1;
    for (int k = 0; k < n; k++) {
        int pe = (me + 1 + k) % n;
        size_t count = start[pe + 1] - start[pe];
        size_t at = shmem_size_atomic_fetch_add(&filled, count, pe);
        if (at + count <= room)
            shmem_uint32_put_nbi(bucket + at, ordered + start[pe], count, pe);
        else
            fits = 0;
    }
    shmem_barrier_all();
    return fits;
}

/* Whether the bucket is in order, inside its part, and all keys are there. */
static int is_sorted(const uint32_t *bucket, size_t count, int me, int n)
{
    int good = 1;
    for (size_t i = 0; i < count; i++)
        good &= owner(bucket[i], n) == me && (i == 0 || bucket[i - 1] <= bucket[i]);
    summarise(after, bucket, count);
    static int mine, all;
    mine = good;
    shmem_barrier_all();
    shmem_sum_reduce(SHMEM_TEAM_WORLD, sums, after, 2);
    good &= sums[0] == before[0] && sums[1] == before[1];
    shmem_barrier_all();
    shmem_xor_reduce(SHMEM_TEAM_WORLD, sums, after, 3);
    mine = good & (sums[2] == before[2]);
    shmem_barrier_all();
    shmem_min_reduce(SHMEM_TEAM_WORLD, &all, &mine, 1);
    return all;
}

int main(int argc, char **argv)
{
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes();
    const struct app_flag own_flags[] = {
        {"--keys", APP_WHOLE, &keys_of_each, 1, 1L << 30, "N", "keys of each PE (1000000)"},
        {NULL, APP_SWITCH, NULL, 0, 0, NULL, NULL},
    };
    read_options(&run, argc, argv, "Parallel bucket sort of 32-bit keys in OpenSHMEM.", own_flags);
    size_t count = run.check ? 20000 : (size_t)keys_of_each;
    /* Keys are uniform: a bucket gets as many as a PE makes, give or take some standard deviations. */
    size_t room = count + count / 8 + 1000;
    uint32_t *bucket = shmem_malloc(room * sizeof *bucket);
    uint32_t *keys = calloc(count, sizeof *keys), *ordered = malloc(count * sizeof *ordered);
    size_t *start = malloc(((size_t)n + 1) * sizeof *start);
    if (!bucket || !keys || !ordered || !start) {
        fprintf(stderr, "shmem_bucket_sort: PE %d has no memory for %zu keys; SHMEM_SYMMETRIC_SIZE makes the symmetric heap larger\n", me, room);
        shmem_global_exit(APP_MEMORY);
    }
    uint64_t state = (uint64_t)me + 1;
    for (size_t i = 0; i < count; i++)
        keys[i] = (uint32_t)(next(&state) >> 32);
    summarise(after, keys, count);
    shmem_barrier_all();
    shmem_sum_reduce(SHMEM_TEAM_WORLD, before, after, 2);
    shmem_xor_reduce(SHMEM_TEAM_WORLD, sums, after, 3);
    before[2] = sums[2];
    shmem_barrier_all();

    double began = now();
    by_owner(ordered, start, keys, count, n);
    double ordering = now();
    int fits = exchange(bucket, room, ordered, start, me, n);
    double exchanged = now();
    if (!fits) {
        fprintf(stderr, "shmem_bucket_sort: a bucket has room for %zu keys only\n", room);
        shmem_global_exit(APP_MEMORY);
    }
    progress(&run, "step (keys are with their owners)", 1, 2);
    qsort(bucket, filled, sizeof *bucket, ascending);
    shmem_barrier_all();
    double done = now();
    progress(&run, "step (buckets are sorted)", 2, 2);

    int good = is_sorted(bucket, filled, me, n);
    if (me == 0)
        printf("%zu keys on %d PEs in %.3f s: by owner %.3f s, exchange %.3f s (%.0f MB/s for each PE), sort %.3f s: %s\n",
               count * (size_t)n, n, done - began, ordering - began, exchanged - ordering,
               1e-6 * (double)(count * sizeof *keys) / (exchanged - ordering), done - exchanged,
               good ? "in order, all keys are there" : "WRONG");
    free(start);
    free(ordered);
    free(keys);
    shmem_free(bucket);
    int code = verdict(&run, good);
    shmem_finalize();
    return code;
}
