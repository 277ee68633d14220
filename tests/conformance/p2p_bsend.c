/* MPI 5.0, 3.6 "Buffer Allocation and Usage": buffered sends complete without a receive, the
 * space is reused, detach waits for delivery, and a message too large for the buffer is
 * MPI_ERR_BUFFER. */
#include "check.h"

#define INTS 1000

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    CHECK_NEEDS(2);
    int right = (check_rank + 1) % check_size, left = (check_rank + check_size - 1) % check_size;
    int size = -1, data[INTS], in[INTS];
    void *address = NULL;
    MPI_Pack_size(INTS, MPI_INT, MPI_COMM_WORLD, &size);
    int room = 10 * (size + MPI_BSEND_OVERHEAD), got = -1;
    char *space = malloc((size_t)room);
    CHECK_MPI(MPI_Buffer_attach(space, room));
    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < 10; i++) {
            for (int k = 0; k < INTS; k++)
                data[k] = check_rank + round * 10 + i + k;
            CHECK_MPI(MPI_Bsend(data, INTS, MPI_INT, right, i, MPI_COMM_WORLD));
            memset(data, 0, sizeof data);
        }
        for (int i = 9; i >= 0; i--) {
            CHECK_MPI(MPI_Recv(in, INTS, MPI_INT, left, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            CHECK_EQ(in[0], left + round * 10 + i);
            CHECK_EQ(in[INTS - 1], left + round * 10 + i + INTS - 1);
        }
        /* The own messages have been received too: their space is free again. */
        CHECK_MPI(MPI_Barrier(MPI_COMM_WORLD));
    }
    /* The last one is detached before it is received anywhere. */
    CHECK_MPI(MPI_Bsend(&check_rank, 1, MPI_INT, right, 20, MPI_COMM_WORLD));
    MPI_Request request;
    CHECK_MPI(MPI_Irecv(&got, 1, MPI_INT, left, 20, MPI_COMM_WORLD, &request));
    CHECK_MPI(MPI_Buffer_detach(&address, &size));
    CHECK(address == space);
    CHECK_EQ(size, room);
    memset(space, 0, (size_t)room);
    CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK_EQ(got, left);

    CHECK_MPI(MPI_Buffer_attach(space, 100 + MPI_BSEND_OVERHEAD));
    CHECK_CLASS(MPI_Bsend(data, INTS, MPI_INT, right, 21, MPI_COMM_WORLD), MPI_ERR_BUFFER);
    CHECK_MPI(MPI_Bsend(data, 100, MPI_CHAR, right, 22, MPI_COMM_WORLD));
    CHECK_MPI(MPI_Recv(in, 100, MPI_CHAR, left, 22, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK_MPI(MPI_Buffer_detach(&address, &size));
    CHECK_CLASS(MPI_Bsend(data, 1, MPI_INT, right, 23, MPI_COMM_WORLD), MPI_ERR_BUFFER);
    free(space);
    return check_finish();
}
