/* Wake-up: how long a message takes to a receiver that has waited for a while, and how much
 * processor time the waiting cost. Rank 1 sits in MPI_Recv; rank 0 sleeps, sends, and takes
 * the round trip; the way back is hot, so a hot one-way time is subtracted. */
#include "hpvmbench.h"
#include "batches.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { ROUNDS = 25, HOT = 2000 };

static void sleep_for(double seconds)
{
    struct timespec left;
    left.tv_sec = (time_t)seconds;
    left.tv_nsec = (long)(1e9 * (seconds - (double)left.tv_sec));
    while (nanosleep(&left, &left) != 0 && errno == EINTR)
        ;
}

static double processor_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double median(double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, ascending);
    return values[count / 2];
}

/* The reply carries the processor time of the wait and the time that waiting took. */
static void answer(int rounds)
{
    double waited[2];
    for (int i = 0; i < rounds; i++) {
        double start = MPI_Wtime(), used = processor_seconds();
        MPI_Recv(NULL, 0, MPI_BYTE, 0, TAG_DATA, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        waited[0] = processor_seconds() - used;
        waited[1] = MPI_Wtime() - start;
        MPI_Send(waited, 2, MPI_DOUBLE, 0, TAG_ACK, MPI_COMM_WORLD);
    }
}

static double round_trip(double waited[2])
{
    double start = MPI_Wtime();
    MPI_Send(NULL, 0, MPI_BYTE, 1, TAG_DATA, MPI_COMM_WORLD);
    MPI_Recv(waited, 2, MPI_DOUBLE, 1, TAG_ACK, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return MPI_Wtime() - start;
}

static void ask(const struct options *opt, double pause, double hot)
{
    double times[ROUNDS], waited[2], used = 0, wall = 0;
    for (int i = 0; i < ROUNDS; i++) {
        sleep_for(pause);
        times[i] = 1e6 * (round_trip(waited) - hot);
        used += waited[0];
        wall += waited[1];
    }
    double middle = median(times, ROUNDS);
    printf("{\"mode\":\"wakeup\",\"ranks\":%d,\"size\":%ld,\"unit\":\"us\",\"median\":%.6g,"
           "\"min\":%.6g,\"max\":%.6g,\"iters\":1,\"batches\":%d,\"cpu_share\":%.4f}\n",
           opt->ranks, (long)(1e6 * pause), middle, times[0], times[ROUNDS - 1], ROUNDS,
           wall > 0 ? used / wall : 0);
    fflush(stdout);
}

/* Here "size" is the pause before the message, in microseconds. */
int run_wakeup(const struct options *opt)
{
    static const double pauses[] = {0.0001, 0.001, 0.01, 0.05};
    static double hot[HOT];
    int count = (int)(sizeof pauses / sizeof *pauses);
    if (opt->rank > 1)
        return 0;
    if (opt->rank == 1) {
        answer(HOT + count * ROUNDS);
        return 0;
    }
    for (int i = 0; i < HOT; i++) {
        double waited[2];
        hot[i] = 0.5 * round_trip(waited);
    }
    double one_way = median(hot, HOT);
    for (int i = 0; i < count; i++)
        ask(opt, pauses[i], one_way);
    return 0;
}
