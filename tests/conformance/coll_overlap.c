/* MPI 5.0, 6.12 and 6.14 "Correctness": nonblocking collectives progress while the program only
 * calls point-to-point functions, and wildcard receives never see a collective's messages. */
#include "coll.h"

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    int right = (check_rank + 1) % check_size, left = (check_rank + check_size - 1) % check_size;
    enum { COUNT = 20000 };
    int64_t *in = coll_buffer(COUNT), *out = coll_buffer(COUNT);
    for (int round = 0; round < 5; round++) {
        MPI_Request wild[4], reduce;
        int values[4] = { -1, -1, -1, -1 }, flag = 0;
        for (int i = 0; i < 4; i++)
            CHECK_MPI(MPI_Irecv(&values[i], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD,
                                &wild[i]));
        coll_fill(in, check_rank, round, COUNT);
        CHECK_MPI(MPI_Iallreduce(in, out, COUNT, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD, &reduce));
        CHECK_MPI(MPI_Barrier(MPI_COMM_WORLD));
        CHECK_MPI(MPI_Testall(4, wild, &flag, MPI_STATUSES_IGNORE));
        CHECK(!flag);
        CHECK_MPI(MPI_Barrier(MPI_COMM_WORLD)); /* nobody sends before all have looked */
        for (int i = 0; i < 4; i++)
            CHECK_MPI(MPI_Send(&i, 1, MPI_INT, right, 10 + i, MPI_COMM_WORLD));
        for (int i = 0; i < 4; i++) {
            MPI_Status status;
            CHECK_MPI(MPI_Wait(&wild[i], &status));
            CHECK_EQ(status.MPI_SOURCE, left);
            CHECK_EQ(status.MPI_TAG, 10 + i);
            CHECK_EQ(values[i], i);
        }
        for (flag = 0; !flag;)
            CHECK_MPI(MPI_Test(&reduce, &flag, MPI_STATUS_IGNORE));
        CHECK(reduce == MPI_REQUEST_NULL);
        CHECK(coll_is_sum(out, check_size - 1, round, COUNT));
        /* Nothing left that a probe could see, once all ranks are here. */
        CHECK_MPI(MPI_Barrier(MPI_COMM_WORLD));
        CHECK_MPI(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
        CHECK(!flag);
        CHECK_MPI(MPI_Barrier(MPI_COMM_WORLD));
    }
    free(in);
    free(out);
    return check_finish();
}
