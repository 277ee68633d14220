/* MPI 5.0, 3.4 "Communication Modes" and 3.7.2 "Communication Initiation": every send mode,
 * blocking and not, delivers the same message, small and large, on a ring of all ranks. */
#include "check.h"

enum { STANDARD, SYNCHRONOUS, BUFFERED, READY, MODES };
#define LARGEST 300000

static unsigned char out[LARGEST], in[LARGEST];
static char space[LARGEST + MPI_BSEND_OVERHEAD];

static void send_blocking(int mode, int count, int to, int tag)
{
    switch (mode) {
    case STANDARD: CHECK_MPI(MPI_Send(out, count, MPI_BYTE, to, tag, MPI_COMM_WORLD)); break;
    case SYNCHRONOUS: CHECK_MPI(MPI_Ssend(out, count, MPI_BYTE, to, tag, MPI_COMM_WORLD)); break;
    case BUFFERED: CHECK_MPI(MPI_Bsend(out, count, MPI_BYTE, to, tag, MPI_COMM_WORLD)); break;
    case READY: CHECK_MPI(MPI_Rsend(out, count, MPI_BYTE, to, tag, MPI_COMM_WORLD)); break;
    }
}

static void send_start(int mode, int count, int to, int tag, MPI_Request *r)
{
    switch (mode) {
    case STANDARD: CHECK_MPI(MPI_Isend(out, count, MPI_BYTE, to, tag, MPI_COMM_WORLD, r)); break;
    case SYNCHRONOUS: CHECK_MPI(MPI_Issend(out, count, MPI_BYTE, to, tag, MPI_COMM_WORLD, r)); break;
    case BUFFERED: CHECK_MPI(MPI_Ibsend(out, count, MPI_BYTE, to, tag, MPI_COMM_WORLD, r)); break;
    case READY: CHECK_MPI(MPI_Irsend(out, count, MPI_BYTE, to, tag, MPI_COMM_WORLD, r)); break;
    }
}

/* All ranks post their receive, tell their left neighbour so, and then send. */
static void exchange(int mode, int count, int nonblocking)
{
    int right = (check_rank + 1) % check_size, left = (check_rank + check_size - 1) % check_size;
    int tag = mode * 10 + nonblocking;
    MPI_Request requests[2];
    MPI_Status status;
    memset(in, 0xee, sizeof in);
    pattern_fill(out, (size_t)count, (unsigned)(check_rank + count + tag));
    CHECK_MPI(MPI_Irecv(in, LARGEST, MPI_BYTE, left, tag, MPI_COMM_WORLD, &requests[0]));
    CHECK_MPI(MPI_Sendrecv(NULL, 0, MPI_BYTE, left, 99, NULL, 0, MPI_BYTE, right, 99,
                           MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    if (nonblocking) {
        send_start(mode, count, right, tag, &requests[1]);
        CHECK_MPI(MPI_Wait(&requests[1], MPI_STATUS_IGNORE));
        CHECK(requests[1] == MPI_REQUEST_NULL);
    } else {
        send_blocking(mode, count, right, tag);
    }
    CHECK_MPI(MPI_Wait(&requests[0], &status));
    int got = -1;
    CHECK_MPI(MPI_Get_count(&status, MPI_BYTE, &got));
    CHECK_EQ(got, count);
    CHECK_EQ(status.MPI_SOURCE, left);
    CHECK_EQ(status.MPI_TAG, tag);
    CHECK(pattern_holds(in, (size_t)count, (unsigned)(left + count + tag)));
    if (count < LARGEST)
        CHECK_EQ(in[count], 0xee);
}

int main(int argc, char **argv)
{
    static const int counts[] = { 0, 1, 39, 40, 41, 4096, 65537, LARGEST };
    check_init(&argc, &argv);
    CHECK_MPI(MPI_Buffer_attach(space, sizeof space));
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        for (int mode = 0; mode < MODES; mode++)
            for (int nonblocking = 0; nonblocking < 2; nonblocking++)
                exchange(mode, counts[i], nonblocking);
    void *address;
    int size;
    CHECK_MPI(MPI_Buffer_detach(&address, &size));
    CHECK(address == space);
    CHECK_EQ(size, sizeof space);
    return check_finish();
}
