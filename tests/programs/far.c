/* Two ranks talk to each other, and the others to nobody.
 *
 *   far ONE OTHER FILE
 *
 * Rank ONE makes FILE when it has talked to OTHER; they go on until somebody removes it. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    int rank, go = 1, round = 0, came;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    if (argc != 4)
        MPI_Abort(MPI_COMM_WORLD, 2);
    int one = atoi(argv[1]), other = atoi(argv[2]);
    for (; go && rank == one; round++) {
        if (round == 1) {
            FILE *file = fopen(argv[3], "w");
            if (!file)
                MPI_Abort(MPI_COMM_WORLD, 3);
            fclose(file);
        }
        go = round < 1 || access(argv[3], F_OK) == 0;
        MPI_Send(&go, 1, MPI_INT, other, round % 100, MPI_COMM_WORLD);
        MPI_Recv(&came, 1, MPI_INT, other, round % 100, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (came != round)
            MPI_Abort(MPI_COMM_WORLD, 4);
    }
    for (; go && rank == other; round++) {
        MPI_Recv(&go, 1, MPI_INT, one, round % 100, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(&round, 1, MPI_INT, one, round % 100, MPI_COMM_WORLD);
    }
    /* The others keep their hands off the network: a barrier would have them wait for each other. */
    while (rank != one && rank != other && access(argv[3], F_OK) != 0)
        usleep(1000);
    while (rank != one && rank != other && access(argv[3], F_OK) == 0)
        usleep(1000);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == one)
        printf("right %d\n", round);
    MPI_Finalize();
    return 0;
}
