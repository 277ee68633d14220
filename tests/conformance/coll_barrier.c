/* MPI 5.0, 6.3 "Barrier Synchronization": nobody leaves before all have entered. Argument: form. */
#include "coll.h"

int main(int argc, char **argv)
{
    coll_init(&argc, &argv);
    /* Each rank in turn sends to all just before it enters, so that after the barrier the message
     * has been started and a receive of it must complete. */
    for (int round = 0; round < 5; round++) {
        int late = round % check_size, value = -1;
        MPI_Request *sends = malloc((size_t)check_size * sizeof *sends);
        for (int i = 0; check_rank == late && i < check_size; i++)
            CHECK_MPI(MPI_Isend(&round, 1, MPI_INT, i, round, MPI_COMM_WORLD, &sends[i]));
        COLL(Barrier, barrier, MPI_COMM_WORLD);
        CHECK_MPI(MPI_Recv(&value, 1, MPI_INT, late, round, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CHECK_EQ(value, round);
        if (check_rank == late)
            CHECK_MPI(MPI_Waitall(check_size, sends, MPI_STATUSES_IGNORE));
        free(sends);
    }
    if (check_size > 1) {
        /* The last rank holds everybody back: a nonblocking barrier is not done before. */
        MPI_Request request;
        int flag = 0, token = 0;
        if (check_rank == check_size - 1)
            CHECK_MPI(MPI_Recv(&token, 1, MPI_INT, 0, 98, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CHECK_MPI(MPI_Ibarrier(MPI_COMM_WORLD, &request));
        if (check_rank == 0) {
            for (int i = 0; i < 100; i++) {
                CHECK_MPI(MPI_Test(&request, &flag, MPI_STATUS_IGNORE));
                CHECK(!flag);
            }
            CHECK_MPI(MPI_Send(&token, 1, MPI_INT, check_size - 1, 98, MPI_COMM_WORLD));
        }
        CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    }
    return check_finish();
}
