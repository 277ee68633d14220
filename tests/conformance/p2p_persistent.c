/* MPI 5.0, 3.9 "Persistent Communication Requests": all modes, MPI_Start and MPI_Startall, many
 * rounds with changing contents, inactive requests in waits, freeing. */
#include "check.h"

#define LARGEST 100000
static unsigned char out[4][LARGEST], in[4][LARGEST];

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    int right = (check_rank + 1) % check_size, left = (check_rank + check_size - 1) % check_size;
    static const int sizes[4] = { 0, 40, 5000, LARGEST };
    static char space[4 * (2 * LARGEST + MPI_BSEND_OVERHEAD)];
    MPI_Request requests[8];
    MPI_Status statuses[8];
    CHECK_MPI(MPI_Buffer_attach(space, sizeof space));
    for (int mode = 0; mode < 4; mode++) {
        for (int i = 0; i < 4; i++) {
            CHECK_MPI(MPI_Recv_init(in[i], sizes[i], MPI_BYTE, left, i, MPI_COMM_WORLD,
                                    &requests[i]));
            int code = MPI_SUCCESS;
            void *buffer = out[i];
            MPI_Request *r = &requests[4 + i];
            switch (mode) {
            case 0: code = MPI_Send_init(buffer, sizes[i], MPI_BYTE, right, i, MPI_COMM_WORLD, r); break;
            case 1: code = MPI_Ssend_init(buffer, sizes[i], MPI_BYTE, right, i, MPI_COMM_WORLD, r); break;
            case 2: code = MPI_Bsend_init(buffer, sizes[i], MPI_BYTE, right, i, MPI_COMM_WORLD, r); break;
            case 3: code = MPI_Rsend_init(buffer, sizes[i], MPI_BYTE, right, i, MPI_COMM_WORLD, r); break;
            }
            CHECK_MPI(code);
        }
        /* Inactive requests complete at once with an empty status. */
        int flag = 0;
        CHECK_MPI(MPI_Testall(8, requests, &flag, statuses));
        CHECK(flag);
        CHECK_EQ(statuses[0].MPI_SOURCE, MPI_ANY_SOURCE);
        CHECK_EQ(statuses[0].MPI_TAG, MPI_ANY_TAG);
        for (int round = 0; round < 5; round++) {
            for (int i = 0; i < 4; i++) {
                pattern_fill(out[i], (size_t)sizes[i], (unsigned)(round * 7 + i + check_rank));
                memset(in[i], 0, (size_t)sizes[i]);
            }
            CHECK_MPI(MPI_Startall(4, requests));
            if (mode == 3) /* ready sends need the receives first */
                CHECK_MPI(MPI_Barrier(MPI_COMM_WORLD));
            for (int i = 7; i >= 4; i--)
                CHECK_MPI(MPI_Start(&requests[i]));
            CHECK_MPI(MPI_Waitall(8, requests, statuses));
            for (int i = 0; i < 4; i++) {
                CHECK(requests[i] != MPI_REQUEST_NULL);
                CHECK_EQ(statuses[i].MPI_SOURCE, left);
                CHECK_EQ(statuses[i].MPI_TAG, i);
                CHECK(pattern_holds(in[i], (size_t)sizes[i], (unsigned)(round * 7 + i + left)));
            }
        }
        for (int i = 0; i < 8; i++) {
            CHECK_MPI(MPI_Request_free(&requests[i]));
            CHECK(requests[i] == MPI_REQUEST_NULL);
        }
    }
    void *address;
    int size;
    CHECK_MPI(MPI_Buffer_detach(&address, &size));
    /* Freed while active: the operation still completes. */
    int value = check_rank + 50, got = -1;
    CHECK_MPI(MPI_Send_init(&value, 1, MPI_INT, right, 9, MPI_COMM_WORLD, &requests[0]));
    CHECK_MPI(MPI_Start(&requests[0]));
    CHECK_MPI(MPI_Request_free(&requests[0]));
    CHECK_MPI(MPI_Recv(&got, 1, MPI_INT, left, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK_EQ(got, left + 50);
    CHECK_MPI(MPI_Barrier(MPI_COMM_WORLD));
    return check_finish();
}
