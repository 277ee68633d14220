/* MPI 5.0, 3.2.4 and 3.10: a process sends to itself, on MPI_COMM_SELF and on MPI_COMM_WORLD, in
 * all modes, of all sizes, with wildcards, probes and persistent requests. */
#include "check.h"

#define LARGEST 200000
static unsigned char out[LARGEST], in[LARGEST];

static void round_trip(MPI_Comm comm, int me, int size, int receive_first)
{
    MPI_Request send, receive;
    MPI_Status status;
    pattern_fill(out, (size_t)size, (unsigned)size);
    memset(in, 0, sizeof in);
    if (receive_first)
        CHECK_MPI(MPI_Irecv(in, size, MPI_BYTE, MPI_ANY_SOURCE, 3, comm, &receive));
    CHECK_MPI(MPI_Isend(out, size, MPI_BYTE, me, 3, comm, &send));
    if (!receive_first) {
        int flag = 0, got = -1;
        CHECK_MPI(MPI_Iprobe(me, 3, comm, &flag, &status));
        while (!flag)
            CHECK_MPI(MPI_Iprobe(me, 3, comm, &flag, &status));
        CHECK_MPI(MPI_Get_count(&status, MPI_BYTE, &got));
        CHECK_EQ(got, size);
        CHECK_MPI(MPI_Irecv(in, size, MPI_BYTE, me, MPI_ANY_TAG, comm, &receive));
    }
    CHECK_MPI(MPI_Wait(&receive, &status));
    CHECK_MPI(MPI_Wait(&send, MPI_STATUS_IGNORE));
    CHECK_EQ(status.MPI_SOURCE, me);
    CHECK(pattern_holds(in, (size_t)size, (unsigned)size));
}

static void synchronous(MPI_Comm comm, int me)
{
    int flag = 1, value = 5, got = 0;
    MPI_Request send, receive;
    CHECK_MPI(MPI_Issend(&value, 1, MPI_INT, me, 4, comm, &send));
    for (int i = 0; i < 100; i++) {
        CHECK_MPI(MPI_Test(&send, &flag, MPI_STATUS_IGNORE));
        CHECK(!flag);
    }
    CHECK_MPI(MPI_Irecv(&got, 1, MPI_INT, me, 4, comm, &receive));
    CHECK_MPI(MPI_Wait(&send, MPI_STATUS_IGNORE));
    CHECK_MPI(MPI_Wait(&receive, MPI_STATUS_IGNORE));
    CHECK_EQ(got, 5);
    CHECK_MPI(MPI_Sendrecv(&value, 1, MPI_INT, me, 6, &got, 1, MPI_INT, me, 6, comm,
                           MPI_STATUS_IGNORE));
    value = 9;
    CHECK_MPI(MPI_Sendrecv_replace(&value, 1, MPI_INT, me, 6, me, 6, comm, MPI_STATUS_IGNORE));
    CHECK_EQ(value, 9);
}

int main(int argc, char **argv)
{
    static const int sizes[] = { 0, 1, 40, 1000, 8192, 65536, LARGEST };
    check_init(&argc, &argv);
    for (int i = 0; i < 7; i++)
        for (int first = 0; first < 2; first++) {
            round_trip(MPI_COMM_SELF, 0, sizes[i], first);
            round_trip(MPI_COMM_WORLD, check_rank, sizes[i], first);
        }
    synchronous(MPI_COMM_SELF, 0);
    synchronous(MPI_COMM_WORLD, check_rank);
    return check_finish();
}
