/* How much of the time of a nonblocking exchange disappears behind computing: ranks 0 and 1 exchange a message each way,
 * first with nothing between start and MPI_Waitall, then with computing that lasts as long as the exchange did. 100 %
 * when the exchange adds nothing to the computing, 0 % when it begins after it. The computing calls no MPI. */
#include "hpvmbench.h"
#include "batches.h"

#include <stdio.h>
#include <stdlib.h>

static void compute(double seconds)
{
    double end = MPI_Wtime() + seconds;
    while (MPI_Wtime() < end)
        ;
}

static double exchange(struct point *p, long iters)
{
    double between = *(double *)p->extra;
    int count = (int)p->size, peer = 1 - p->opt->rank;
    stamp(p->send, p->size, p->batch_no + p->opt->rank);
    double start = MPI_Wtime();
    for (long i = 0; i < iters; i++) {
        MPI_Request both[2];
        MPI_Irecv(p->recv, count, MPI_BYTE, peer, TAG_DATA, MPI_COMM_WORLD, &both[0]);
        MPI_Isend(p->send, count, MPI_BYTE, peer, TAG_DATA, MPI_COMM_WORLD, &both[1]);
        if (between > 0)
            compute(between);
        MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
    }
    double seconds = MPI_Wtime() - start;
    check_stamp(p, p->recv, p->batch_no + peer, "message of the overlap test");
    return seconds;
}

/* Both ranks learn how long the exchange alone takes. */
static double agreed(const struct options *opt, double alone)
{
    if (opt->rank == 0)
        MPI_Send(&alone, 1, MPI_DOUBLE, 1, TAG_CONTROL, MPI_COMM_WORLD);
    else
        MPI_Recv(&alone, 1, MPI_DOUBLE, 0, TAG_CONTROL, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return alone;
}

static double hidden(double both, double alone)
{
    double share = 100 * (2 * alone - both) / alone;
    return share < 0 ? 0 : share > 100 ? 100 : share;
}

/* Times of both together become percentages. */
static struct summary in_percent(const struct summary *times, double alone)
{
    static double shares[MAX_BATCHES];
    struct summary s = {.iters = times->iters, .batches = times->batches, .seconds = shares};
    for (int i = 0; i < times->batches; i++)
        shares[i] = hidden(times->seconds[i], alone);
    qsort(shares, (size_t)s.batches, sizeof *shares, ascending);
    s.median = hidden(times->median, alone);
    s.min = shares[0];
    s.max = shares[s.batches - 1];
    return s;
}

int run_overlap(const struct options *opt)
{
    long sizes[MAX_SIZES];
    int count = list_sizes(opt, 1, sizes);
    if (opt->rank > 1)
        return 0;
    for (int i = 0; i < count; i++) {
        double between = 0;
        struct point p = {.opt = opt, .scope = SCOPE_PAIR, .size = sizes[i], .run = exchange, .extra = &between};
        struct summary alone = {0}, both = {0};
        p.send = bench_alloc(opt, (size_t)sizes[i]);
        p.recv = bench_alloc(opt, (size_t)sizes[i]);
        measure(&p, &alone);
        between = agreed(opt, alone.median);
        measure(&p, &both);
        if (opt->rank == 0) {
            struct summary shares = in_percent(&both, alone.median);
            report(opt, "%", sizes[i], &shares, 0, 1);
        }
        bench_free(opt, p.send);
        bench_free(opt, p.recv);
    }
    return 0;
}
