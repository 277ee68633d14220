/* Time of a collective operation, on the slowest rank. Where there is a root it goes round, so that an early root cannot run ahead
 * of the others by the whole batch; --calls chooses otherwise: a root that does run ahead, calls one at a time, calls
 * to which ranks come late, the first call on a fresh communicator. With --touch the data change and are used, as in programs: they are
 * written before each call, and what came is read after it. */
#include "hpvmbench.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum kind {
    BARRIER,
    BCAST,
    REDUCE,
    ALLREDUCE,
    GATHER,
    SCATTER,
    ALLGATHER,
    ALLGATHERV,
    ALLTOALL,
    REDUCE_SCATTER
};

/* The same for all ranks: `lengths` in elements, `starts` where each rank's block begins. */
static int *lengths, *starts;

static const char *const names[] = {"barrier", "bcast",     "reduce",     "allreduce", "gather",
                                    "scatter", "allgather", "allgatherv", "alltoall",
                                    "reduce_scatter"};

static int sums_up(enum kind kind)
{
    return kind == REDUCE || kind == ALLREDUCE || kind == REDUCE_SCATTER;
}

static void call(enum kind kind, struct point *p, int root, MPI_Comm world)
{
    int bytes = (int)p->size, doubles = (int)(p->size / (long)sizeof(double));
    switch (kind) {
    case BARRIER:
        MPI_Barrier(world);
        break;
    case BCAST:
        MPI_Bcast(root == p->opt->rank ? p->send : p->recv, bytes, MPI_BYTE, root, world);
        break;
    case REDUCE:
        MPI_Reduce(p->send, p->recv, doubles, MPI_DOUBLE, MPI_SUM, root, world);
        break;
    case ALLREDUCE:
        MPI_Allreduce(p->send, p->recv, doubles, MPI_DOUBLE, MPI_SUM, world);
        break;
    case GATHER:
        MPI_Gather(p->send, bytes, MPI_BYTE, p->recv, bytes, MPI_BYTE, root, world);
        break;
    case SCATTER:
        MPI_Scatter(p->send, bytes, MPI_BYTE, p->recv, bytes, MPI_BYTE, root, world);
        break;
    case ALLGATHERV:
        MPI_Allgatherv(p->send, bytes, MPI_BYTE, p->recv, lengths, starts, MPI_BYTE, world);
        break;
    case REDUCE_SCATTER:
        MPI_Reduce_scatter(p->send, p->recv, lengths, MPI_DOUBLE, MPI_SUM, world);
        break;
    case ALLGATHER:
        MPI_Allgather(p->send, bytes, MPI_BYTE, p->recv, bytes, MPI_BYTE, world);
        break;
    case ALLTOALL:
        MPI_Alltoall(p->send, bytes, MPI_BYTE, p->recv, bytes, MPI_BYTE, world);
        break;
    }
}

/* Small whole numbers: their sum is exact in any order of addition. `block` is 0 but in blocks that
 * go to different ranks. */
static void fill_sums(struct point *p, int block)
{
    double *values = (double *)(p->send + block * p->size);
    long last = p->size / (long)sizeof(double) - 1;
    values[0] = (double)(p->opt->rank + p->batch_no % 1000 + block);
    values[last] = (double)(p->opt->rank + p->batch_no % 1000 + block + 1);
}

static void check_sums(const struct point *p, int block)
{
    const double *values = (const double *)p->recv;
    long last = p->size / (long)sizeof(double) - 1;
    double n = p->opt->ranks, base = n * (n - 1) / 2 + n * (double)(p->batch_no % 1000 + block);
    double first = last == 0 ? base + n : base;
    if (values[0] != first || values[last] != base + n)
        die("wrong data: sum of %ld bytes is %g and %g, expected %g and %g, rank %d", p->size,
            values[0], values[last], first, base + n, p->opt->rank);
}

