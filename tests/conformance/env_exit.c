/* MPI 5.0, 9.3 and 9.4: what ends the job. Argument: "fatal" (an error under
 * MPI_ERRORS_ARE_FATAL), "abort" (MPI_Abort with code 7 by the last rank while the others wait),
 * "selffatal" (on MPI_COMM_SELF), "nofinalize" (a rank exits with 3 and the others wait). */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
    int rank, size, value = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const char *how = argc > 1 ? argv[1] : "";
    if (rank == size - 1) {
        if (!strcmp(how, "fatal"))
            MPI_Send(&value, 1, MPI_INT, size + 1, 0, MPI_COMM_WORLD);
        else if (!strcmp(how, "selffatal"))
            MPI_Send(&value, 1, MPI_INT, 1, 0, MPI_COMM_SELF);
        else if (!strcmp(how, "abort"))
            MPI_Abort(MPI_COMM_WORLD, 7);
        else
            _Exit(3);
        printf("still here\n");
    } else {
        /* Never sent. */
        MPI_Recv(&value, 1, MPI_INT, size - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Finalize();
    return 0;
}
