/* MPI 5.0, 11.6.1: a thread blocked in a receive or a wait does not keep other threads from
 * sending what it waits for; all threads of a rank wait first, then get served in reverse order. */
#include "thread.h"

static void *waiter(void *argument)
{
    int me = *(int *)argument, value = -1;
    if (me == 0) { /* serves the others of the next rank, last thread first */
        int right = (check_rank + 1) % check_size;
        for (int t = THREADS - 1; t > 0; t--) {
            value = 100 * check_rank + t;
            CHECK_MPI(MPI_Ssend(&value, 1, MPI_INT, right, t, MPI_COMM_WORLD));
        }
        return NULL;
    }
    int left = (check_rank + check_size - 1) % check_size;
    MPI_Status status;
    if (me % 2) {
        MPI_Request request;
        CHECK_MPI(MPI_Irecv(&value, 1, MPI_INT, left, me, MPI_COMM_WORLD, &request));
        CHECK_MPI(MPI_Wait(&request, &status));
    } else {
        CHECK_MPI(MPI_Recv(&value, 1, MPI_INT, left, me, MPI_COMM_WORLD, &status));
    }
    CHECK_EQ(value, 100 * left + me);
    CHECK_EQ(status.MPI_TAG, me);
    return NULL;
}

int main(int argc, char **argv)
{
    thread_init(&argc, &argv);
    for (int round = 0; round < 10; round++)
        thread_run(waiter);
    return check_finish();
}
