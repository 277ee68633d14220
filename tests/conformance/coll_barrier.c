/* MPI 5.0, 6.3 "Barrier Synchronization": nobody leaves before all have entered. Argument: form. */
#include "coll.h"

int main(int argc, char **argv)
{
    coll_init(&argc, &argv);
    /* The others tell the late rank that they have left; it must not hear so before it enters,
     * although it gives them time. */
    for (int round = 0; round < 5; round++) {
        int late = round % check_size, flag = 0;
        double end = MPI_Wtime() + 0.02;
        while (check_rank == late && !flag && MPI_Wtime() < end)
            CHECK_MPI(MPI_Iprobe(MPI_ANY_SOURCE, round, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
        CHECK(!flag);
        COLL(Barrier, barrier, MPI_COMM_WORLD);
        for (int i = 0; i < check_size; i++)
            if (check_rank == late && i != late)
                CHECK_MPI(MPI_Recv(NULL, 0, MPI_INT, i, round, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        if (check_rank != late)
            CHECK_MPI(MPI_Send(NULL, 0, MPI_INT, late, round, MPI_COMM_WORLD));
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
