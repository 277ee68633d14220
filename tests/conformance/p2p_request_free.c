/* MPI 5.0, 3.7.3 MPI_Request_free: an active operation whose request is freed still completes. */
#include "check.h"

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    int right = (check_rank + 1) % check_size, left = (check_rank + check_size - 1) % check_size;
    static unsigned char out[4][100000], in[100000], late[100000];
    static const int sizes[4] = { 0, 30, 5000, 100000 };
    MPI_Request request;
    for (int i = 0; i < 4; i++) {
        pattern_fill(out[i], (size_t)sizes[i], (unsigned)(check_rank + i));
        CHECK_MPI(MPI_Isend(out[i], sizes[i], MPI_BYTE, right, i, MPI_COMM_WORLD, &request));
        CHECK_MPI(MPI_Request_free(&request));
        CHECK(request == MPI_REQUEST_NULL);
    }
    for (int i = 3; i >= 0; i--) {
        CHECK_MPI(MPI_Recv(in, sizes[i], MPI_BYTE, left, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CHECK(pattern_holds(in, (size_t)sizes[i], (unsigned)(left + i)));
    }
    /* A freed receive: a later message from the same sender tells that it was matched. */
    CHECK_MPI(MPI_Irecv(late, 30, MPI_BYTE, left, 7, MPI_COMM_WORLD, &request));
    CHECK_MPI(MPI_Request_free(&request));
    CHECK_MPI(MPI_Barrier(MPI_COMM_WORLD));
    CHECK_MPI(MPI_Send(out[1], 30, MPI_BYTE, right, 7, MPI_COMM_WORLD));
    CHECK_MPI(MPI_Sendrecv(NULL, 0, MPI_BYTE, right, 8, NULL, 0, MPI_BYTE, left, 8, MPI_COMM_WORLD,
                           MPI_STATUS_IGNORE));
    /* Matched by now; nothing tells when the data are in, so wait a little while MPI progresses. */
    double end = MPI_Wtime() + 60;
    for (int flag; !pattern_holds(late, 30, (unsigned)(left + 1)) && MPI_Wtime() < end;)
        CHECK_MPI(MPI_Iprobe(left, 9, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
    CHECK(pattern_holds(late, 30, (unsigned)(left + 1)));
    /* All sends are received before anybody leaves: the buffers may go then. */
    CHECK_MPI(MPI_Barrier(MPI_COMM_WORLD));
    return check_finish();
}
