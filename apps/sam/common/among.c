#include "among.h"
#include "../../common/app.h"

#include <sam.h>
#include <sched.h>

void meet(MPI_Comm comm)
{
    MPI_Request request;
    int ranks;
    MPI_Comm_size(comm, &ranks);
    if (ranks == sam_ranks()) {
        sam_barrier();
        return;
    }
    MPI_Ibarrier(comm, &request);
    for (int done = 0; !done;) {
        sam_poll();
        MPI_Test(&request, &done, MPI_STATUS_IGNORE);
        if (!done)
            sched_yield();
    }
}

uint64_t new_series(MPI_Comm comm)
{
    static uint64_t last;
    meet(comm); /* nobody waits any more for the answer of a rank that is in MPI */
    MPI_Allreduce(MPI_IN_PLACE, &last, 1, MPI_UINT64_T, MPI_MAX, comm);
    return ++last;
}

double time_among(MPI_Comm comm, long count, int (*step)(void *with), void *with)
{
    meet(comm);
    double seconds = MPI_Wtime();
    for (long s = 0; s < count; s++) {
        int status = step(with);
        if (status != 0)
            MPI_Abort(MPI_COMM_WORLD, status);
    }
    seconds = MPI_Wtime() - seconds;
    meet(comm);
    return app_slowest(comm, seconds);
}
