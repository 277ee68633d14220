/* MPI and OpenSHMEM in one program, in either order: ranks are PEs, and both go on when the other has ended. */
#include <mpi.h>

#include "osh.h"

static long cell;

static void both(void)
{
    int rank, size, sum, one = 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK_EQ(rank, me);
    CHECK_EQ(size, n);
    for (int i = 0; i < 50; i++) {
        shmem_long_p(&cell, i * 100 + me, (me + 1) % n);
        shmem_quiet();
        MPI_Barrier(MPI_COMM_WORLD);
        CHECK_EQ(cell, i * 100 + (me + n - 1) % n);
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        CHECK_EQ(sum, n);
        shmem_barrier_all();
    }
}

int main(int argc, char **argv)
{
    int shmem_first = argc > 1 && strcmp(argv[1], "shmem") == 0;
    if (shmem_first)
        begin();
    MPI_Init(&argc, &argv);
    if (!shmem_first)
        begin();
    both();
    if (shmem_first) {
        MPI_Finalize();
        return end();
    }
    int result = end();
    int total = -1;
    MPI_Allreduce(&result, &total, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return result || total;
}
