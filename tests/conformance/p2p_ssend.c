/* MPI 5.0, 3.4: a synchronous send does not complete before a matching receive has started, and
 * then does; whatever its size. */
#include "check.h"

int main(int argc, char **argv)
{
    static const int sizes[] = { 0, 4, 40, 4000, 200000 };
    static char data[200000];
    check_init(&argc, &argv);
    CHECK_NEEDS(2);
    for (int i = 0; i < 5; i++) {
        int flag = 0;
        MPI_Request request;
        if (check_rank == 0) {
            CHECK_MPI(MPI_Issend(data, sizes[i], MPI_CHAR, 1, 1, MPI_COMM_WORLD, &request));
            /* Rank 1 has the message's envelope and probes it, but does not receive. */
            CHECK_MPI(MPI_Recv(NULL, 0, MPI_CHAR, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            double end = MPI_Wtime() + 0.02;
            do {
                CHECK_MPI(MPI_Test(&request, &flag, MPI_STATUS_IGNORE));
                CHECK(!flag);
            } while (!flag && MPI_Wtime() < end);
            CHECK_MPI(MPI_Send(NULL, 0, MPI_CHAR, 1, 3, MPI_COMM_WORLD));
            CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
            /* Blocking form: when it returns, the receive of tag 5 was posted, hence tag 4 came
             * to that rank's program before. */
            CHECK_MPI(MPI_Ssend(data, sizes[i], MPI_CHAR, 1, 4, MPI_COMM_WORLD));
            CHECK_MPI(MPI_Iprobe(1, 6, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
            while (!flag)
                CHECK_MPI(MPI_Iprobe(1, 6, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
            double received_at = 0;
            CHECK_MPI(MPI_Recv(&received_at, 1, MPI_DOUBLE, 1, 6, MPI_COMM_WORLD,
                               MPI_STATUS_IGNORE));
        } else if (check_rank == 1) {
            CHECK_MPI(MPI_Probe(0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            CHECK_MPI(MPI_Send(NULL, 0, MPI_CHAR, 0, 2, MPI_COMM_WORLD));
            CHECK_MPI(MPI_Recv(NULL, 0, MPI_CHAR, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            CHECK_MPI(MPI_Recv(data, sizes[i], MPI_CHAR, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            double now = MPI_Wtime();
            CHECK_MPI(MPI_Send(&now, 1, MPI_DOUBLE, 0, 6, MPI_COMM_WORLD));
            CHECK_MPI(MPI_Recv(data, sizes[i], MPI_CHAR, 0, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        }
    }
    return check_finish();
}
