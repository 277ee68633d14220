/* MPI and shared objects in one program, whoever begins. */
#include "check.h"
#include <mpi.h>

int main(int argc, char **argv)
{
    int first = argc > 1 && strcmp(argv[1], "mpi") == 0;
    if (first)
        MPI_Init(&argc, &argv);
    begin();
    if (!first)
        MPI_Init(&argc, &argv);
    int rank, size, sum;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK_EQ(rank, me);
    CHECK_EQ(size, n);
    for (int round = 0; round < 50; round++) {
        sam_name mine = sam_name_of(round, me), theirs = sam_name_of(round, (me + 1) % n);
        *(int *)sam_value_begin(mine, sizeof(int)) = me + round;
        sam_value_end(mine, 1);
        int got = *(const int *)sam_use(theirs, NULL);
        sam_end_use(theirs);
        CHECK_EQ(got, (me + 1) % n + round);
        MPI_Request request;
        MPI_Iallreduce(&got, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
        /* Not MPI_Wait: the others may need this rank's answers to come so far. */
        for (int done = 0; !done; sam_poll())
            MPI_Test(&request, &done, MPI_STATUS_IGNORE);
        CHECK_EQ(sum, n * (n - 1) / 2 + n * round);
    }
    int result;
    if (first) {
        result = end();
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Finalize();
    } else {
        MPI_Finalize();
        result = end();
    }
    return result;
}
