/* One-way time: half the round trip of a ping-pong between ranks 0 and 1. */
#include "hpvmbench.h"

static double ping_pong(struct point *p, long iters)
{
    int count = (int)p->size;
    stamp(p->send, p->size, p->batch_no + p->opt->rank);
    double start = MPI_Wtime();
    if (p->opt->rank == 0) {
        for (long i = 0; i < iters; i++) {
            MPI_Send(p->send, count, MPI_BYTE, 1, TAG_DATA, MPI_COMM_WORLD);
            MPI_Recv(p->recv, count, MPI_BYTE, 1, TAG_DATA, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
    } else {
        for (long i = 0; i < iters; i++) {
            MPI_Recv(p->recv, count, MPI_BYTE, 0, TAG_DATA, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(p->send, count, MPI_BYTE, 0, TAG_DATA, MPI_COMM_WORLD);
        }
    }
    double seconds = 0.5 * (MPI_Wtime() - start);
    check_stamp(p, p->recv, p->batch_no + 1 - p->opt->rank, "ping-pong message");
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
        p.recv = bench_alloc(opt, (size_t)sizes[i]);
        measure(&p, &s);
        report(opt, "us", sizes[i], &s, 0, 1e6);
        bench_free(opt, p.send);
        bench_free(opt, p.recv);
    }
    return 0;
}
