/* MPI 5.0, 3.7.5: MPI_Waitall and MPI_Waitsome return MPI_ERR_IN_STATUS when one request fails,
 * and each status says MPI_SUCCESS, the error, or MPI_ERR_PENDING. */
#include "check.h"

static void check_statuses(int code, const MPI_Status *statuses, int count, int bad)
{
    int class = -1;
    MPI_Error_class(code, &class);
    CHECK_EQ(class, MPI_ERR_IN_STATUS);
    for (int i = 0; i < count; i++) {
        MPI_Error_class(statuses[i].MPI_ERROR, &class);
        if (i == bad)
            CHECK_EQ(class, MPI_ERR_TRUNCATE);
        else
            CHECK(class == MPI_SUCCESS || class == MPI_ERR_PENDING);
    }
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    CHECK_NEEDS(2);
    int right = (check_rank + 1) % check_size, left = (check_rank + check_size - 1) % check_size;
    int out[4] = { 1, 2, 3, 4 }, in[3][4];
    MPI_Request requests[3];
    MPI_Status statuses[3];
    for (int i = 0; i < 3; i++)
        CHECK_MPI(MPI_Irecv(in[i], i == 1 ? 1 : 4, MPI_INT, left, i, MPI_COMM_WORLD,
                            &requests[i]));
    CHECK_MPI(MPI_Barrier(MPI_COMM_WORLD));
    for (int i = 0; i < 3; i++)
        CHECK_MPI(MPI_Send(out, 4, MPI_INT, right, i, MPI_COMM_WORLD));
    int code = MPI_Waitall(3, requests, statuses);
    check_statuses(code, statuses, 3, 1);
    for (int i = 0; i < 3; i++)
        if (requests[i] != MPI_REQUEST_NULL)
            CHECK_MPI(MPI_Wait(&requests[i], MPI_STATUS_IGNORE));
    CHECK_EQ(in[0][3] + in[2][3], 8);

    /* With statuses ignored the call still fails. */
    CHECK_MPI(MPI_Irecv(in[0], 1, MPI_INT, left, 5, MPI_COMM_WORLD, &requests[0]));
    CHECK_MPI(MPI_Barrier(MPI_COMM_WORLD));
    CHECK_MPI(MPI_Send(out, 4, MPI_INT, right, 5, MPI_COMM_WORLD));
    CHECK(MPI_Waitall(1, requests, MPI_STATUSES_IGNORE) != MPI_SUCCESS);

    int done = 0, indices[1];
    CHECK_MPI(MPI_Irecv(in[0], 1, MPI_INT, left, 6, MPI_COMM_WORLD, &requests[0]));
    CHECK_MPI(MPI_Barrier(MPI_COMM_WORLD));
    CHECK_MPI(MPI_Send(out, 4, MPI_INT, right, 6, MPI_COMM_WORLD));
    code = MPI_Waitsome(1, requests, &done, indices, statuses);
    CHECK_EQ(done, 1);
    check_statuses(code, statuses, 1, 0);
    return check_finish();
}
