/* MPI 5.0, 11.6.1: one thread completes what another started; many threads wait for requests of
 * one list, each for its own. */
#include "thread.h"

#define EACH 50

static MPI_Request requests[THREADS][EACH];
static int in[THREADS][EACH];

static void *complete(void *argument)
{
    int me = *(int *)argument, left = (check_rank + check_size - 1) % check_size;
    int right = (check_rank + 1) % check_size;
    for (int i = 0; i < EACH; i++) {
        int value = check_rank * 100000 + me * 1000 + i;
        CHECK_MPI(MPI_Send(&value, 1, MPI_INT, right, me * EACH + i, MPI_COMM_WORLD));
    }
    for (int i = 0; i < EACH / 2; i++)
        CHECK_MPI(MPI_Wait(&requests[me][i], MPI_STATUS_IGNORE));
    CHECK_MPI(MPI_Waitall(EACH - EACH / 2, &requests[me][EACH / 2], MPI_STATUSES_IGNORE));
    for (int i = 0; i < EACH; i++)
        CHECK_EQ(in[me][i], left * 100000 + me * 1000 + i);
    return NULL;
}

int main(int argc, char **argv)
{
    thread_init(&argc, &argv);
    int left = (check_rank + check_size - 1) % check_size;
    for (int round = 0; round < 3; round++) {
        for (int t = 0; t < THREADS; t++)
            for (int i = 0; i < EACH; i++)
                CHECK_MPI(MPI_Irecv(&in[t][i], 1, MPI_INT, left, t * EACH + i, MPI_COMM_WORLD,
                                    &requests[t][i]));
        thread_run(complete);
        CHECK_MPI(MPI_Barrier(MPI_COMM_WORLD));
    }
    return check_finish();
}
