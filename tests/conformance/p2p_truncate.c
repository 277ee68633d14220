/* MPI 5.0, 3.2.4: a message longer than the receive buffer is an error of class MPI_ERR_TRUNCATE;
 * nothing beyond the buffer is written, and communication goes on afterwards. */
#include "check.h"

#define LARGEST (1 << 20)
static unsigned char out[LARGEST], in[LARGEST];

static void check_rest(int room)
{
    for (int i = room; i < LARGEST; i++)
        if (in[i] != 0x33) {
            check_fail(__FILE__, __LINE__, "bytes beyond the buffer were written");
            return;
        }
}

static void truncated(int size, int room, int posted)
{
    if (check_rank == 0) {
        if (posted)
            MPI_Recv(NULL, 0, MPI_BYTE, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK_MPI(MPI_Send(out, size, MPI_BYTE, 1, 1, MPI_COMM_WORLD));
        CHECK_MPI(MPI_Send(&size, 1, MPI_INT, 1, 1, MPI_COMM_WORLD));
    } else if (check_rank == 1) {
        MPI_Request request;
        MPI_Status status;
        int value = 0;
        memset(in, 0x33, sizeof in);
        if (posted) {
            CHECK_MPI(MPI_Irecv(in, room, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &request));
            MPI_Send(NULL, 0, MPI_BYTE, 0, 2, MPI_COMM_WORLD);
            CHECK_CLASS(MPI_Wait(&request, &status), MPI_ERR_TRUNCATE);
            CHECK(request == MPI_REQUEST_NULL);
        } else {
            MPI_Probe(0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            CHECK_CLASS(MPI_Recv(in, room, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &status),
                        MPI_ERR_TRUNCATE);
        }
        CHECK_EQ(status.MPI_SOURCE, 0);
        CHECK_EQ(status.MPI_TAG, 1);
        check_rest(room);
        CHECK_MPI(MPI_Recv(&value, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CHECK_EQ(value, size);
    }
}

int main(int argc, char **argv)
{
    static const int sizes[] = { 1, 40, 41, 2000, 20000, 70000, LARGEST };
    check_init(&argc, &argv);
    CHECK_NEEDS(2);
    for (int i = 0; i < 7; i++)
        for (int posted = 0; posted < 2; posted++) {
            truncated(sizes[i], 0, posted);
            truncated(sizes[i], sizes[i] - 1, posted);
            truncated(sizes[i], sizes[i] / 3, posted);
        }
    /* To itself too. */
    int pair[2] = { 1, 2 }, one[2] = { 0, 99 };
    MPI_Request request;
    CHECK_MPI(MPI_Isend(pair, 2, MPI_INT, 0, 0, MPI_COMM_SELF, &request));
    CHECK_CLASS(MPI_Recv(one, 1, MPI_INT, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE),
                MPI_ERR_TRUNCATE);
    CHECK_EQ(one[1], 99);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    return check_finish();
}
