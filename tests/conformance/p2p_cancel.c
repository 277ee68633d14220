/* MPI 5.0, 3.8.4 "Cancel": a posted receive without a message is cancelled, its status says so,
 * the buffer is left alone, and a later message goes to a later receive. */
#include "check.h"

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    int right = (check_rank + 1) % check_size, left = (check_rank + check_size - 1) % check_size;
    int cancelled_buffer = 7, buffer = 0, flag = 0;
    MPI_Request request, second;
    MPI_Status status;
    for (int round = 0; round < 3; round++) {
        int source = round == 1 ? MPI_ANY_SOURCE : left;
        CHECK_MPI(MPI_Irecv(&cancelled_buffer, 1, MPI_INT, source, 1, MPI_COMM_WORLD, &request));
        CHECK_MPI(MPI_Irecv(&buffer, 1, MPI_INT, left, 1, MPI_COMM_WORLD, &second));
        CHECK_MPI(MPI_Cancel(&request));
        CHECK(request != MPI_REQUEST_NULL);
        CHECK_MPI(MPI_Wait(&request, &status));
        CHECK_MPI(MPI_Test_cancelled(&status, &flag));
        CHECK(flag);
        CHECK_MPI(MPI_Barrier(MPI_COMM_WORLD));
        CHECK_MPI(MPI_Send(&check_rank, 1, MPI_INT, right, 1, MPI_COMM_WORLD));
        CHECK_MPI(MPI_Wait(&second, &status));
        CHECK_MPI(MPI_Test_cancelled(&status, &flag));
        CHECK(!flag);
        CHECK_EQ(buffer, left);
        CHECK_EQ(cancelled_buffer, 7);
    }
    /* Too late: the message has been matched, or the synchronous send would not be back; so the receive completes and is not cancelled. */
    CHECK_MPI(MPI_Irecv(&buffer, 1, MPI_INT, 0, 2, MPI_COMM_SELF, &request));
    CHECK_MPI(MPI_Ssend(&right, 1, MPI_INT, 0, 2, MPI_COMM_SELF));
    CHECK_MPI(MPI_Cancel(&request));
    CHECK_MPI(MPI_Wait(&request, &status));
    CHECK_MPI(MPI_Test_cancelled(&status, &flag));
    CHECK(!flag);
    CHECK_EQ(buffer, right);
    /* A persistent receive is cancelled per start and can be started again. */
    CHECK_MPI(MPI_Recv_init(&buffer, 1, MPI_INT, 0, 3, MPI_COMM_SELF, &request));
    CHECK_MPI(MPI_Start(&request));
    CHECK_MPI(MPI_Cancel(&request));
    CHECK_MPI(MPI_Wait(&request, &status));
    CHECK_MPI(MPI_Test_cancelled(&status, &flag));
    CHECK(flag);
    CHECK_MPI(MPI_Start(&request));
    CHECK_MPI(MPI_Send(&left, 1, MPI_INT, 0, 3, MPI_COMM_SELF));
    CHECK_MPI(MPI_Wait(&request, &status));
    CHECK_MPI(MPI_Test_cancelled(&status, &flag));
    CHECK(!flag);
    CHECK_EQ(buffer, left);
    CHECK_MPI(MPI_Request_free(&request));
    return check_finish();
}
