/* More ranks than processors: many init|ring [loud]. Rank 0 says "done". Loud ranks write half a
 * megabyte to standard error each. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static int rank, size;

static int ring(void)
{
    int next = (rank + 1) % size, before = (rank + size - 1) % size, token = 0;
    for (int lap = 1; lap <= 3; lap++) {
        if (rank == 0) {
            MPI_Send(&token, 1, MPI_INT, next, lap, MPI_COMM_WORLD);
            MPI_Recv(&token, 1, MPI_INT, before, lap, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(&token, 1, MPI_INT, before, lap, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            token++;
            MPI_Send(&token, 1, MPI_INT, next, lap, MPI_COMM_WORLD);
        }
    }
    return rank == 0 && token != 3 * (size - 1);
}

int main(int argc, char **argv)
{
    int wrong = 0, all = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc > 1 && !strcmp(argv[1], "ring")) {
        wrong = ring();
        for (int i = 0; argc > 2 && i < 20000; i++)
            fprintf(stderr, "line %d of the program\n", i);
        for (int i = 0; i < 20; i++)
            MPI_Barrier(MPI_COMM_WORLD);
        long mine[100], sum[100];
        for (int round = 0; round < 10; round++) {
            for (int i = 0; i < 100; i++)
                mine[i] = rank + i + round;
            MPI_Allreduce(mine, sum, 100, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
            for (int i = 0; i < 100; i++)
                wrong += sum[i] != (long)size * (size - 1) / 2 + (long)size * (i + round);
        }
        MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    }
    MPI_Finalize();
    if (rank == 0)
        printf("%s, %d ranks\n", all ? "wrong" : "done", size);
    return all != 0;
}
