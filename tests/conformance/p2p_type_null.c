/* MPI_DATATYPE_NULL where no element moves: no element, or no peer. MPI 5.0 does not ask for it; other MPIs
 * take it and programs write it. With an element it is an error of class MPI_ERR_TYPE. */
#include "check.h"

#define NONE MPI_DATATYPE_NULL

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    MPI_Comm comm = MPI_COMM_WORLD;
    MPI_Request request[2];
    MPI_Status status;
    int right = (check_rank + 1) % check_size, left = (check_rank + check_size - 1) % check_size, one = 1;
    /* No element. */
    CHECK_MPI(MPI_Irecv(NULL, 0, NONE, left, 1, comm, &request[0]));
    CHECK_MPI(MPI_Send(NULL, 0, NONE, right, 1, comm));
    CHECK_MPI(MPI_Wait(&request[0], &status));
    CHECK_EQ(status.MPI_SOURCE, left);
    CHECK_MPI(MPI_Isend(NULL, 0, NONE, right, 2, comm, &request[0]));
    CHECK_MPI(MPI_Recv(NULL, 0, NONE, left, 2, comm, &status));
    CHECK_MPI(MPI_Wait(&request[0], MPI_STATUS_IGNORE));
    CHECK_MPI(MPI_Sendrecv(NULL, 0, NONE, right, 3, NULL, 0, NONE, left, 3, comm, &status));
    CHECK_MPI(MPI_Send_init(NULL, 0, NONE, right, 4, comm, &request[0]));
    CHECK_MPI(MPI_Recv_init(NULL, 0, NONE, left, 4, comm, &request[1]));
    CHECK_MPI(MPI_Startall(2, request));
    CHECK_MPI(MPI_Waitall(2, request, MPI_STATUSES_IGNORE));
    CHECK_MPI(MPI_Request_free(&request[0]));
    CHECK_MPI(MPI_Request_free(&request[1]));
    /* No peer. */
    CHECK_MPI(MPI_Send(&one, 1, NONE, MPI_PROC_NULL, 1, comm));
    CHECK_MPI(MPI_Recv(&one, 1, NONE, MPI_PROC_NULL, 1, comm, &status));
    CHECK_EQ(status.MPI_SOURCE, MPI_PROC_NULL);
    CHECK_MPI(MPI_Isend(&one, 1, NONE, MPI_PROC_NULL, 1, comm, &request[0]));
    CHECK_MPI(MPI_Irecv(&one, 1, NONE, MPI_PROC_NULL, 1, comm, &request[1]));
    CHECK_MPI(MPI_Waitall(2, request, MPI_STATUSES_IGNORE));
    CHECK_MPI(MPI_Sendrecv(&one, 1, NONE, MPI_PROC_NULL, 1, &one, 1, NONE, MPI_PROC_NULL, 1, comm, &status));
    /* Collectives without elements. */
    CHECK_MPI(MPI_Bcast(NULL, 0, NONE, 0, comm));
    CHECK_MPI(MPI_Alltoall(NULL, 0, NONE, NULL, 0, NONE, comm));
    CHECK_MPI(MPI_Allgather(NULL, 0, NONE, NULL, 0, NONE, comm));
    CHECK_MPI(MPI_Gather(NULL, 0, NONE, NULL, 0, NONE, 0, comm));
    int zeros[64] = {0};
    CHECK_MPI(MPI_Alltoallv(NULL, zeros, zeros, NONE, NULL, zeros, zeros, NONE, comm));
    /* With elements it is a mistake. */
    CHECK_CLASS(MPI_Send(&one, 1, NONE, right, 5, comm), MPI_ERR_TYPE);
    CHECK_CLASS(MPI_Bcast(&one, 1, NONE, 0, comm), MPI_ERR_TYPE);
    return check_finish();
}
