/* Message rate: ranks of the lower half each stream small messages to their partner in the
 * upper half, all at once; the sum over the pairs, in million messages a second. */
#include "hpvmbench.h"

#include <stdlib.h>

static double stream(struct point *p, long iters)
{
    MPI_Request *requests = p->extra;
    const struct options *opt = p->opt;
    int half = opt->ranks / 2, window = opt->window, count = (int)p->size;
    char ack = 0;
    if (opt->rank >= 2 * half)
        return 0.0;
    stamp(p->send, p->size, p->batch_no + opt->rank);
    double start = MPI_Wtime();
    for (long i = 0; i < iters; i++) {
        if (opt->rank < half) {
            int peer = opt->rank + half;
            for (int w = 0; w < window; w++)
                MPI_Isend(p->send, count, MPI_BYTE, peer, TAG_DATA, MPI_COMM_WORLD, &requests[w]);
            MPI_Waitall(window, requests, MPI_STATUSES_IGNORE);
            MPI_Recv(&ack, 1, MPI_BYTE, peer, TAG_ACK, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            int peer = opt->rank - half;
            for (int w = 0; w < window; w++)
                MPI_Irecv(p->recv, count, MPI_BYTE, peer, TAG_DATA, MPI_COMM_WORLD, &requests[w]);
            MPI_Waitall(window, requests, MPI_STATUSES_IGNORE);
            MPI_Send(&ack, 1, MPI_BYTE, peer, TAG_ACK, MPI_COMM_WORLD);
        }
    }
    double seconds = MPI_Wtime() - start;
    if (opt->rank >= half)
        check_stamp(p, p->recv, p->batch_no + opt->rank - half, "message of the rate test");
    return seconds;
}

int run_rate(const struct options *opt)
{
    long sizes[MAX_SIZES];
    int count = list_sizes(opt, 0, sizes);
    MPI_Request *requests = malloc((size_t)opt->window * sizeof *requests);
    if (!requests)
        die("out of memory for a --window of %d requests", opt->window);
    for (int i = 0; i < count; i++) {
        struct point p = {.opt = opt, .scope = SCOPE_ALL, .size = sizes[i], .run = stream};
        struct summary s = {0};
        p.extra = requests;
        p.send = bench_alloc(opt, (size_t)sizes[i]);
        p.recv = bench_alloc(opt, (size_t)sizes[i]);
        measure(&p, &s);
        report(opt, "M/s", sizes[i], &s, (double)opt->window * (opt->ranks / 2), 1e-6);
        bench_free(opt, p.send);
        bench_free(opt, p.recv);
    }
    free(requests);
    return 0;
}
