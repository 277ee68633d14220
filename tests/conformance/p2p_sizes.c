/* MPI 5.0, 3.2 and 3.5: messages of every size around the powers of two up to 4 MiB arrive whole
 * and write nothing beyond their end. Argument: "posted" (the receive is there first),
 * "unexpected" (the message is there first) or "both" (both directions at once). */
#include "check.h"

#define LARGEST (4 << 20)
#define MARGIN 64

static unsigned char *out, *in;

static void check_arrived(const MPI_Status *status, int size, int from)
{
    int got = -1;
    CHECK_MPI(MPI_Get_count(status, MPI_BYTE, &got));
    CHECK_EQ(got, size);
    CHECK(pattern_holds(in + MARGIN, (size_t)size, (unsigned)(size + from)));
    for (int i = 0; i < MARGIN; i++)
        if (in[i] != 0xaa || in[MARGIN + size + i] != 0xaa) {
            check_fail(__FILE__, __LINE__, "bytes outside the buffer were written");
            return;
        }
}

static void one_way(int size, int posted)
{
    MPI_Status status;
    if (check_rank == 0) {
        MPI_Request request;
        pattern_fill(out, (size_t)size, (unsigned)size);
        if (posted)
            CHECK_MPI(MPI_Recv(NULL, 0, MPI_BYTE, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CHECK_MPI(MPI_Isend(out, size, MPI_BYTE, 1, 1, MPI_COMM_WORLD, &request));
        if (!posted)
            CHECK_MPI(MPI_Send(NULL, 0, MPI_BYTE, 1, 2, MPI_COMM_WORLD));
        CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    } else if (check_rank == 1) {
        memset(in, 0xaa, (size_t)size + 2 * MARGIN);
        if (posted) {
            MPI_Request request;
            CHECK_MPI(MPI_Irecv(in + MARGIN, size, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &request));
            CHECK_MPI(MPI_Send(NULL, 0, MPI_BYTE, 0, 2, MPI_COMM_WORLD));
            CHECK_MPI(MPI_Wait(&request, &status));
        } else {
            CHECK_MPI(MPI_Recv(NULL, 0, MPI_BYTE, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            CHECK_MPI(MPI_Recv(in + MARGIN, size, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &status));
        }
        check_arrived(&status, size, 0);
    }
}

static void both_ways(int size)
{
    int right = (check_rank + 1) % check_size, left = (check_rank + check_size - 1) % check_size;
    MPI_Request requests[2];
    MPI_Status statuses[2];
    pattern_fill(out, (size_t)size, (unsigned)(size + check_rank));
    memset(in, 0xaa, (size_t)size + 2 * MARGIN);
    CHECK_MPI(MPI_Isend(out, size, MPI_BYTE, right, 1, MPI_COMM_WORLD, &requests[0]));
    CHECK_MPI(MPI_Irecv(in + MARGIN, size, MPI_BYTE, left, 1, MPI_COMM_WORLD, &requests[1]));
    CHECK_MPI(MPI_Waitall(2, requests, statuses));
    check_arrived(&statuses[1], size, left);
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    CHECK_NEEDS(2);
    const char *how = argc > 1 ? argv[1] : "both";
    out = malloc(LARGEST + MARGIN);
    in = malloc(LARGEST + 3 * MARGIN);
    for (int power = 1; power <= LARGEST; power *= 2)
        for (int size = power - 1; size <= power + 1; size++) {
            if (!strcmp(how, "both"))
                both_ways(size);
            else
                one_way(size, !strcmp(how, "posted"));
        }
    free(out);
    free(in);
    return check_finish();
}
