/* MPI 5.0, 9.4 "Error Codes and Classes": wrong arguments of point-to-point calls give the class
 * that names the wrong argument, and the program goes on. */
#include "check.h"

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    int data[4] = { 1, 2, 3, 4 }, flag;
    MPI_Comm world = MPI_COMM_WORLD;
    MPI_Datatype loose;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Message message;
    MPI_Status *ignore = MPI_STATUS_IGNORE;
    int ranks[] = { check_size, -10, 1 << 30, MPI_ROOT };
    for (int i = 0; i < 4; i++) {
        CHECK_CLASS(MPI_Send(data, 1, MPI_INT, ranks[i], 0, world), MPI_ERR_RANK);
        CHECK_CLASS(MPI_Recv(data, 1, MPI_INT, ranks[i], 0, world, ignore), MPI_ERR_RANK);
        CHECK_CLASS(MPI_Isend(data, 1, MPI_INT, ranks[i], 0, world, &request), MPI_ERR_RANK);
        CHECK_CLASS(MPI_Irecv(data, 1, MPI_INT, ranks[i], 0, world, &request), MPI_ERR_RANK);
        CHECK_CLASS(MPI_Probe(ranks[i], 0, world, ignore), MPI_ERR_RANK);
        CHECK_CLASS(MPI_Iprobe(ranks[i], 0, world, &flag, ignore), MPI_ERR_RANK);
        CHECK_CLASS(MPI_Mprobe(ranks[i], 0, world, &message, ignore), MPI_ERR_RANK);
        CHECK_CLASS(MPI_Send_init(data, 1, MPI_INT, ranks[i], 0, world, &request), MPI_ERR_RANK);
    }
    CHECK_CLASS(MPI_Send(data, 1, MPI_INT, MPI_ANY_SOURCE, 0, world), MPI_ERR_RANK);
    CHECK_CLASS(MPI_Sendrecv(data, 1, MPI_INT, check_size, 0, data + 1, 1, MPI_INT, 0, 0, world,
                             ignore), MPI_ERR_RANK);
    CHECK_CLASS(MPI_Send(data, 1, MPI_INT, 0, -1, world), MPI_ERR_TAG);
    CHECK_CLASS(MPI_Send(data, 1, MPI_INT, 0, MPI_ANY_TAG, world), MPI_ERR_TAG);
    CHECK_CLASS(MPI_Isend(data, 1, MPI_INT, 0, -7, world, &request), MPI_ERR_TAG);
    CHECK_CLASS(MPI_Recv(data, 1, MPI_INT, 0, -7, world, ignore), MPI_ERR_TAG);
    int *upper, found;
    CHECK_MPI(MPI_Comm_get_attr(world, MPI_TAG_UB, &upper, &found));
    if (found && *upper < INT32_MAX)
        CHECK_CLASS(MPI_Send(data, 1, MPI_INT, 0, *upper + 1, world), MPI_ERR_TAG);
    CHECK_CLASS(MPI_Send(data, -1, MPI_INT, 0, 0, world), MPI_ERR_COUNT);
    CHECK_CLASS(MPI_Recv(data, -1, MPI_INT, 0, 0, world, ignore), MPI_ERR_COUNT);
    CHECK_CLASS(MPI_Irecv(data, -5, MPI_INT, 0, 0, world, &request), MPI_ERR_COUNT);
    CHECK_CLASS(MPI_Send_c(data, -5, MPI_INT, 0, 0, world), MPI_ERR_COUNT);
    CHECK_CLASS(MPI_Send(data, 1, MPI_DATATYPE_NULL, 0, 0, world), MPI_ERR_TYPE);
    CHECK_CLASS(MPI_Recv(data, 1, MPI_DATATYPE_NULL, 0, 0, world, ignore), MPI_ERR_TYPE);
    CHECK_MPI(MPI_Type_contiguous(2, MPI_INT, &loose));
    CHECK_CLASS(MPI_Send(data, 1, loose, 0, 0, world), MPI_ERR_TYPE);
    CHECK_CLASS(MPI_Irecv(data, 1, loose, 0, 0, world, &request), MPI_ERR_TYPE);
    CHECK_MPI(MPI_Type_free(&loose));
    CHECK_CLASS(MPI_Send(data, 1, MPI_INT, 0, 0, MPI_COMM_NULL), MPI_ERR_COMM);
    CHECK_CLASS(MPI_Recv(data, 1, MPI_INT, 0, 0, MPI_COMM_NULL, ignore), MPI_ERR_COMM);
    CHECK_CLASS(MPI_Iprobe(0, 0, MPI_COMM_NULL, &flag, ignore), MPI_ERR_COMM);
    CHECK_CLASS(MPI_Send(NULL, 1, MPI_INT, 0, 0, world), MPI_ERR_BUFFER);
    CHECK_CLASS(MPI_Recv(NULL, 1, MPI_INT, 0, 0, world, ignore), MPI_ERR_BUFFER);
    request = MPI_REQUEST_NULL;
    CHECK_CLASS(MPI_Start(&request), MPI_ERR_REQUEST);
    CHECK_CLASS(MPI_Request_free(&request), MPI_ERR_REQUEST);
    CHECK_CLASS(MPI_Cancel(&request), MPI_ERR_REQUEST);
    CHECK_CLASS(MPI_Waitall(-1, &request, MPI_STATUSES_IGNORE), MPI_ERR_COUNT);
    /* None of it has done harm. */
    int got = -1;
    CHECK_MPI(MPI_Sendrecv(data, 1, MPI_INT, check_rank, 1, &got, 1, MPI_INT, check_rank, 1, world,
                           ignore));
    CHECK_EQ(got, 1);
    CHECK_MPI(MPI_Barrier(world));
    return check_finish();
}
