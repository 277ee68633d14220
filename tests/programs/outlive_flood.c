/* Messages on their way to a rank that is killed: outlive_flood LENGTH, on 3 ranks with --enable-recovery.
 *
 * Rank 0 sends rank 1 as many messages of LENGTH bytes as shared memory takes while rank 1 reads none of them, and then
 * kills it. The messages must end with MPI_ERR_PROC_ABORTED or have gone, and the memory that they lay in must serve those
 * to rank 2 again.
 */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { DEAD = 1, FLOOD = 700, AFTER = 2000 };

static void must(const char *what, int good)
{
    if (good) return;
    printf("%s\n", what);
    fflush(stdout);
    MPI_Abort(MPI_COMM_WORLD, 9);
}

static void flood(int length, char *buffer)
{
    static MPI_Request requests[FLOOD];
    static MPI_Status statuses[FLOOD];
    long pid;
    int flag, class, failed = 0;
    MPI_Recv(&pid, 1, MPI_LONG, DEAD, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < FLOOD; i++) MPI_Isend(buffer, length, MPI_BYTE, DEAD, 1, MPI_COMM_WORLD, &requests[i]);
    for (int i = 0; i < 1000; i++) MPI_Test(&requests[FLOOD - 1], &flag, MPI_STATUS_IGNORE);
    must("all have gone, though nobody reads them", !flag);
    kill((pid_t)pid, SIGKILL);
    must("no error", MPI_Waitall(FLOOD, requests, statuses) == MPI_ERR_IN_STATUS);
    for (int i = 0; i < FLOOD; i++) {
        MPI_Error_class(statuses[i].MPI_ERROR, &class);
        must("another error", class == MPI_SUCCESS || class == MPI_ERR_PROC_ABORTED);
        failed += class != MPI_SUCCESS;
    }
    must("all have succeeded", failed > 0);
}

int main(int argc, char **argv)
{
    int rank, length = argc > 1 ? atoi(argv[1]) : 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    char *buffer = calloc(1, length);
    if (rank == DEAD) {
        long pid = getpid();
        MPI_Send(&pid, 1, MPI_LONG, 0, 0, MPI_COMM_WORLD);
        for (;;) pause();
    }
    if (rank == 0) flood(length, buffer);
    for (int i = 0; i < AFTER; i++) {
        int to = 2 - rank;
        int sent = i % 2 == rank / 2 ? MPI_Send(buffer, length, MPI_BYTE, to, 2, MPI_COMM_WORLD)
                                     : MPI_Recv(buffer, length, MPI_BYTE, to, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        must("the living can't talk", sent == MPI_SUCCESS);
    }
    printf("rank %d has seen it\n", rank);
    fflush(stdout);
    MPI_Finalize();
    return 0;
}
