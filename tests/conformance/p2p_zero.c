/* MPI 5.0, 3.2: messages without data: null buffers, empty types, matching and counting as any
 * other message. */
#include "check.h"

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    int right = (check_rank + 1) % check_size, left = (check_rank + check_size - 1) % check_size;
    MPI_Datatype none;
    MPI_Request requests[4];
    MPI_Status statuses[4];
    int count = -1;
    CHECK_MPI(MPI_Type_contiguous(0, MPI_DOUBLE, &none));
    CHECK_MPI(MPI_Type_commit(&none));
    for (int round = 0; round < 50; round++) {
        CHECK_MPI(MPI_Irecv(NULL, 0, MPI_INT, left, 1, MPI_COMM_WORLD, &requests[0]));
        CHECK_MPI(MPI_Irecv(NULL, 5, none, left, 2, MPI_COMM_WORLD, &requests[1]));
        CHECK_MPI(MPI_Isend(NULL, 7, none, right, 2, MPI_COMM_WORLD, &requests[2]));
        CHECK_MPI(MPI_Issend(NULL, 0, MPI_CHAR, right, 1, MPI_COMM_WORLD, &requests[3]));
        CHECK_MPI(MPI_Waitall(4, requests, statuses));
        CHECK_EQ(statuses[0].MPI_TAG, 1);
        CHECK_EQ(statuses[1].MPI_TAG, 2);
        CHECK_MPI(MPI_Get_count(&statuses[0], MPI_INT, &count));
        CHECK_EQ(count, 0);
        CHECK_MPI(MPI_Get_count(&statuses[1], MPI_BYTE, &count));
        CHECK_EQ(count, 0);
    }
    /* An empty message where more was expected. */
    int data[3] = { 7, 7, 7 };
    CHECK_MPI(MPI_Sendrecv(NULL, 0, MPI_INT, right, 3, data, 3, MPI_INT, left, 3, MPI_COMM_WORLD,
                           &statuses[0]));
    CHECK_MPI(MPI_Get_count(&statuses[0], MPI_INT, &count));
    CHECK_EQ(count, 0);
    CHECK_EQ(data[0], 7);
    CHECK_MPI(MPI_Type_free(&none));
    return check_finish();
}
