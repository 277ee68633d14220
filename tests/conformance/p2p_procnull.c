/* MPI 5.0, 3.10 "Null Processes": communication with MPI_PROC_NULL succeeds at once, leaves the
 * buffer alone, and its status is source PROC_NULL, tag ANY_TAG, count 0. */
#include "check.h"

static void check_null(const MPI_Status *status)
{
    int count = -1;
    CHECK_EQ(status->MPI_SOURCE, MPI_PROC_NULL);
    CHECK_EQ(status->MPI_TAG, MPI_ANY_TAG);
    CHECK_MPI(MPI_Get_count(status, MPI_INT, &count));
    CHECK_EQ(count, 0);
}

static void fresh(MPI_Status *status)
{
    memset(status, 0x5a, sizeof *status);
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    int value = 42, flag = 0;
    MPI_Status status;
    MPI_Request request;
    MPI_Message message;
    MPI_Comm world = MPI_COMM_WORLD;
    CHECK_MPI(MPI_Send(&value, 1, MPI_INT, MPI_PROC_NULL, 1, world));
    CHECK_MPI(MPI_Ssend(&value, 1, MPI_INT, MPI_PROC_NULL, 1, world));
    CHECK_MPI(MPI_Rsend(&value, 1, MPI_INT, MPI_PROC_NULL, 1, world));
    CHECK_MPI(MPI_Bsend(&value, 1, MPI_INT, MPI_PROC_NULL, 1, world));
    fresh(&status);
    CHECK_MPI(MPI_Recv(&value, 1, MPI_INT, MPI_PROC_NULL, 7, world, &status));
    check_null(&status);
    fresh(&status);
    CHECK_MPI(MPI_Irecv(&value, 1, MPI_INT, MPI_PROC_NULL, MPI_ANY_TAG, world, &request));
    CHECK_MPI(MPI_Wait(&request, &status));
    check_null(&status);
    CHECK_MPI(MPI_Issend(&value, 1, MPI_INT, MPI_PROC_NULL, 1, world, &request));
    CHECK_MPI(MPI_Test(&request, &flag, MPI_STATUS_IGNORE));
    CHECK(flag && request == MPI_REQUEST_NULL);
    fresh(&status);
    CHECK_MPI(MPI_Sendrecv(&value, 1, MPI_INT, MPI_PROC_NULL, 1, &value, 1, MPI_INT,
                           MPI_PROC_NULL, 1, world, &status));
    check_null(&status);
    fresh(&status);
    CHECK_MPI(MPI_Sendrecv_replace(&value, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_PROC_NULL, 1, world,
                                   &status));
    check_null(&status);
    fresh(&status);
    CHECK_MPI(MPI_Probe(MPI_PROC_NULL, 1, world, &status));
    check_null(&status);
    flag = 0;
    fresh(&status);
    CHECK_MPI(MPI_Iprobe(MPI_PROC_NULL, 1, world, &flag, &status));
    CHECK(flag);
    check_null(&status);
    fresh(&status);
    CHECK_MPI(MPI_Mprobe(MPI_PROC_NULL, 1, world, &message, &status));
    CHECK(message == MPI_MESSAGE_NO_PROC);
    check_null(&status);
    fresh(&status);
    CHECK_MPI(MPI_Mrecv(&value, 1, MPI_INT, &message, &status));
    CHECK(message == MPI_MESSAGE_NULL);
    check_null(&status);
    flag = 0;
    CHECK_MPI(MPI_Improbe(MPI_PROC_NULL, 1, world, &flag, &message, &status));
    CHECK(flag && message == MPI_MESSAGE_NO_PROC);
    fresh(&status);
    CHECK_MPI(MPI_Imrecv(&value, 1, MPI_INT, &message, &request));
    CHECK_MPI(MPI_Wait(&request, &status));
    check_null(&status);
    CHECK_EQ(value, 42);
    return check_finish();
}
