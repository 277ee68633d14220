/* MPI 5.0, 3.8.1 "Probe": MPI_Probe and MPI_Iprobe tell source, tag and length of the message
 * that the same receive would get, and do not take it. */
#include "check.h"

static void one_sender(int from, int size)
{
    MPI_Status first, second;
    int count = -1, flag = 0, again = -1;
    CHECK_MPI(MPI_Probe(from, MPI_ANY_TAG, MPI_COMM_WORLD, &first));
    CHECK_MPI(MPI_Iprobe(from, first.MPI_TAG, MPI_COMM_WORLD, &flag, &second));
    CHECK(flag);
    CHECK_EQ(first.MPI_TAG, second.MPI_TAG);
    CHECK_EQ(first.MPI_SOURCE, from);
    CHECK_EQ(second.MPI_SOURCE, from);
    CHECK_MPI(MPI_Get_count(&first, MPI_BYTE, &count));
    CHECK_MPI(MPI_Get_count(&second, MPI_BYTE, &again));
    CHECK_EQ(count, size);
    CHECK_EQ(again, size);
    CHECK_MPI(MPI_Iprobe(from, first.MPI_TAG + 1, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
    CHECK(!flag);
    unsigned char *data = malloc((size_t)size + 1);
    CHECK_MPI(MPI_Recv(data, count, MPI_BYTE, from, first.MPI_TAG, MPI_COMM_WORLD,
                       MPI_STATUS_IGNORE));
    CHECK(pattern_holds(data, (size_t)size, (unsigned)size));
    free(data);
}

int main(int argc, char **argv)
{
    static const int sizes[] = { 0, 3, 40, 64, 5000, 70000, 1000000 };
    check_init(&argc, &argv);
    CHECK_NEEDS(2);
    for (int i = 0; i < 7; i++) {
        if (check_rank == 0) {
            for (int from = check_size - 1; from > 0; from--)
                one_sender(from, sizes[i]);
        } else {
            unsigned char *data = malloc((size_t)sizes[i] + 1);
            pattern_fill(data, (size_t)sizes[i], (unsigned)sizes[i]);
            CHECK_MPI(MPI_Ssend(data, sizes[i], MPI_BYTE, 0, i, MPI_COMM_WORLD));
            free(data);
        }
    }
    /* From any source, lengths that differ by sender; a polling loop of Iprobe. */
    if (check_rank == 0) {
        for (int n = 1; n < check_size; n++) {
            MPI_Status status;
            int flag = 0, count = -1, data[64];
            while (!flag)
                CHECK_MPI(MPI_Iprobe(MPI_ANY_SOURCE, 50, MPI_COMM_WORLD, &flag, &status));
            CHECK_MPI(MPI_Get_count(&status, MPI_INT, &count));
            CHECK_EQ(count, status.MPI_SOURCE);
            CHECK_MPI(MPI_Recv(data, count, MPI_INT, status.MPI_SOURCE, status.MPI_TAG,
                               MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            CHECK_EQ(data[0], status.MPI_SOURCE);
        }
        int flag = 1;
        CHECK_MPI(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE));
        CHECK(!flag);
    } else {
        int data[64] = { check_rank };
        CHECK_MPI(MPI_Send(data, check_rank, MPI_INT, 0, 50, MPI_COMM_WORLD));
    }
    return check_finish();
}
