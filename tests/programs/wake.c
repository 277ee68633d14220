/* Going to sleep just when a message comes: wake none|first|last|all ROUNDS, where membarrier is
 * forbidden in the named ranks. A wake-up that is lost shows as a long round. Rank 0 says
 * "R rounds, L longer than 0.3 s, W wrong". */
#include "forbid.h"
#include <mpi.h>
#include <time.h>

static void pause_for(long nanoseconds)
{
    struct timespec t = { 0, nanoseconds };
    nanosleep(&t, NULL);
}

int main(int argc, char **argv)
{
    int rank, size, wrong = 0, late = 0;
    if (argc < 3)
        return 2;
    forbid_in(argv[1], SYS_membarrier);
    int rounds = atoi(argv[2]);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    srand(1);
    for (int round = 0; round < rounds; round++) {
        /* From below to well above the time a rank polls before it sleeps; the same in all. */
        long nap = (long)(rand() % 400) * 1000;
        int token = rank == 0 ? round : -1;
        double start = MPI_Wtime();
        if (rank == round % size)
            pause_for(nap);
        if (rank == 0) {
            MPI_Send(&token, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
            MPI_Recv(&token, 1, MPI_INT, size - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            wrong += token != round + size - 1;
        } else {
            MPI_Recv(&token, 1, MPI_INT, rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            token++;
            MPI_Send(&token, 1, MPI_INT, (rank + 1) % size, 0, MPI_COMM_WORLD);
        }
        late += MPI_Wtime() - start > 0.3;
    }
    MPI_Finalize();
    if (rank == 0)
        printf("%d rounds, %d longer than 0.3 s, %d wrong\n", rounds, late, wrong);
    return wrong != 0;
}
