/* One problem on growing numbers of ranks. */
#include "app.h"

#include <stdio.h>
#include <time.h>

/* Ranks that have no part in a run wait without taking a processor from those that have. */
static void wait_for_all(void)
{
    const struct timespec pause = {0, 1000000};
    MPI_Request request;
    int done = 0;
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    for (;;) {
        MPI_Test(&request, &done, MPI_STATUS_IGNORE);
        if (done)
            return;
        nanosleep(&pause, NULL);
    }
}

double app_slowest(MPI_Comm comm, double seconds)
{
    double all;
    MPI_Allreduce(&seconds, &all, 1, MPI_DOUBLE, MPI_MAX, comm);
    return all;
}

int app_scaling(const struct app *app, double (*timed)(MPI_Comm comm, int times, void *with),
                void *with)
{
    double alone = 0;
    int weak = app->scaling == APP_WEAK;
    if (app->rank == 0)
        printf("%s scaling\n%6s %12s %10s %10s\n", weak ? "weak" : "strong", "ranks", "seconds",
               "speed-up", "efficiency");
    for (int ranks = 1; ranks <= app->ranks;) {
        MPI_Comm comm;
        MPI_Comm_split(MPI_COMM_WORLD, app->rank < ranks ? 0 : MPI_UNDEFINED, app->rank, &comm);
        if (comm != MPI_COMM_NULL) {
            double seconds = timed(comm, weak ? ranks : 1, with);
            MPI_Comm_free(&comm);
            alone = ranks == 1 ? seconds : alone;
            double faster = alone / seconds * (weak ? ranks : 1);
            if (app->rank == 0) {
                printf("%6d %12.4f %10.2f %9.0f%%\n", ranks, seconds, faster, 100 * faster / ranks);
                fflush(stdout);
            }
        }
        wait_for_all();
        ranks = ranks < app->ranks && 2 * ranks > app->ranks ? app->ranks : 2 * ranks;
    }
    return 0;
}
