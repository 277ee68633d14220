/* Ways to end a job from where little may be done: ends CASE.
 *
 * handler [threads]   rank 0 calls MPI_Abort(.., 5) in a signal handler while it sends to itself
 * aborts-0            rank 0 calls MPI_Abort(.., 0)
 * aborts              rank 0 calls MPI_Abort(.., 4); standard error is a pipe that nobody reads
 * fatal               rank 0 makes a mistake; standard error is a pipe that nobody reads
 * waits FILE          an atexit handler that calls MPI, and writes its pid to FILE before it waits for ever
 */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

static void on_alarm(int signal)
{
    (void)signal;
    MPI_Abort(MPI_COMM_WORLD, 5);
}

static void at_exit(void)
{
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
}

/* What is written to standard error from now on raises SIGPIPE, or EPIPE. */
static void nobody_reads(void)
{
    int ends[2];
    if (pipe(ends) != 0) exit(99);
    close(ends[0]);
    dup2(ends[1], 2);
    close(ends[1]);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    int rank, size, provided, number;
    int threads = strcmp(what, "waits") == 0 || (argc > 2 && strcmp(argv[2], "threads") == 0);
    MPI_Init_thread(&argc, &argv, threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (strcmp(what, "waits") == 0) {
        char name[4096];
        atexit(at_exit);
        snprintf(name, sizeof name, "%s.%d", argv[2], rank);
        FILE *file = fopen(name, "w");
        if (!file) return 98;
        fprintf(file, "%d\n", (int)getpid());
        fclose(file);
    } else if (rank == 0 && strcmp(what, "handler") == 0) {
        struct itimerval soon = {{0, 0}, {0, 50000}};
        signal(SIGALRM, on_alarm);
        setitimer(ITIMER_REAL, &soon, NULL);
        for (;;)
            MPI_Sendrecv(&size, 1, MPI_INT, 0, 0, &number, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (rank == 0 && strcmp(what, "aborts-0") == 0) {
        MPI_Abort(MPI_COMM_WORLD, 0);
    } else if (rank == 0 && strcmp(what, "aborts") == 0) {
        nobody_reads();
        MPI_Abort(MPI_COMM_WORLD, 4);
    } else if (rank == 0 && strcmp(what, "fatal") == 0) {
        nobody_reads();
        MPI_Send(&number, 1, MPI_INT, -77, 0, MPI_COMM_WORLD);
    }
    /* Nobody sends. */
    MPI_Recv(&number, 1, MPI_INT, size - 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return 97;
}
