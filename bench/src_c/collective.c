/* Time of a collective operation, on the slowest rank. The roots of bcast and reduce go
 * round, so that an early root cannot run ahead of the others by the whole batch. */
#include "hpvmbench.h"

#include <string.h>

enum kind { BARRIER, BCAST, REDUCE, ALLREDUCE, ALLGATHER, ALLTOALL };

static const char *const names[] = {"barrier", "bcast", "reduce", "allreduce", "allgather",
                                    "alltoall"};

static void call(enum kind kind, struct point *p, int root)
{
    MPI_Comm world = MPI_COMM_WORLD;
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
    case ALLGATHER:
        MPI_Allgather(p->send, bytes, MPI_BYTE, p->recv, bytes, MPI_BYTE, world);
        break;
    case ALLTOALL:
        MPI_Alltoall(p->send, bytes, MPI_BYTE, p->recv, bytes, MPI_BYTE, world);
        break;
    }
}

/* Small whole numbers: their sum is exact in any order of addition. */
static void fill_sums(struct point *p)
{
    double *values = (double *)p->send;
    long last = p->size / (long)sizeof(double) - 1;
    values[0] = (double)(p->opt->rank + p->batch_no % 1000);
    values[last] = (double)(p->opt->rank + p->batch_no % 1000 + 1);
}

static void check_sums(const struct point *p)
{
    const double *values = (const double *)p->recv;
    long last = p->size / (long)sizeof(double) - 1;
    double n = p->opt->ranks, base = n * (n - 1) / 2 + n * (double)(p->batch_no % 1000);
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
            check_sums(p);
        break;
    case ALLREDUCE:
        check_sums(p);
        break;
    case ALLGATHER:
        for (int r = 0; r < opt->ranks; r++)
            check_stamp(p, p->recv + r * p->size, p->batch_no + r, "block of an allgather");
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
    if (kind == REDUCE || kind == ALLREDUCE)
        fill_sums(p);
    else if (kind == ALLTOALL)
        for (int r = 0; r < opt->ranks; r++)
            stamp(p->send + r * p->size, p->size, p->batch_no + opt->rank + 7 * r);
    else
        stamp(p->send, p->size, p->batch_no + opt->rank);
}

static double repeat(struct point *p, long iters)
{
    enum kind kind = *(enum kind *)p->extra;
    int root = 0, last_root = 0;
    prepare(kind, p);
    double start = MPI_Wtime();
    for (long i = 0; i < iters; i++) {
        call(kind, p, root);
        last_root = root;
        root = root + 1 < p->opt->ranks ? root + 1 : 0;
    }
    double seconds = MPI_Wtime() - start;
    check(kind, p, last_root);
    return seconds;
}

int run_collective(const struct options *opt)
{
    long sizes[MAX_SIZES] = {0};
    enum kind kind = BARRIER;
    while (strcmp(names[kind], opt->mode) != 0)
        kind++;
    int sums = kind == REDUCE || kind == ALLREDUCE;
    int count = kind == BARRIER ? 1 : list_sizes(opt, sums ? (long)sizeof(double) : 1, sizes);
    size_t blocks = kind == ALLGATHER || kind == ALLTOALL ? (size_t)opt->ranks : 1;
    for (int i = 0; i < count; i++) {
        struct point p = {.opt = opt, .scope = SCOPE_ALL, .run = repeat, .extra = &kind};
        struct summary s = {0};
        p.size = sums ? sizes[i] / (long)sizeof(double) * (long)sizeof(double) : sizes[i];
        p.send = bench_alloc(opt, blocks * (size_t)p.size);
        p.recv = bench_alloc(opt, blocks * (size_t)p.size);
        if (sums)
            memset(p.send, 0, (size_t)p.size);
        measure(&p, &s);
        report(opt, "us", p.size, &s, 0, 1e6);
        bench_free(opt, p.send);
        bench_free(opt, p.recv);
    }
    return 0;
}
