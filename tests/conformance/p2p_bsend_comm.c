/* MPI 5.0, 3.6: a buffer of its own for one communicator, MPI_Buffer_flush, and the automatic
 * buffer MPI_BUFFER_AUTOMATIC. */
#include "check.h"

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    int right = (check_rank + 1) % check_size, left = (check_rank + check_size - 1) % check_size;
    static char space[20000];
    static int data[2000], in[2000];
    void *address = NULL;
    int size = -1;
    MPI_Request request;
    MPI_Comm comm;
    CHECK_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    CHECK_MPI(MPI_Comm_attach_buffer(comm, space, sizeof space));
    for (int i = 0; i < 10; i++) {
        data[1999] = check_rank + i;
        CHECK_MPI(MPI_Irecv(in, 2000, MPI_INT, left, i, comm, &request));
        CHECK_MPI(MPI_Bsend(data, 2000, MPI_INT, right, i, comm));
        data[1999] = -1;
        CHECK_MPI(MPI_Comm_flush_buffer(comm));
        CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
        CHECK_EQ(in[1999], left + i);
    }
    CHECK_MPI(MPI_Comm_detach_buffer(comm, &address, &size));
    CHECK(address == space);
    CHECK_EQ(size, sizeof space);

    CHECK_MPI(MPI_Comm_attach_buffer(comm, MPI_BUFFER_AUTOMATIC, 0));
    for (int i = 0; i < 50; i++) {
        data[1999] = check_rank + i;
        CHECK_MPI(MPI_Bsend(data, 2000, MPI_INT, right, i, comm));
    }
    for (int i = 49; i >= 0; i--) {
        CHECK_MPI(MPI_Recv(in, 2000, MPI_INT, left, i, comm, MPI_STATUS_IGNORE));
        CHECK_EQ(in[1999], left + i);
    }
    CHECK_MPI(MPI_Comm_detach_buffer(comm, &address, &size));
    CHECK(address == MPI_BUFFER_AUTOMATIC);
    CHECK_EQ(size, 0);
    CHECK_MPI(MPI_Comm_free(&comm));
    return check_finish();
}
