/* MPI 5.0, 3.2.4 and 3.5: which receive a message matches when several with and without wildcards
 * are posted: the first posted one that fits. */
#include "check.h"

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    CHECK_NEEDS(2);
    int right = (check_rank + 1) % check_size, left = (check_rank + check_size - 1) % check_size;
    /* Source and tag of the receives in the order of posting, and the tag each will get. */
    const struct { int source, tag, gets; } posted[] = {
        { left, 3, 3 },           { MPI_ANY_SOURCE, 4, 4 },           { left, MPI_ANY_TAG, 9 },
        { MPI_ANY_SOURCE, 3, 3 }, { MPI_ANY_SOURCE, MPI_ANY_TAG, 4 }, { left, 9, 9 },
        { left, MPI_ANY_TAG, 3 },
    };
    static const int sent[] = { 9, 4, 3, 3, 4, 9, 3 };
    enum { COUNT = 7 };
    int in[COUNT], out[COUNT];
    MPI_Request requests[COUNT];
    MPI_Status statuses[COUNT];
    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < COUNT; i++) {
            in[i] = -1;
            CHECK_MPI(MPI_Irecv(&in[i], 1, MPI_INT, posted[i].source, posted[i].tag,
                                MPI_COMM_WORLD, &requests[i]));
        }
        CHECK_MPI(MPI_Barrier(MPI_COMM_WORLD));
        for (int i = 0; i < COUNT; i++) {
            out[i] = i;
            CHECK_MPI(MPI_Send(&out[i], 1, MPI_INT, right, sent[i], MPI_COMM_WORLD));
        }
        CHECK_MPI(MPI_Waitall(COUNT, requests, statuses));
        int seen = 0;
        for (int i = 0; i < COUNT; i++) {
            CHECK_EQ(statuses[i].MPI_SOURCE, left);
            CHECK_EQ(statuses[i].MPI_TAG, posted[i].gets);
            CHECK(in[i] >= 0 && in[i] < COUNT && sent[in[i]] == posted[i].gets);
            seen |= 1 << in[i];
        }
        CHECK_EQ(seen, (1 << COUNT) - 1);
        /* Of the two 3s sent in a row, the first posted fitting receive has the first. */
        CHECK(in[0] < in[3] && in[3] < in[6]);
        CHECK_MPI(MPI_Barrier(MPI_COMM_WORLD));
    }
    return check_finish();
}
