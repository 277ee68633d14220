/* What waiting costs: idle recv|waitany|barrier SECONDS|FILE. Rank 0 sleeps outside MPI for so long, or until there is
 * such a file (with a slash in its name), while the others wait for it; each other rank prints "wait W us, cpu C us". */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static void sleep_until(const char *what)
{
    double seconds = atof(what);
    struct timespec pause = { (time_t)seconds, (long)(1e9 * (seconds - (time_t)seconds)) };
    if (!strchr(what, '/'))
        nanosleep(&pause, NULL);
    else
        while (access(what, F_OK) != 0)
            usleep(10000);
}

static double cpu(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return 1e6 * (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

static void wait_for_zero(const char *how)
{
    int got[2] = { 0, 0 }, which = -1;
    if (!strcmp(how, "recv")) {
        MPI_Recv(got, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (!strcmp(how, "waitany")) {
        MPI_Request requests[2];
        MPI_Irecv(&got[1], 1, MPI_INT, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, &requests[0]);
        MPI_Irecv(got, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &requests[1]);
        MPI_Waitany(2, requests, &which, MPI_STATUS_IGNORE);
        MPI_Cancel(&requests[0]);
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        got[0] *= which == 1;
    } else {
        MPI_Barrier(MPI_COMM_WORLD);
        return;
    }
    if (got[0] != 4711) {
        fprintf(stderr, "idle: received %d\n", got[0]);
        MPI_Abort(MPI_COMM_WORLD, 3);
    }
}

int main(int argc, char **argv)
{
    int rank, size, message = 4711;
    MPI_Init(&argc, &argv);
    if (argc < 3)
        MPI_Abort(MPI_COMM_WORLD, 2);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime(), before = cpu();
    /* Nobody sleeps before all have looked at the clock. */
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        sleep_until(argv[2]);
        if (!strcmp(argv[1], "barrier"))
            MPI_Barrier(MPI_COMM_WORLD);
        else
            for (int i = 1; i < size; i++)
                MPI_Send(&message, 1, MPI_INT, i, 1, MPI_COMM_WORLD);
    } else {
        wait_for_zero(argv[1]);
        printf("wait %.0f us, cpu %.0f us\n", 1e6 * (MPI_Wtime() - start), cpu() - before);
    }
    MPI_Finalize();
    return 0;
}
