/* Memory that a rank holds after MPI_Init and one barrier: the proportional set size of all ranks
 * together, in which pages that several ranks share count once, less that of a program without MPI,
 * divided by the ranks. Everybody sleeps meanwhile. */
#include "hpvmbench.h"

#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static void nap(long milliseconds)
{
    struct timespec t = {milliseconds / 1000, milliseconds % 1000 * 1000000};
    nanosleep(&t, NULL);
}

/* In KiB; "self" or a number. */
static double proportional_set_size(const char *process)
{
    char path[64], line[256];
    long pss = -1;
    snprintf(path, sizeof path, "/proc/%s/smaps_rollup", process);
    FILE *file = fopen(path, "r");
    if (!file)
        die("cannot open %s, which Linux has from 4.14 on", path);
    while (pss < 0 && fgets(line, sizeof line, file))
        if (sscanf(line, "Pss: %ld kB", &pss) != 1)
            pss = -1;
    fclose(file);
    if (pss < 0)
        die("no line Pss: in %s", path);
    return (double)pss;
}

/* Of a program that only sleeps. */
static double without_mpi(void)
{
    char *const arguments[] = {"sleep", "60", NULL};
    char process[32];
    pid_t child;
    if (posix_spawnp(&child, arguments[0], NULL, NULL, arguments, environ) != 0)
        die("cannot start 'sleep 60', beside which memory is measured");
    nap(200);
    snprintf(process, sizeof process, "%ld", (long)child);
    double pss = proportional_set_size(process);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    return pss;
}

int run_memory(const struct options *opt)
{
    double sum, least, most;
    MPI_Barrier(MPI_COMM_WORLD);
    double base = opt->rank == 0 ? without_mpi() : 0;
    if (opt->rank != 0)
        nap(500);
    double own = proportional_set_size("self");
    MPI_Reduce(&own, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Reduce(&own, &least, 1, MPI_DOUBLE, MPI_MIN, 0, MPI_COMM_WORLD);
    MPI_Reduce(&own, &most, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (opt->rank == 0) {
        printf("{\"mode\":\"memory\",\"ranks\":%d,\"size\":0,\"unit\":\"KiB\",\"median\":%.6g,"
               "\"min\":%.6g,\"max\":%.6g,\"iters\":1,\"batches\":1}\n",
               opt->ranks, sum / opt->ranks - base, least - base, most - base);
        fflush(stdout);
    }
    return 0;
}
