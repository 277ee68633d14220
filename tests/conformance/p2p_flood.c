/* MPI 5.0, 3.5 and 3.7.4: ranks flood rank 0 with nonblocking sends while it does not receive;
 * later it drains them, and other traffic on another communicator passes the flood. */
#include "check.h"

#define MESSAGES 5000

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    CHECK_NEEDS(2);
    MPI_Comm other;
    CHECK_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &other));
    int token = 17;
    if (check_rank != 0) {
        static int data[MESSAGES][4];
        static MPI_Request requests[MESSAGES];
        for (int i = 0; i < MESSAGES; i++) {
            data[i][0] = check_rank;
            data[i][3] = i;
            CHECK_MPI(MPI_Isend(data[i], 4, MPI_INT, 0, 5, MPI_COMM_WORLD, &requests[i]));
        }
        CHECK_MPI(MPI_Send(&token, 1, MPI_INT, 0, 6, other));
        CHECK_MPI(MPI_Recv(&token, 1, MPI_INT, 0, 6, other, MPI_STATUS_IGNORE));
        CHECK_EQ(token, 18);
        CHECK_MPI(MPI_Waitall(MESSAGES, requests, MPI_STATUSES_IGNORE));
    } else {
        /* The token is behind the flood, but in another context. */
        for (int i = 1; i < check_size; i++) {
            CHECK_MPI(MPI_Recv(&token, 1, MPI_INT, i, 6, other, MPI_STATUS_IGNORE));
            CHECK_EQ(token, 17);
            token = 18;
            CHECK_MPI(MPI_Send(&token, 1, MPI_INT, i, 6, other));
        }
        int *next = calloc((size_t)check_size, sizeof *next), wrong = 0;
        for (int i = 0; i < MESSAGES * (check_size - 1); i++) {
            int data[4];
            MPI_Status status;
            CHECK_MPI(MPI_Recv(data, 4, MPI_INT, MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, &status));
            wrong += data[0] != status.MPI_SOURCE || data[3] != next[data[0]]++;
        }
        CHECK_EQ(wrong, 0);
        free(next);
    }
    CHECK_MPI(MPI_Comm_free(&other));
    return check_finish();
}
