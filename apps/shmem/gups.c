/* Random updates (GUPS) in OpenSHMEM: a table spread over all PEs, and every PE changes words of it at random with an
 * atomic exclusive-or. Doing all updates a second time brings every word back, by which the program checks itself: no
 * update may get lost.
 *
 *   oshcc -O2 -o gups gups.c ../common/options.c ../common/arguments.c && oshrun -n 4 ./gups --log2words 18
 */
#include "../common/options.h"
#include "first.h"

#include <shmem.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static struct run run = {.launcher = "oshrun -n PES", .name = "shmem_gups", .first = is_first, .end = shmem_finalize};
static long log_words = 18;

enum { PARTS = 64 }; /* of all updates: how often PE 0 looks whether to tell of the progress */

/* The sequence of the HPC Challenge benchmark: a shift register over the field of two elements. */
static uint64_t next(uint64_t r)
{
    return r << 1 ^ (r >> 63 ? 7 : 0);
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Four updates for each word of this PE's part; the first round of them or the second. */
static double update(uint64_t *table, int round, int me, int n)
{
    uint64_t words = (uint64_t)1 << log_words, r = 0x123456789abcdef + (uint64_t)me * 0x9e3779b97f4a7c15;
    shmem_barrier_all();
    double began = now();
    for (int part = 0; part < PARTS; part++) {
        uint64_t end = 4 * words * (uint64_t)(part + 1) / PARTS;
        for (uint64_t i = 4 * words * (uint64_t)part / PARTS; i < end; i++) {
            r = next(r);
            shmem_uint64_atomic_xor(&table[r & (words - 1)], r, (int)((r >> log_words) % (uint64_t)n));
        }
        progress(&run, "part", (round - 1) * PARTS + part + 1, 2 * PARTS);
    }
    shmem_barrier_all();
    return now() - began;
}

int main(int argc, char **argv)
{
    static uint64_t wrong, all_wrong;
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes();
    const struct app_flag own_flags[] = {
        {"--log2words", APP_WHOLE, &log_words, 1, 34, "N", "2^N words of each PE (18)"},
        {NULL, APP_SWITCH, NULL, 0, 0, NULL, NULL},
    };
    read_options(&run, argc, argv, "Random updates (GUPS) in OpenSHMEM: atomic exclusive-or on words of all PEs.", own_flags);
    if (run.check)
        log_words = 12;
    uint64_t words = (uint64_t)1 << log_words, *table = shmem_malloc(words * sizeof *table);
    if (!table) {
        fprintf(stderr, "shmem_gups: PE %d has no memory for 2^%ld words; SHMEM_SYMMETRIC_SIZE makes the symmetric heap larger\n", me, log_words);
        shmem_global_exit(APP_MEMORY);
    }
    for (uint64_t i = 0; i < words; i++)
        table[i] = i;
    double seconds = update(table, 1, me, n);
    update(table, 2, me, n);
    for (uint64_t i = 0; i < words; i++)
        wrong += table[i] != i;
    shmem_barrier_all();
    shmem_sum_reduce(SHMEM_TEAM_WORLD, &all_wrong, &wrong, 1);
    if (me == 0)
        printf("%.2f million updates a second on %d PEs; %llu words are wrong\n", 4e-6 * (double)words * n / seconds, n,
               (unsigned long long)all_wrong);
    shmem_free(table);
    int code = verdict(&run, all_wrong == 0);
    shmem_finalize();
    return code;
}
