/* hpvmshmem: one-sided operations of OpenSHMEM between PEs 0 and 1, and the barrier of all. PE 0 prints one JSON object
 * per line, as hpvmbench does.
 *
 *     hpvmshmem [--budget SECONDS_PER_POINT] [--sizes BYTES,...]
 */
#include "batches.h"
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCHES = 21, MOST = 4 << 20, MAX_SIZES = 32 };

static double budget = 0.1;
static long sizes[MAX_SIZES] = {8, 4096, 1 << 20};
static int size_count = 3;
static char *memory, *own;
static uint64_t *word;

struct operation {
    const char *name, *unit;
    void (*run)(long size, long iterations);
    int sized, all; /* takes the sizes; every PE calls it */
};

static void put(long size, long iterations)
{
    for (long i = 0; i < iterations; i++) {
        shmem_putmem(memory, own, (size_t)size, 1);
        shmem_quiet();
    }
}

/* Many on the way at once: bandwidth. */
static void puts_in_a_row(long size, long iterations)
{
    for (long i = 0; i < iterations; i++)
        shmem_putmem(memory, own, (size_t)size, 1);
    shmem_quiet();
}

static void get(long size, long iterations)
{
    for (long i = 0; i < iterations; i++)
        shmem_getmem(own, memory, (size_t)size, 1);
}

static void fetch_add(long size, long iterations)
{
    (void)size;
    for (long i = 0; i < iterations; i++)
        shmem_uint64_atomic_fetch_add(word, 1, 1);
}

static void compare_swap(long size, long iterations)
{
    (void)size;
    for (long i = 0; i < iterations; i++)
        shmem_uint64_atomic_compare_swap(word, 0, 1, 1);
}

static void barrier(long size, long iterations)
{
    (void)size;
    for (long i = 0; i < iterations; i++)
        shmem_barrier_all();
}

static const struct operation operations[] = {
    {"put", "us", put, 1, 0},
    {"get", "us", get, 1, 0},
    {"put_bandwidth", "MB/s", puts_in_a_row, 1, 0},
    {"fetch_add", "us", fetch_add, 0, 0},
    {"compare_swap", "us", compare_swap, 0, 0},
    {"barrier_all", "us", barrier, 0, 1},
};

static double timed(const struct operation *op, long size, long iterations)
{
    double start = now();
    op->run(size, iterations);
    return (now() - start) / (double)iterations;
}

static void print(const struct operation *op, long size, double *values, long iterations)
{
    qsort(values, BATCHES, sizeof *values, ascending);
    printf("{\"mode\":\"shmem\",\"op\":\"%s\",\"ranks\":%d,\"size\":%ld,\"unit\":\"%s\",\"median\":%.6g,\"min\":%.6g,"
           "\"max\":%.6g,\"iters\":%ld,\"batches\":%d,\"samples\":[",
           op->name, shmem_n_pes(), size, op->unit, values[BATCHES / 2], values[0], values[BATCHES - 1], iterations, BATCHES);
    for (int i = 0; i < BATCHES; i++)
        printf("%s%.5g", i == 0 ? "" : ",", values[i]);
    puts("]}");
    fflush(stdout);
}

/* PE 0 says how often; who has no part waits. */
static void measure(const struct operation *op, long size)
{
    static long iterations;
    double values[BATCHES];
    int me = shmem_my_pe(), takes_part = me == 0 || op->all;
    if (takes_part) {
        double once = timed(op, size, 50);
        iterations = (long)(budget / BATCHES / (once > 1e-9 ? once : 1e-9)) + 1;
    }
    shmem_barrier_all();
    if (op->all)
        shmem_getmem(&iterations, &iterations, sizeof iterations, 0);
    shmem_barrier_all();
    for (int i = 0; takes_part && i < BATCHES; i++) {
        double seconds = timed(op, size, iterations);
        values[i] = op->unit[0] == 'u' ? seconds * 1e6 : (double)size / seconds * 1e-6;
    }
    if (me == 0)
        print(op, size, values, iterations);
    shmem_barrier_all();
}

static int parse_sizes(const char *text)
{
    char *end;
    for (size_count = 0; *text && size_count < MAX_SIZES; text = *end ? end + 1 : end) {
        long size = strtol(text, &end, 10);
        if (end == text || (*end && *end != ',') || size < 1 || size > MOST)
            return 0;
        sizes[size_count++] = size;
    }
    return size_count > 0 && !*text;
}

static int options(int argc, char **argv)
{
    for (int i = 1; i < argc; i += 2) {
        char *end = NULL;
        if (i + 1 < argc && strcmp(argv[i], "--budget") == 0)
            budget = strtod(argv[i + 1], &end);
        if (i + 1 < argc && strcmp(argv[i], "--sizes") == 0 && parse_sizes(argv[i + 1]))
            continue;
        if (!end || *end || budget <= 0)
            return 0;
    }
    return 1;
}

int main(int argc, char **argv)
{
    shmem_init();
    if (!options(argc, argv) || shmem_n_pes() < 2) {
        if (shmem_my_pe() == 0)
            fprintf(stderr, "usage: oshrun -n 2 hpvmshmem [--budget SECONDS] [--sizes BYTES,...], at least two PEs\n");
        shmem_global_exit(2);
    }
    memory = shmem_calloc(1, MOST);
    word = shmem_calloc(1, sizeof *word);
    own = calloc(1, MOST);
    if (!memory || !word || !own) {
        fprintf(stderr, "hpvmshmem: no memory for twice %d bytes; SHMEM_SYMMETRIC_SIZE makes the heap larger\n", MOST);
        shmem_global_exit(1);
    }
    for (size_t o = 0; o < sizeof operations / sizeof *operations; o++)
        for (int i = 0; i < (operations[o].sized ? size_count : 1); i++)
            measure(&operations[o], operations[o].sized ? sizes[i] : 8);
    free(own);
    shmem_finalize();
    return 0;
}
