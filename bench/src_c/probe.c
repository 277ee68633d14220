/* What a look for messages costs when there are none: MPI_Iprobe on rank 0 while the others wait. */
#include "hpvmbench.h"

static double probe(struct point *p, long iters)
{
    int found = 0;
    (void)p;
    double start = MPI_Wtime();
    for (long i = 0; i < iters; i++) {
        int there = 0;
        MPI_Iprobe(MPI_ANY_SOURCE, TAG_DATA, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
        found |= there;
    }
    double seconds = MPI_Wtime() - start;
    if (found)
        die("MPI_Iprobe has found a message that nobody has sent");
    return seconds;
}

int run_probe(const struct options *opt)
{
    struct point p = {.opt = opt, .scope = SCOPE_SELF, .run = probe};
    struct summary s = {0};
    if (opt->rank != 0)
        return 0;
    measure(&p, &s);
    report(opt, "us", 0, &s, 0, 1e6);
    return 0;
}
