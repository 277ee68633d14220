/* One-way time: half the round trip of a ping-pong between ranks 0 and 1. */
#include "hpvmbench.h"

#include <stdio.h>
#include <string.h>

static void send(struct point *p, int to)
{
    if (p->opt->touch) {
        memset(p->send, (int)p->batch_no, (size_t)p->size);
        stamp(p->send, p->size, p->batch_no + p->opt->rank);
    }
    MPI_Send(p->send, (int)p->size, MPI_BYTE, to, TAG_DATA, MPI_COMM_WORLD);
}

static void receive(struct point *p, int from)
{
    MPI_Recv(p->recv, (int)p->size, MPI_BYTE, from, TAG_DATA, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (p->opt->touch)
        read_all(p->recv, (size_t)p->size);
}

static double ping_pong(struct point *p, long iters)
{
    stamp(p->send, p->size, p->batch_no + p->opt->rank);
    double start = MPI_Wtime();
    if (p->opt->rank == 0) {
        for (long i = 0; i < iters; i++) {
            send(p, 1);
            receive(p, 1);
        }
    } else {
        for (long i = 0; i < iters; i++) {
            receive(p, 0);
            send(p, 0);
        }
    }
    double seconds = 0.5 * (MPI_Wtime() - start);
    /* Each gets what the other stamped, or, in one buffer, both what rank 0 did. */
    long seed = p->opt->one_buffer && !p->opt->touch ? p->batch_no : p->batch_no + 1 - p->opt->rank;
    check_stamp(p, p->recv, seed, "ping-pong message");
    return seconds;
}

int run_latency(const struct options *given)
{
    static char name[64];
    struct options named = *given;
    const struct options *opt = &named;
    snprintf(name, sizeof name, "%s%s", given->mode, given->touch ? ", touched" : "");
    named.mode = name;
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
