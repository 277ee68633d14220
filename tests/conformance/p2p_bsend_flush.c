/* MPI 5.0, 3.6: MPI_Buffer_iflush and its kin, MPI_Ibsend, MPI_Bsend_init, attaching twice, detaching
 * nothing, and a buffer whose space comes back only when a message has left. */
#include "check.h"

#define LARGE 400000

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    int right = (check_rank + 1) % check_size, left = (check_rank + check_size - 1) % check_size;
    int size = -1, flag = 1, token = 7, got = -1;
    void *address = &size;
    static char space[LARGE + 1000 + 2 * MPI_BSEND_OVERHEAD], out[LARGE], in[LARGE];
    MPI_Request request, requests[3];
    MPI_Status status;
    CHECK_MPI(MPI_Buffer_attach(space, sizeof space));
    CHECK(MPI_Buffer_attach(space, sizeof space) != MPI_SUCCESS);
    /* Nothing under way. */
    CHECK_MPI(MPI_Buffer_iflush(&request));
    CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK(request == MPI_REQUEST_NULL);
    /* A message too large to leave before it is received. */
    pattern_fill((unsigned char *)out, LARGE, (unsigned)check_rank);
    CHECK_MPI(MPI_Ibsend(out, LARGE, MPI_CHAR, right, 1, MPI_COMM_WORLD, &requests[0]));
    CHECK_MPI(MPI_Wait(&requests[0], &status));
    memset(out, 0, sizeof out);
    CHECK_CLASS(MPI_Bsend(out, LARGE, MPI_CHAR, right, 2, MPI_COMM_WORLD), MPI_ERR_BUFFER);
    CHECK_MPI(MPI_Buffer_iflush(&requests[0]));
    CHECK_MPI(MPI_Buffer_iflush(&requests[1]));
    CHECK_MPI(MPI_Test(&requests[1], &flag, MPI_STATUS_IGNORE));
    /* A small one still fits and goes its way. */
    CHECK_MPI(MPI_Bsend(&token, 1, MPI_INT, right, 3, MPI_COMM_WORLD));
    CHECK_MPI(MPI_Recv(&got, 1, MPI_INT, left, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK_EQ(got, 7);
    CHECK_MPI(MPI_Irecv(in, LARGE, MPI_CHAR, left, 1, MPI_COMM_WORLD, &requests[2]));
    CHECK_MPI(MPI_Waitall(3, requests, MPI_STATUSES_IGNORE));
    CHECK(pattern_holds((unsigned char *)in, LARGE, (unsigned)left));
    /* Now there is room again, also for a persistent one. */
    CHECK_MPI(MPI_Bsend_init(out, LARGE, MPI_CHAR, right, 4, MPI_COMM_WORLD, &request));
    for (int round = 0; round < 3; round++) {
        pattern_fill((unsigned char *)out, LARGE, (unsigned)(check_rank + round));
        CHECK_MPI(MPI_Start(&request));
        CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
        memset(out, 0, sizeof out);
        CHECK_MPI(MPI_Recv(in, LARGE, MPI_CHAR, left, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CHECK(pattern_holds((unsigned char *)in, LARGE, (unsigned)(left + round)));
        CHECK_MPI(MPI_Buffer_flush());
    }
    CHECK_MPI(MPI_Request_free(&request));
    CHECK_MPI(MPI_Buffer_detach(&address, &size));
    CHECK(address == space);
    CHECK_EQ(size, sizeof space);
    CHECK_MPI(MPI_Bsend(&token, 1, MPI_INT, MPI_PROC_NULL, 5, MPI_COMM_WORLD));
    return check_finish();
}
