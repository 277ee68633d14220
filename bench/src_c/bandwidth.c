/* Bandwidth from rank 0 to rank 1: a window of messages in flight, the clock stopped at
 * the acknowledgement of the whole window. Further ranks of the job sit idle, waiting in
 * the barrier at the program's end, as in the 1998 test of static credits.
 *
 * All receives of a window share one buffer and all messages carry the same bytes, as in
 * other MPI benchmarks: the curve then shows the messaging and not the size of the cache. */
#include "hpvmbench.h"

#include <stdlib.h>

static double windows(struct point *p, long iters)
{
    MPI_Request *requests = p->extra;
    int window = p->opt->window, count = (int)p->size;
    char ack = 0;
    stamp(p->send, p->size, p->batch_no);
    double start = MPI_Wtime();
    for (long i = 0; i < iters; i++) {
        if (p->opt->rank == 0) {
            for (int w = 0; w < window; w++)
                MPI_Isend(p->send, count, MPI_BYTE, 1, TAG_DATA, MPI_COMM_WORLD, &requests[w]);
            MPI_Waitall(window, requests, MPI_STATUSES_IGNORE);
            MPI_Recv(&ack, 1, MPI_BYTE, 1, TAG_ACK, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            for (int w = 0; w < window; w++)
                MPI_Irecv(p->recv, count, MPI_BYTE, 0, TAG_DATA, MPI_COMM_WORLD, &requests[w]);
            MPI_Waitall(window, requests, MPI_STATUSES_IGNORE);
            MPI_Send(&ack, 1, MPI_BYTE, 0, TAG_ACK, MPI_COMM_WORLD);
        }
    }
    double seconds = MPI_Wtime() - start;
    if (p->opt->rank == 1)
        check_stamp(p, p->recv, p->batch_no, "bandwidth message");
    return seconds;
}

int run_bandwidth(const struct options *opt)
{
    long sizes[MAX_SIZES];
    int count = list_sizes(opt, 1, sizes);
    if (opt->rank > 1)
        return 0;
    MPI_Request *requests = malloc((size_t)opt->window * sizeof *requests);
    if (!requests)
        die("out of memory for a --window of %d requests", opt->window);
    for (int i = 0; i < count; i++) {
        struct point p = {.opt = opt, .scope = SCOPE_PAIR, .size = sizes[i], .run = windows};
        struct summary s = {0};
        p.extra = requests;
        p.send = bench_alloc(opt, (size_t)sizes[i]);
        p.recv = bench_alloc(opt, (size_t)sizes[i]);
        measure(&p, &s);
        report(opt, "MB/s", sizes[i], &s, (double)opt->window * (double)sizes[i], 1e-6);
        bench_free(opt, p.send);
        bench_free(opt, p.recv);
    }
    free(requests);
    return 0;
}
