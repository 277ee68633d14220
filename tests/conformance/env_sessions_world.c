/* MPI 5.0, 11.2 and 11.3: MPI_COMM_WORLD belongs to the world model. In a program of sessions alone it is an
 * invalid communicator, and the error goes to the initial error handler, which ends the job. */
#include <mpi.h>
#include <stdio.h>

int main(void)
{
    MPI_Session session;
    int size = -1;
    if (MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session) != MPI_SUCCESS)
        return 0;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    printf("the world has %d processes\n", size);
    MPI_Session_finalize(&session);
    return 0;
}
