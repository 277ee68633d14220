/* MPI 5.0, 3.9 and 3.10: persistent requests to and from MPI_PROC_NULL: every start completes at
 * once with the status of a null process. */
#include "check.h"

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    int value = 42, count = -1;
    MPI_Request requests[2];
    CHECK_MPI(MPI_Recv_init(&value, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &requests[0]));
    CHECK_MPI(MPI_Send_init(&value, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &requests[1]));
    for (int i = 0; i < 3; i++) {
        MPI_Status statuses[2];
        memset(statuses, 0x5a, sizeof statuses);
        CHECK_MPI(MPI_Startall(2, requests));
        CHECK_MPI(MPI_Waitall(2, requests, statuses));
        CHECK_EQ(statuses[0].MPI_SOURCE, MPI_PROC_NULL);
        CHECK_EQ(statuses[0].MPI_TAG, MPI_ANY_TAG);
        CHECK_MPI(MPI_Get_count(&statuses[0], MPI_INT, &count));
        CHECK_EQ(count, 0);
    }
    CHECK_MPI(MPI_Request_free(&requests[0]));
    CHECK_MPI(MPI_Request_free(&requests[1]));
    CHECK_EQ(value, 42);
    return check_finish();
}
