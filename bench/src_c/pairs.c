/* The map of a machine: time one way and bandwidth between every two ranks, one pair after the other while the rest
 * waits in a barrier. Few batches for each pair: there are many pairs. */
#include "hpvmbench.h"
#include "batches.h"

#include <stdio.h>
#include <stdlib.h>

enum { PAIR_BATCHES = 9, TAG_RESULT = 5 };

struct pair {
    int low, high;
};

static double ping_pong(const struct point *p, const struct pair *pair, long iters)
{
    int first = p->opt->rank == pair->low, peer = first ? pair->high : pair->low, count = (int)p->size;
    double start = MPI_Wtime();
    for (long i = 0; i < iters; i++) {
        if (first)
            MPI_Send(p->send, count, MPI_BYTE, peer, TAG_DATA, MPI_COMM_WORLD);
        MPI_Recv(p->recv, count, MPI_BYTE, peer, TAG_DATA, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (!first)
            MPI_Send(p->send, count, MPI_BYTE, peer, TAG_DATA, MPI_COMM_WORLD);
    }
    return 0.5 * (MPI_Wtime() - start) / (double)iters;
}

/* Repetitions that last about a batch, as the lower rank sees it. */
static long repetitions(const struct point *p, const struct pair *pair)
{
    double once = ping_pong(p, pair, 20);
    long iters = (long)(p->opt->batch / (2 * once > 1e-8 ? 2 * once : 1e-8)) + 1;
    if (p->opt->rank == pair->low)
        MPI_Send(&iters, 1, MPI_LONG, pair->high, TAG_CONTROL, MPI_COMM_WORLD);
    else
        MPI_Recv(&iters, 1, MPI_LONG, pair->low, TAG_CONTROL, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return iters;
}

static void time_pair(const struct point *p, const struct pair *pair, double *seconds)
{
    ping_pong(p, pair, 20);
    long iters = repetitions(p, pair);
    for (int i = 0; i < PAIR_BATCHES; i++)
        seconds[i] = ping_pong(p, pair, iters);
    if (p->opt->rank == pair->low && pair->low != 0)
        MPI_Send(seconds, PAIR_BATCHES, MPI_DOUBLE, 0, TAG_RESULT, MPI_COMM_WORLD);
}

static void tell(const struct point *p, const struct pair *pair, double *seconds)
{
    char name[32];
    snprintf(name, sizeof name, "%d-%d", pair->low, pair->high);
    if (pair->low != 0)
        MPI_Recv(seconds, PAIR_BATCHES, MPI_DOUBLE, pair->low, TAG_RESULT, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    qsort(seconds, PAIR_BATCHES, sizeof *seconds, ascending);
    struct summary s = {.median = seconds[PAIR_BATCHES / 2], .min = seconds[0],
                        .max = seconds[PAIR_BATCHES - 1], .iters = 1, .batches = PAIR_BATCHES, .seconds = seconds};
    /* Small messages are a matter of time, large ones of bandwidth. */
    if (p->size < 4096)
        report_of(p->opt, name, "latency", "us", p->size, &s, 0, 1e6);
    else
        report_of(p->opt, name, "bandwidth", "MB/s", p->size, &s, (double)p->size, 1e-6);
}

int run_pairs(const struct options *opt)
{
    long sizes[MAX_SIZES];
    int count = list_sizes(opt, 0, sizes);
    for (int i = 0; i < count; i++) {
        struct point p = {.opt = opt, .size = sizes[i]};
        p.send = bench_alloc(opt, (size_t)sizes[i]);
        p.recv = bench_alloc(opt, (size_t)sizes[i]);
        for (int low = 0; low < opt->ranks; low++) {
            for (int high = low + 1; high < opt->ranks; high++) {
                struct pair pair = {low, high};
                double seconds[PAIR_BATCHES];
                MPI_Barrier(MPI_COMM_WORLD);
                if (opt->rank == low || opt->rank == high)
                    time_pair(&p, &pair, seconds);
                if (opt->rank == 0)
                    tell(&p, &pair, seconds);
            }
        }
        bench_free(opt, p.send);
        bench_free(opt, p.recv);
    }
    return 0;
}
