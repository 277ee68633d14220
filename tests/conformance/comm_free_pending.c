/* MPI 5.0, 7.4.3 MPI_Comm_free: pending operations complete normally after the handle is gone;
 * messages never received on a freed communicator do not reach another one. */
#include "check.h"

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    int right = (check_rank + 1) % check_size, left = (check_rank + check_size - 1) % check_size;
    static int out[50000], in[50000];
    MPI_Comm comm;
    MPI_Request requests[3];
    int sum = -1;
    for (int round = 0; round < 5; round++) {
        int count = round % 2 ? 50000 : 5;
        CHECK_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
        out[count - 1] = check_rank + round;
        CHECK_MPI(MPI_Irecv(in, count, MPI_INT, left, 1, comm, &requests[0]));
        CHECK_MPI(MPI_Isend(out, count, MPI_INT, right, 1, comm, &requests[1]));
        CHECK_MPI(MPI_Iallreduce(&check_rank, &sum, 1, MPI_INT, MPI_SUM, comm, &requests[2]));
        CHECK_MPI(MPI_Comm_free(&comm));
        CHECK(comm == MPI_COMM_NULL);
        CHECK_MPI(MPI_Waitall(3, requests, MPI_STATUSES_IGNORE));
        CHECK_EQ(in[count - 1], left + round);
        CHECK_EQ(sum, check_size * (check_size - 1) / 2);
    }
    return check_finish();
}
