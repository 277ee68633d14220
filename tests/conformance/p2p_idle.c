/* MPI 5.0, 3.5 "Progress": long pauses on either side. A rank that waits for a message that comes
 * late, in every kind of wait, is woken by it; a sender is not held up by a receiver that is away. */
#include "check.h"
#include <unistd.h>

static void wait_late(int how, int size)
{
    static unsigned char data[200000];
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Status status;
    int index = 0, flag = 0, got = -1;
    if (check_rank == 0) {
        usleep(30000);
        pattern_fill(data, (size_t)size, (unsigned)(size + how));
        for (int to = 1; to < check_size; to++)
            CHECK_MPI(MPI_Send(data, size, MPI_BYTE, to, how, MPI_COMM_WORLD));
        return;
    }
    memset(data, 0, sizeof data);
    if (how == 1)
        CHECK_MPI(MPI_Probe(0, 1, MPI_COMM_WORLD, &status));
    if (how < 2)
        CHECK_MPI(MPI_Recv(data, size, MPI_BYTE, 0, how, MPI_COMM_WORLD, &status));
    else
        CHECK_MPI(MPI_Irecv(data, size, MPI_BYTE, 0, how, MPI_COMM_WORLD, &request));
    if (how == 2)
        CHECK_MPI(MPI_Wait(&request, &status));
    if (how == 3)
        CHECK_MPI(MPI_Waitany(1, &request, &index, &status));
    if (how == 4)
        CHECK_MPI(MPI_Waitall(1, &request, &status));
    if (how == 5)
        for (; !flag; usleep(1000))
            CHECK_MPI(MPI_Test(&request, &flag, &status));
    CHECK_MPI(MPI_Get_count(&status, MPI_BYTE, &got));
    CHECK_EQ(got, size);
    CHECK(pattern_holds(data, (size_t)size, (unsigned)(size + how)));
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    CHECK_NEEDS(2);
    for (int how = 0; how < 6; how++) {
        wait_late(how, 8);
        wait_late(how, 200000);
    }
    /* The receiver is away: small sends complete anyway. */
    MPI_Request requests[100];
    int values[100];
    for (int i = 0; i < 100; i++) {
        values[i] = i;
        if (check_rank == 0)
            CHECK_MPI(MPI_Isend(&values[i], 1, MPI_INT, 1, 9, MPI_COMM_WORLD, &requests[i]));
    }
    if (check_rank == 0)
        CHECK_MPI(MPI_Waitall(100, requests, MPI_STATUSES_IGNORE));
    if (check_rank == 1) {
        usleep(50000);
        for (int i = 0; i < 100; i++) {
            int value = -1;
            CHECK_MPI(MPI_Recv(&value, 1, MPI_INT, 0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            CHECK_EQ(value, i);
        }
    }
    /* Barriers entered at different times. */
    for (int i = 0; i < 4; i++) {
        usleep((unsigned)(check_rank == i % check_size ? 20000 : 0));
        CHECK_MPI(MPI_Barrier(MPI_COMM_WORLD));
    }
    return check_finish();
}
