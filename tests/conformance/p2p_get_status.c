/* MPI 5.0, 3.7.6 "Non-Destructive Test of status": MPI_Request_get_status and its any, all and
 * some forms tell completion and leave the request in place. */
#include "check.h"

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    MPI_Request requests[3];
    MPI_Status status, statuses[3];
    int flag = 1, in[2] = { 0, 0 }, value = 5, index = -9, done = -9, indices[3];
    CHECK_MPI(MPI_Irecv(&in[0], 1, MPI_INT, 0, 1, MPI_COMM_SELF, &requests[0]));
    requests[1] = MPI_REQUEST_NULL;
    CHECK_MPI(MPI_Irecv(&in[1], 1, MPI_INT, 0, 2, MPI_COMM_SELF, &requests[2]));
    CHECK_MPI(MPI_Request_get_status(requests[0], &flag, &status));
    CHECK(!flag);
    CHECK_MPI(MPI_Request_get_status_any(3, requests, &index, &flag, &status));
    CHECK(!flag);
    CHECK_MPI(MPI_Request_get_status_some(3, requests, &done, indices, statuses));
    CHECK_EQ(done, 0);
    CHECK_MPI(MPI_Send(&value, 1, MPI_INT, 0, 2, MPI_COMM_SELF));
    for (flag = 0; !flag;)
        CHECK_MPI(MPI_Request_get_status(requests[2], &flag, &status));
    CHECK(requests[2] != MPI_REQUEST_NULL);
    CHECK_EQ(status.MPI_TAG, 2);
    /* It can be asked again. */
    CHECK_MPI(MPI_Request_get_status(requests[2], &flag, MPI_STATUS_IGNORE));
    CHECK(flag);
    CHECK_MPI(MPI_Request_get_status_any(3, requests, &index, &flag, &status));
    CHECK(flag && index == 2 && status.MPI_TAG == 2);
    CHECK_MPI(MPI_Request_get_status_some(3, requests, &done, indices, statuses));
    CHECK(done == 1 && indices[0] == 2 && statuses[0].MPI_TAG == 2);
    CHECK_MPI(MPI_Request_get_status_all(3, requests, &flag, statuses));
    CHECK(!flag);
    CHECK_MPI(MPI_Send(&value, 1, MPI_INT, 0, 1, MPI_COMM_SELF));
    for (flag = 0; !flag;)
        CHECK_MPI(MPI_Request_get_status_all(3, requests, &flag, statuses));
    CHECK(statuses[0].MPI_TAG == 1 && statuses[2].MPI_TAG == 2);
    CHECK_MPI(MPI_Waitall(3, requests, MPI_STATUSES_IGNORE));
    CHECK(in[0] == 5 && in[1] == 5);
    /* Null: done, with an empty status. */
    flag = 0;
    CHECK_MPI(MPI_Request_get_status(MPI_REQUEST_NULL, &flag, &status));
    CHECK(flag && status.MPI_SOURCE == MPI_ANY_SOURCE && status.MPI_TAG == MPI_ANY_TAG);
    return check_finish();
}
