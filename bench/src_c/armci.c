/* hpvmarmci: one-sided operations of ARMCI from process 0 to process 1, and what all call; beside each the floor: the same
 * by copies, loads and stores, and the processor's atomics, in the process's own memory. Process 0 prints one JSON object
 * per line, as hpvmbench does.
 *
 *     hpvmarmci [--budget SECONDS_PER_POINT]
 */
#include "batches.h"
#include <mpi.h>
#include <armci.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCHES = 15, MOST = 1 << 20, ROWS = 64, ALIGN = 4096,
       /* Rows that do not all fall into the same lines of the caches. */
       PITCH = 4096 + 64 };

static double budget = 0.1;
static char *there, *local, *second;
static int me;

struct operation {
    const char *name, *shape;
    void (*run)(long size, long iterations);
    const long *sizes; /* up to a 0 */
    int all;           /* all processes call it */
};

static void put(long size, long n)
{
    while (n-- > 0) {
        ARMCI_Put(local, there, (int)size, 1);
        ARMCI_Fence(1);
    }
}

static void get(long size, long n)
{
    while (n-- > 0)
        ARMCI_Get(there, local, (int)size, 1);
}

static void put_rows(long size, long n)
{
    int pitch = PITCH, count[2] = {(int)size, ROWS};
    while (n-- > 0) {
        ARMCI_PutS(local, &pitch, there, &pitch, count, 1, 1);
        ARMCI_Fence(1);
    }
}

static void get_rows(long size, long n)
{
    int pitch = PITCH, count[2] = {(int)size, ROWS};
    while (n-- > 0)
        ARMCI_GetS(there, &pitch, local, &pitch, count, 1, 1);
}

static void acc(long size, long n)
{
    int none = 0, count[1] = {(int)size};
    double factor = 2;
    while (n-- > 0) {
        ARMCI_AccS(ARMCI_ACC_DBL, &factor, local, &none, there, &none, count, 0, 1);
        ARMCI_Fence(1);
    }
}

static void acc_rows(long size, long n)
{
    int pitch = PITCH, count[2] = {(int)size, ROWS};
    double factor = 2;
    while (n-- > 0) {
        ARMCI_AccS(ARMCI_ACC_DBL, &factor, local, &pitch, there, &pitch, count, 1, 1);
        ARMCI_Fence(1);
    }
}

static void fetch_add(long size, long n)
{
    long before;
    (void)size;
    while (n-- > 0)
        ARMCI_Rmw(ARMCI_FETCH_AND_ADD_LONG, &before, there, 1, 1);
}

static void swap(long size, long n)
{
    long value = 1;
    (void)size;
    while (n-- > 0)
        ARMCI_Rmw(ARMCI_SWAP_LONG, &value, there, 0, 1);
}

static void fence(long size, long n)
{
    (void)size;
    while (n-- > 0)
        ARMCI_Fence(1);
}

static void barrier(long size, long n)
{
    (void)size;
    while (n-- > 0)
        ARMCI_Barrier();
}

static void mpi_barrier(long size, long n)
{
    (void)size;
    while (n-- > 0)
        MPI_Barrier(MPI_COMM_WORLD);
}

static void keep(void)
{
    __asm__ volatile("" : : "r"(second), "r"(local) : "memory");
}

static void copy(long size, long n)
{
    for (; n-- > 0; keep())
        memcpy(second, local, (size_t)size);
}

static void copy_rows(long size, long n)
{
    for (; n-- > 0; keep())
        for (int row = 0; row < ROWS; row++)
            memcpy(second + row * PITCH, local + row * PITCH, (size_t)size);
}

static void add(long size, long n)
{
    double *to = (double *)second, *from = (double *)local;
    for (; n-- > 0; keep())
        for (long i = 0; i < size / 8; i++)
            to[i] += 2 * from[i];
}

static void add_rows(long size, long n)
{
    for (; n-- > 0; keep())
        for (int row = 0; row < ROWS; row++) {
            double *to = (double *)(second + row * PITCH), *from = (double *)(local + row * PITCH);
            for (long i = 0; i < size / 8; i++)
                to[i] += 2 * from[i];
        }
}

static void atomic_add(long size, long n)
{
    (void)size;
    while (n-- > 0)
        __atomic_fetch_add((long *)second, 1, __ATOMIC_SEQ_CST);
}

static const long lengths[] = {8, 4096, 65536, MOST, 0}, rows[] = {8, 64, 1024, 0}, word[] = {8, 0};