/* What has to lie in the receive buffer after the last repetition. */
static void check(enum kind kind, const struct point *p, int last_root)
{
    const struct options *opt = p->opt;
    switch (kind) {
    case BARRIER:
        break;
    case BCAST:
        if (opt->rank != last_root)
            check_stamp(p, p->recv, p->batch_no + last_root, "broadcast");
        break;
    case REDUCE:
        if (opt->rank == last_root)
            check_sums(p, 0);
        break;
    case ALLREDUCE:
        check_sums(p, 0);
        break;
    case REDUCE_SCATTER:
        check_sums(p, opt->rank);
        break;
    case SCATTER:
        check_stamp(p, p->recv, p->batch_no + last_root + 7 * opt->rank, "block of a scatter");
        break;
    case GATHER:
    case ALLGATHERV:
    case ALLGATHER:
        for (int r = 0; r < opt->ranks && (kind != GATHER || opt->rank == last_root); r++)
            check_stamp(p, p->recv + r * p->size, p->batch_no + r, "gathered block");
        break;
    case ALLTOALL:
        for (int r = 0; r < opt->ranks; r++)
            check_stamp(p, p->recv + r * p->size, p->batch_no + r + 7 * opt->rank,
                        "block of an alltoall");
        break;
    }
}

static void prepare(enum kind kind, struct point *p)
{
    const struct options *opt = p->opt;
    if (kind == REDUCE_SCATTER)
        for (int r = 0; r < opt->ranks; r++)
            fill_sums(p, r);
    else if (sums_up(kind))
        fill_sums(p, 0);
    else if (kind == ALLTOALL || kind == SCATTER)
        for (int r = 0; r < opt->ranks; r++)
            stamp(p->send + r * p->size, p->size, p->batch_no + opt->rank + 7 * r);
    else
        stamp(p->send, p->size, p->batch_no + opt->rank);
}

/* Blocks of this rank in a call: those it gives, and those it gets. */
struct blocks {
    int given, got;
};

static struct blocks blocks_of(enum kind kind, const struct options *opt, int root)
{
    int all = opt->ranks, is_root = root == opt->rank;
    switch (kind) {
    case BARRIER:
        break;
    case BCAST:
        return (struct blocks){is_root, !is_root};
    case REDUCE:
        return (struct blocks){1, is_root};
    case ALLREDUCE:
        return (struct blocks){1, 1};
    case GATHER:
        return (struct blocks){1, is_root ? all : 0};
    case SCATTER:
        return (struct blocks){is_root ? all : 0, 1};
    case ALLGATHER:
    case ALLGATHERV:
        return (struct blocks){1, all};
    case ALLTOALL:
        return (struct blocks){all, all};
    case REDUCE_SCATTER:
        return (struct blocks){all, 1};
    }
    return (struct blocks){0, 0};
}

/* As a program that computes what it sends, and uses what it gets. */
static void touching_call(enum kind kind, struct point *p, int root, MPI_Comm world)
{
    struct blocks blocks = blocks_of(kind, p->opt, root);
    size_t bytes = (size_t)(blocks.given * p->size);
    if (sums_up(kind))
        for (size_t i = 0; i < bytes / sizeof(double); i++)
            ((double *)p->send)[i] = (double)(p->batch_no % 1000);
    else
        memset(p->send, (int)p->batch_no, bytes);
    if (bytes > 0)
        prepare(kind, p);
    call(kind, p, root, world);
    read_all(p->recv, (size_t)(blocks.got * p->size));
}

static uint64_t delays;

/* Computes for 1 to 100 us, another time on each rank and for each call, the same for all MPIs. */
static void come_late(int rank)
{
    uint64_t mixed = (++delays * 0x9e3779b97f4a7c15u) ^ ((uint64_t)rank * 0xbf58476d1ce4e5b9u);
    mixed = (mixed ^ (mixed >> 31)) * 0x94d049bb133111ebu;
    double until = MPI_Wtime() + 1e-6 * (double)(1 + (mixed >> 33) % 100);
    while (MPI_Wtime() < until)
        ;
}

