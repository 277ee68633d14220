/* MPI 5.0, 3.2 with large counts (the _c bindings): the same messages by both kinds of call. */
#include "check.h"

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    int right = (check_rank + 1) % check_size, left = (check_rank + check_size - 1) % check_size;
    static double out[5000], in[5000];
    MPI_Request requests[2];
    MPI_Status status;
    MPI_Count count = -1;
    MPI_Comm world = MPI_COMM_WORLD;
    for (int i = 0; i < 5000; i++)
        out[i] = check_rank + i;
    CHECK_MPI(MPI_Irecv_c(in, (MPI_Count)5000, MPI_DOUBLE, left, 1, world, &requests[0]));
    CHECK_MPI(MPI_Isend(out, 5000, MPI_DOUBLE, right, 1, world, &requests[1]));
    CHECK_MPI(MPI_Wait(&requests[0], &status));
    CHECK_MPI(MPI_Wait(&requests[1], MPI_STATUS_IGNORE));
    CHECK_MPI(MPI_Get_count_c(&status, MPI_DOUBLE, &count));
    CHECK_EQ(count, 5000);
    CHECK(in[4999] == left + 4999);
    CHECK_MPI(MPI_Irecv(in, 5000, MPI_DOUBLE, left, 2, world, &requests[0]));
    CHECK_MPI(MPI_Send_c(out, (MPI_Count)10, MPI_DOUBLE, right, 2, world));
    CHECK_MPI(MPI_Wait(&requests[0], &status));
    CHECK_MPI(MPI_Get_elements_c(&status, MPI_DOUBLE, &count));
    CHECK_EQ(count, 10);
    CHECK_MPI(MPI_Sendrecv_c(out, (MPI_Count)100, MPI_DOUBLE, right, 3, in, (MPI_Count)5000,
                             MPI_DOUBLE, left, 3, world, &status));
    CHECK_MPI(MPI_Get_count_c(&status, MPI_BYTE, &count));
    CHECK_EQ(count, 800);
    CHECK_MPI(MPI_Send_init_c(out, (MPI_Count)7, MPI_DOUBLE, right, 4, world, &requests[0]));
    CHECK_MPI(MPI_Recv_init_c(in, (MPI_Count)7, MPI_DOUBLE, left, 4, world, &requests[1]));
    CHECK_MPI(MPI_Startall(2, requests));
    CHECK_MPI(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    CHECK(in[6] == left + 6);
    CHECK_MPI(MPI_Request_free(&requests[0]));
    CHECK_MPI(MPI_Request_free(&requests[1]));
    /* A count beyond int of a type of no size. */
    MPI_Datatype empty;
    CHECK_MPI(MPI_Type_contiguous(0, MPI_INT, &empty));
    CHECK_MPI(MPI_Type_commit(&empty));
    CHECK_MPI(MPI_Sendrecv_c(out, (MPI_Count)1 << 40, empty, right, 5, in, (MPI_Count)1 << 40,
                             empty, left, 5, world, MPI_STATUS_IGNORE));
    CHECK_MPI(MPI_Type_free(&empty));
    return check_finish();
}