/* What is measured, and behind it its floor. */
static const struct operation operations[] = {
    {"put", "contiguous", put, lengths, 0},      {"get", "contiguous", get, lengths, 0},
    {"copy", "floor", copy, lengths, 0},         {"put", "64 rows", put_rows, rows, 0},
    {"get", "64 rows", get_rows, rows, 0},       {"copy 64 rows", "floor", copy_rows, rows, 0},
    {"acc", "contiguous", acc, lengths, 0},      {"add", "floor", add, lengths, 0},
    {"acc", "64 rows", acc_rows, rows, 0},       {"add 64 rows", "floor", add_rows, rows, 0},
    {"rmw", "fetch and add", fetch_add, word, 0}, {"rmw", "swap", swap, word, 0},
    {"atomic add", "floor", atomic_add, word, 0}, {"fence", "-", fence, word, 0},
    {"barrier", "-", barrier, word, 1},          {"MPI_Barrier", "floor", mpi_barrier, word, 1},
};

static double timed(const struct operation *op, long size, long iterations)
{
    double start = now();
    op->run(size, iterations);
    return (now() - start) / (double)iterations;
}

/* Process 0 says how often; who has no part waits. */
static void measure(const struct operation *op, long size)
{
    double values[BATCHES];
    int takes_part = me == 0 || op->all;
    long iterations = 0;
    if (takes_part) {
        double once = timed(op, size, 20);
        iterations = (long)(budget / BATCHES / (once > 1e-9 ? once : 1e-9)) + 1;
    }
    MPI_Bcast(&iterations, 1, MPI_LONG, 0, MPI_COMM_WORLD);
    ARMCI_Barrier();
    for (int i = 0; takes_part && i < BATCHES; i++)
        values[i] = timed(op, size, iterations) * 1e6;
    ARMCI_Barrier();
    if (me != 0)
        return;
    int processes;
    MPI_Comm_size(MPI_COMM_WORLD, &processes);
    qsort(values, BATCHES, sizeof *values, ascending);
    printf("{\"mode\":\"armci\",\"op\":\"%s\",\"type\":\"%s\",\"ranks\":%d,\"size\":%ld,\"unit\":\"us\",\"median\":%.6g,"
           "\"min\":%.6g,\"max\":%.6g,\"iters\":%ld,\"batches\":%d}\n",
           op->name, op->shape, processes, size, values[BATCHES / 2], values[0], values[BATCHES - 1], iterations, BATCHES);
    fflush(stdout);
}

/* Bytes that are put come back as they were. */
static void check(void)
{
    for (int i = 0; i < MOST; i++)
        local[i] = (char)(i * 7 + i / 251);
    if (me == 0) {
        ARMCI_Put(local, there, MOST, 1);
        ARMCI_Fence(1);
        ARMCI_Get(there, second, MOST, 1);
        if (memcmp(local, second, MOST) != 0) {
            fprintf(stderr, "hpvmarmci: what was put does not come back\n");
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
    }
    /* Numbers that stay numbers. */
    memset(local, 0, MOST);
    memset(second, 0, MOST);
    ARMCI_Barrier();
    if (me == 0)
        ARMCI_Put(local, there, MOST, 1);
    ARMCI_Barrier();
}

static int options(int argc, char **argv)
{
    for (int i = 1; i < argc; i += 2) {
        char *end = NULL;
        if (i + 1 < argc && strcmp(argv[i], "--budget") == 0)
            budget = strtod(argv[i + 1], &end);
        if (end == NULL || *end != '\0' || budget <= 0) {
            if (me == 0)
                fprintf(stderr, "hpvmarmci: '%s'; expected [--budget SECONDS]\n", argv[i]);
            return 0;
        }
    }
    return 1;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    int processes, bad = 2;
    MPI_Comm_size(MPI_COMM_WORLD, &processes);
    ARMCI_Init();
    if (processes < 2) {
        fprintf(stderr, "hpvmarmci: needs 2 processes or more: mpirun -n 2 hpvmarmci\n");
    } else if (options(argc, argv)) {
        void **memory = malloc((size_t)processes * sizeof *memory);
        local = aligned_alloc(ALIGN, MOST);
        second = aligned_alloc(ALIGN, MOST);
        if (memory == NULL || local == NULL || second == NULL || ARMCI_Malloc(memory, MOST) != 0) {
            fprintf(stderr, "hpvmarmci: no memory for %d bytes\n", MOST);
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
        there = memory[1];
        check();
        for (size_t i = 0; i < sizeof operations / sizeof operations[0]; i++)
            for (const long *size = operations[i].sizes; *size > 0; size++)
                measure(&operations[i], *size);
        ARMCI_Free(memory[me]);
        free(memory);
        free(local);
        free(second);
        bad = 0;
    }
    ARMCI_Finalize();
    MPI_Finalize();
    return bad;
}
