/* MPI 5.0, 3.11 "Send-Receive": MPI_Sendrecv, MPI_Sendrecv_replace and their nonblocking forms,
 * with different types and sizes on both sides, without deadlock on a ring, matching ordinary
 * sends and receives. With the argument "status" the status of the nonblocking form is checked to
 * be that of the receive, as it is for the blocking one. */
#include "check.h"

#define LARGEST 500000
static unsigned char out[LARGEST], in[LARGEST];
static int check_status; /* of the nonblocking form too */

static void ring(int size, int nonblocking)
{
    int right = (check_rank + 1) % check_size, left = (check_rank + check_size - 1) % check_size;
    int mine = size + check_rank, theirs = size + left, got = -1;
    MPI_Status status;
    MPI_Request request;
    pattern_fill(out, (size_t)mine, (unsigned)mine);
    memset(in, 0, sizeof in);
    if (nonblocking) {
        CHECK_MPI(MPI_Isendrecv(out, mine, MPI_BYTE, right, 1, in, LARGEST, MPI_CHAR, left, 1,
                                MPI_COMM_WORLD, &request));
        CHECK_MPI(MPI_Wait(&request, &status));
    } else {
        CHECK_MPI(MPI_Sendrecv(out, mine, MPI_BYTE, right, 1, in, LARGEST, MPI_BYTE, left, 1,
                               MPI_COMM_WORLD, &status));
    }
    if (!nonblocking || check_status) {
        CHECK_EQ(status.MPI_SOURCE, left);
        CHECK_EQ(status.MPI_TAG, 1);
        CHECK_MPI(MPI_Get_count(&status, MPI_BYTE, &got));
        CHECK_EQ(got, theirs);
    }
    CHECK(pattern_holds(in, (size_t)theirs, (unsigned)theirs));
}

static void ring_replace(int size, int nonblocking)
{
    int right = (check_rank + 1) % check_size, left = (check_rank + check_size - 1) % check_size;
    MPI_Request request;
    pattern_fill(out, (size_t)size, (unsigned)check_rank);
    if (nonblocking) {
        CHECK_MPI(MPI_Isendrecv_replace(out, size, MPI_BYTE, right, check_rank, left, left,
                                        MPI_COMM_WORLD, &request));
        CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    } else {
        CHECK_MPI(MPI_Sendrecv_replace(out, size, MPI_BYTE, right, check_rank, left, left,
                                       MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    }
    CHECK(pattern_holds(out, (size_t)size, (unsigned)left));
}

/* A shift along a line: the ends talk to MPI_PROC_NULL and keep their value. */
static void line(void)
{
    int right = check_rank + 1 < check_size ? check_rank + 1 : MPI_PROC_NULL;
    int left = check_rank > 0 ? check_rank - 1 : MPI_PROC_NULL, value = -1;
    CHECK_MPI(MPI_Sendrecv(&check_rank, 1, MPI_INT, right, 2, &value, 1, MPI_INT, left, 2,
                           MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK_EQ(value, check_rank - 1);
    value = check_rank;
    CHECK_MPI(MPI_Sendrecv_replace(&value, 1, MPI_INT, right, 2, left, 2, MPI_COMM_WORLD,
                                   MPI_STATUS_IGNORE));
    CHECK_EQ(value, check_rank > 0 ? check_rank - 1 : 0);
}

/* A vector in place: only its elements change. */
static void replace_with_gaps(void)
{
    int right = (check_rank + 1) % check_size, left = (check_rank + check_size - 1) % check_size;
    MPI_Datatype gaps;
    int data[30];
    CHECK_MPI(MPI_Type_vector(10, 1, 3, MPI_INT, &gaps));
    CHECK_MPI(MPI_Type_commit(&gaps));
    for (int i = 0; i < 30; i++)
        data[i] = check_rank * 100 + i;
    CHECK_MPI(MPI_Sendrecv_replace(data, 1, gaps, right, 3, left, 3, MPI_COMM_WORLD,
                                   MPI_STATUS_IGNORE));
    for (int i = 0; i < 30; i++)
        CHECK_EQ(data[i], (i % 3 ? check_rank : left) * 100 + i);
    CHECK_MPI(MPI_Type_free(&gaps));
}

int main(int argc, char **argv)
{
    static const int sizes[] = { 0, 4, 60, 4000, 16384, 100000, 499000 };
    check_init(&argc, &argv);
    check_status = argc > 1 && !strcmp(argv[1], "status");
    for (int i = 0; i < 7; i++)
        for (int nonblocking = 0; nonblocking < 2; nonblocking++) {
            ring(sizes[i], nonblocking);
            ring_replace(sizes[i], nonblocking);
        }
    line();
    replace_with_gaps();
    /* Matches plain receives and sends. */
    int right = (check_rank + 1) % check_size, left = (check_rank + check_size - 1) % check_size;
    int value = -1, other = -1;
    MPI_Request receive, both;
    CHECK_MPI(MPI_Irecv(&value, 1, MPI_INT, left, 4, MPI_COMM_WORLD, &receive));
    CHECK_MPI(MPI_Isendrecv(&check_rank, 1, MPI_INT, right, 4, &other, 1, MPI_INT, left, 5,
                            MPI_COMM_WORLD, &both));
    CHECK_MPI(MPI_Send(&check_rank, 1, MPI_INT, right, 5, MPI_COMM_WORLD));
    CHECK_MPI(MPI_Wait(&receive, MPI_STATUS_IGNORE));
    CHECK_MPI(MPI_Wait(&both, MPI_STATUS_IGNORE));
    CHECK(value == left && other == left);
    return check_finish();
}
