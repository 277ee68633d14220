/* MPI 5.0, 6.14 and 11.6: threads run collectives at the same time, each on a communicator of its
 * own, and duplicate and free communicators. */
#include "thread.h"

static MPI_Comm comms[THREADS];

static void *collectives(void *argument)
{
    int me = *(int *)argument;
    MPI_Comm comm = comms[me], dup;
    for (int round = 0; round < 15; round++) {
        int in = check_rank + me * 10 + round, sum = -1, root = round % check_size;
        CHECK_MPI(MPI_Allreduce(&in, &sum, 1, MPI_INT, MPI_SUM, comm));
        CHECK_EQ(sum, check_size * (me * 10 + round) + check_size * (check_size - 1) / 2);
        int value = check_rank == root ? me * 1000 + round : -1;
        CHECK_MPI(MPI_Bcast(&value, 1, MPI_INT, root, comm));
        CHECK_EQ(value, me * 1000 + round);
        MPI_Request request;
        CHECK_MPI(MPI_Ibarrier(comm, &request));
        CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
        if (round % 5 == 0) {
            CHECK_MPI(MPI_Comm_dup(comm, &dup));
            CHECK_MPI(MPI_Allreduce(&in, &sum, 1, MPI_INT, MPI_MAX, dup));
            CHECK_EQ(sum, check_size - 1 + me * 10 + round);
            CHECK_MPI(MPI_Comm_free(&dup));
        }
    }
    return NULL;
}

int main(int argc, char **argv)
{
    thread_init(&argc, &argv);
    for (int i = 0; i < THREADS; i++)
        CHECK_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]));
    thread_run(collectives);
    for (int i = 0; i < THREADS; i++)
        CHECK_MPI(MPI_Comm_free(&comms[i]));
    return check_finish();
}
