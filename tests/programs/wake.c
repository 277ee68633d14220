/* Going to sleep just when a message comes: wake none|first|last|all ROUNDS, where membarrier is
 * forbidden in the named ranks. A wake-up that is lost shows as a long round. Time in which a process stood
 * still, as a second thread of it sees, does not count. Rank 0 says
 * "R rounds, L longer than 0.3 s, W wrong". */
#include "forbid.h"
#include <mpi.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

enum { TICK = 5 /* milliseconds */, STILL = 25 /* so much between two ticks is no tick any more */ };

/* Milliseconds in which this process did not run although it would have. */
static atomic_long still;

static void pause_for(long nanoseconds)
{
    struct timespec t = { 0, nanoseconds };
    nanosleep(&t, NULL);
}

static void *tick(void *nothing)
{
    for (double last = MPI_Wtime(), now;; last = now) {
        pause_for(TICK * 1000000L);
        now = MPI_Wtime();
        long between = (long)(1e3 * (now - last));
        if (between > STILL)
            still += between;
    }
    return nothing;
}

/* Rounds that were longer than 0.3 s, without what any process stood still in them or around them. */
static int late_rounds(int rank, int rounds, const double *took, const double *paused)
{
    int late = 0;
    double *longest = calloc((size_t)rounds, sizeof *longest), *all = calloc((size_t)rounds, sizeof *all);
    MPI_Reduce(took, longest, rounds, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    MPI_Reduce(paused, all, rounds, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    for (int i = 0; i < rounds && rank == 0; i++) {
        /* One rank's round begins while another's ends. */
        double before = i > 0 ? all[i - 1] : 0, after = i + 1 < rounds ? all[i + 1] : 0;
        late += longest[i] - (before + all[i] + after) > 0.3;
    }
    free(longest);
    free(all);
    return late;
}

int main(int argc, char **argv)
{
    int rank, size, level, wrong = 0;
    pthread_t ticking;
    if (argc < 3)
        return 2;
    forbid_in(argv[1], SYS_membarrier);
    int rounds = atoi(argv[2]);
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
    double *took = calloc((size_t)rounds, sizeof *took), *paused = calloc((size_t)rounds, sizeof *paused);
    pthread_create(&ticking, NULL, tick, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    srand(1);
    for (int round = 0; round < rounds; round++) {
        /* From below to well above the time a rank polls before it sleeps; the same in all. */
        long nap = (long)(rand() % 400) * 1000;
        int token = rank == 0 ? round : -1;
        double start = MPI_Wtime();
        long before = still;
        if (rank == round % size)
            pause_for(nap);
        if (rank == 0) {
            MPI_Send(&token, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
            MPI_Recv(&token, 1, MPI_INT, size - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            wrong += token != round + size - 1;
        } else {
            MPI_Recv(&token, 1, MPI_INT, rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            token++;
            MPI_Send(&token, 1, MPI_INT, (rank + 1) % size, 0, MPI_COMM_WORLD);
        }
        took[round] = MPI_Wtime() - start;
        /* It may not have seen yet that it goes on. */
        if (took[round] > 0.3)
            pause_for(2 * TICK * 1000000L);
        paused[round] = 1e-3 * (double)(still - before);
    }
    int late = late_rounds(rank, rounds, took, paused);
    MPI_Finalize();
    if (rank == 0)
        printf("%d rounds, %d longer than 0.3 s, %d wrong\n", rounds, late, wrong);
    return wrong != 0;
}
