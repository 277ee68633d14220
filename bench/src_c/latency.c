/* One-way time: half the round trip of a ping-pong between ranks 0 and 1. */
#include "hpvmbench.h"

#include <string.h>

static void send(struct point *p, int to)
{
    if (p->opt->rewrite) {
        memset(p->send, (int)p->batch_no, (size_t)p->size);
        stamp(p->send, p->size, p->batch_no + p->opt->rank);
    }
    MPI_Send(p->send, (int)p->size, MPI_BYTE, to, TAG_DATA, MPI_COMM_WORLD);
}

static double ping_pong(struct point *p, long iters)
{
    int count = (int)p->size;
    stamp(p->send, p->size, p->batch_no + p->opt->rank);
    double start = MPI_Wtime();
    if (p->opt->rank == 0) {
        for (long i = 0; i < iters; i++) {
            send(p, 1);
            MPI_Recv(p->recv, count, MPI_BYTE, 1, TAG_DATA, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
    } else {
        for (long i = 0; i < iters; i++) {
            MPI_Recv(p->recv, count, MPI_BYTE, 0, TAG_DATA, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            send(p, 0);
        }
    }
    double seconds = 0.5 * (MPI_Wtime() - start);
    /* Each gets what the other stamped, or, in one buffer, both what rank 0 did. */
    long seed = p->opt->one_buffer && !p->opt->rewrite ? p->batch_no : p->batch_no + 1 - p->opt->rank;
    check_stamp(p, p->recv, seed, "ping-pong message");
    return seconds;
}

int run_latency(const struct options *opt)
{
    long sizes[MAX_SIZES];
    int count = list_sizes(opt, 0, sizes);
    if (opt->rank > 1)
        return 0;
    for (int i = 0; i < count; i++) {
        struct point p = {.opt = opt, .scope = SCOPE_PAIR, .size = sizes[i], .run = ping_pong};
        struct summary s = {0};
        p.send = bench_alloc(opt, (size_t)sizes[i]);
        p.recv = opt->one_buffer ? p.send : bench_alloc(opt, (size_t)sizes[i]);
        measure(&p, &s);
        report(opt, "us", sizes[i], &s, 0, 1e6);
        bench_free(opt, p.send);
        if (!opt->one_buffer)
            bench_free(opt, p.recv);
    }
    return 0;
}
