/* Random updates (GUPS) in OpenSHMEM: a table spread over all PEs, and every PE changes words of it at random with an
 * atomic exclusive-or. Doing all updates a second time brings every word back, by which the program checks itself: no
 * update may get lost.
 *
 *   oshcc -O2 -o gups gups.c && oshrun -n 4 ./gups 18
 */
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

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

/* Four updates for each word of this PE's part. */
static double update(uint64_t *table, int log_words, int me, int n)
{
    uint64_t words = (uint64_t)1 << log_words, r = 0x123456789abcdef + (uint64_t)me * 0x9e3779b97f4a7c15;
    shmem_barrier_all();
    double began = now();
    for (uint64_t i = 0; i < 4 * words; i++) {
        r = next(r);
        shmem_uint64_atomic_xor(&table[r & (words - 1)], r, (int)((r >> log_words) % (uint64_t)n));
    }
    shmem_barrier_all();
    return now() - began;
}

int main(int argc, char **argv)
{
    static uint64_t wrong, all_wrong;
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes(), log_words = argc > 1 ? atoi(argv[1]) : 18;
    if (argc > 2 || log_words < 1 || log_words > 34) {
        if (me == 0)
            fprintf(stderr, "usage: gups [LOGARITHM OF THE WORDS OF EACH PE, 1 to 34; 18]\n");
        shmem_global_exit(2);
    }
    uint64_t words = (uint64_t)1 << log_words, *table = shmem_malloc(words * sizeof *table);
    if (!table) {
        if (me == 0)
            fprintf(stderr, "gups: no memory for 2^%d words; SHMEM_SYMMETRIC_SIZE makes the symmetric heap larger\n", log_words);
        shmem_global_exit(1);
    }
    for (uint64_t i = 0; i < words; i++)
        table[i] = i;
    double seconds = update(table, log_words, me, n);
    update(table, log_words, me, n);
    for (uint64_t i = 0; i < words; i++)
        wrong += table[i] != i;
    shmem_barrier_all();
    shmem_sum_reduce(SHMEM_TEAM_WORLD, &all_wrong, &wrong, 1);
    if (me == 0)
        printf("%.2f million updates a second on %d PEs; %llu words are wrong\n", 4e-6 * (double)words * n / seconds, n,
               (unsigned long long)all_wrong);
    shmem_free(table);
    shmem_finalize();
    return all_wrong != 0;
}
