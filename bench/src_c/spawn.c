/* MPI_Comm_spawn of as many processes as the sizes say, which do nothing but to initialise, disconnect and finalise: seconds from the
 * call to its return, when all of them are there and connected. Beside it belongs the time to start as many ("startup"). */
#include "hpvmbench.h"

#include <limits.h>
#include <unistd.h>

static double spawn(const char *program, int processes)
{
    static char mode[] = "startup";
    char *arguments[] = {mode, NULL};
    MPI_Comm children;
    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime();
    MPI_Comm_spawn(program, arguments, processes, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children, MPI_ERRCODES_IGNORE);
    double seconds = MPI_Wtime() - start;
    MPI_Comm_disconnect(&children);
    return seconds;
}

/* Once for each size, unless --iters says more: there are libraries that take seconds, and whose second call fails. */
int run_spawn(const struct options *opt)
{
    static double seconds[MAX_BATCHES];
    long sizes[MAX_SIZES] = {1, 8, 32};
    int count = opt->size_count > 0 ? list_sizes(opt, 1, sizes) : 3;
    int times = opt->iters <= 0 ? 1 : opt->iters < MAX_BATCHES ? (int)opt->iters : MAX_BATCHES;
    char program[PATH_MAX] = "";
    if (readlink("/proc/self/exe", program, sizeof program - 1) < 0)
        die("cannot find out which program this is");
    for (int i = 0; i < count; i++) {
        struct summary s = {0};
        for (int n = 0; n < times; n++)
            seconds[n] = spawn(program, (int)sizes[i]);
        summarise(seconds, times, 1, &s);
        report(opt, "s", sizes[i], &s, 0, 1);
    }
    return 0;
}

/* Those who have spawned this process, if any have, go on without it. */
int run_startup(const struct options *opt)
{
    MPI_Comm parent;
    (void)opt;
    MPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL)
        MPI_Comm_disconnect(&parent);
    return 0;
}