/* One call at a time, after a barrier that is not timed; the data are written anew before each. */
static double repeat_alone(struct point *p, long iters, int *last_root)
{
    enum kind kind = *(enum kind *)p->extra;
    int root = 0;
    double seconds = 0;
    for (long i = 0; i < iters; i++) {
        MPI_Comm comm = MPI_COMM_WORLD;
        if (p->opt->calls == CALLS_FRESH)
            MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        prepare(kind, p);
        MPI_Barrier(MPI_COMM_WORLD);
        if (p->opt->calls == CALLS_LATE)
            come_late(p->opt->rank);
        double start = MPI_Wtime();
        call(kind, p, root, comm);
        seconds += MPI_Wtime() - start;
        if (p->opt->calls == CALLS_FRESH)
            MPI_Comm_free(&comm);
        *last_root = root;
        root = root + 1 < p->opt->ranks ? root + 1 : 0;
    }
    return seconds;
}

static double repeat(struct point *p, long iters)
{
    enum kind kind = *(enum kind *)p->extra;
    int root = 0, last_root = 0;
    prepare(kind, p);
    double seconds;
    if (p->opt->calls == CALLS_ROUND || p->opt->calls == CALLS_AHEAD) {
        double start = MPI_Wtime();
        for (long i = 0; i < iters; i++) {
            if (p->opt->touch)
                touching_call(kind, p, root, MPI_COMM_WORLD);
            else
                call(kind, p, root, MPI_COMM_WORLD);
            last_root = root;
            if (p->opt->calls == CALLS_ROUND)
                root = root + 1 < p->opt->ranks ? root + 1 : 0;
        }
        seconds = MPI_Wtime() - start;
    } else {
        seconds = repeat_alone(p, iters, &last_root);
    }
    check(kind, p, last_root);
    return seconds;
}

int run_collective(const struct options *given)
{
    static const char *const calls[CALLS] = {"", ", ahead", ", alone", ", late", ", fresh"};
    static char name[64];
    struct options named = *given;
    const struct options *opt = &named;
    snprintf(name, sizeof name, "%s%s%s", given->mode, calls[given->calls], given->touch ? ", touched" : "");
    long sizes[MAX_SIZES] = {0};
    enum kind kind = BARRIER;
    while (strcmp(names[kind], given->mode) != 0)
        kind++;
    named.mode = name;
    int sums = sums_up(kind);
    int count = kind == BARRIER ? 1 : list_sizes(opt, sums ? (long)sizeof(double) : 1, sizes);
    size_t blocks = kind >= GATHER ? (size_t)opt->ranks : 1;
    lengths = calloc((size_t)opt->ranks, sizeof *lengths);
    starts = calloc((size_t)opt->ranks, sizeof *starts);
    if (!lengths || !starts)
        die("out of memory for the blocks of %d ranks", opt->ranks);
    for (int i = 0; i < count; i++) {
        struct point p = {.opt = opt, .scope = SCOPE_ALL, .run = repeat, .extra = &kind};
        struct summary s = {0};
        p.size = sums ? sizes[i] / (long)sizeof(double) * (long)sizeof(double) : sizes[i];
        p.send = bench_alloc(opt, blocks * (size_t)p.size);
        p.recv = bench_alloc(opt, blocks * (size_t)p.size);
        if (sums)
            memset(p.send, 0, blocks * (size_t)p.size);
        for (int r = 0; r < opt->ranks; r++) {
            lengths[r] = (int)(sums ? p.size / (long)sizeof(double) : p.size);
            starts[r] = r * lengths[r];
        }
        measure(&p, &s);
        report(opt, "us", p.size, &s, 0, 1e6);
        bench_free(opt, p.send);
        bench_free(opt, p.recv);
    }
    free(lengths);
    free(starts);
    return 0;
}
