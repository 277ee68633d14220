/* Calls of many kinds, the same in every run, for `mpirun --record`. On an even number of ranks; prints "right". */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static double a[4096], b[4096];

static void fail(const char *what)
{
    fprintf(stderr, "record: %s\n", what);
    MPI_Abort(MPI_COMM_WORLD, 3);
}

static void messages(int rank, int ranks)
{
    int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks, index, flag = 0;
    MPI_Request requests[2];
    MPI_Status status;
    MPI_Irecv(b, 10, MPI_DOUBLE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(a, 3, MPI_DOUBLE, next, 5, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Sendrecv(a, 2, MPI_DOUBLE, next, 6, b, 2, MPI_DOUBLE, before, 6, MPI_COMM_WORLD, &status);
    if (status.MPI_SOURCE != before)
        fail("from somebody else");
    if (rank % 2 == 0)
        MPI_Send(a, 1000, MPI_DOUBLE, next, 7, MPI_COMM_WORLD);
    else
        MPI_Recv(b, 4096, MPI_DOUBLE, MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    /* Nobody is there. */
    MPI_Send(a, 1, MPI_DOUBLE, MPI_PROC_NULL, 7, MPI_COMM_WORLD);
    MPI_Send_init(a, 4, MPI_DOUBLE, next, 8, MPI_COMM_WORLD, &requests[0]);
    MPI_Recv_init(b, 4, MPI_DOUBLE, before, 8, MPI_COMM_WORLD, &requests[1]);
    for (int i = 0; i < 2; i++) {
        MPI_Startall(2, requests);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
    if (rank % 2 == 0) {
        MPI_Isend(a, 5, MPI_INT, next, 9, MPI_COMM_WORLD, &requests[0]);
        while (!flag)
            MPI_Test(&requests[0], &flag, MPI_STATUS_IGNORE);
    } else {
        MPI_Message message;
        MPI_Mprobe(before, 9, MPI_COMM_WORLD, &message, &status);
        MPI_Mrecv(b, 5, MPI_INT, &message, MPI_STATUS_IGNORE);
    }
}

static void collectives(int rank, int ranks)
{
    MPI_Comm copy, half;
    MPI_Request request;
    int *counts = malloc(2 * (size_t)ranks * sizeof *counts), *displs = counts + ranks;
    for (int i = 0; i < ranks; i++) {
        counts[i] = i;
        displs[i] = i * (i - 1) / 2;
    }
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
    MPI_Barrier(copy);
    MPI_Bcast(a, 7, MPI_DOUBLE, 1, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, a, 1, MPI_INT, MPI_SUM, copy);
    MPI_Ireduce(a, b, 2, MPI_DOUBLE, MPI_MAX, 0, half, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Allgatherv(a, rank, MPI_DOUBLE, b, counts, displs, MPI_DOUBLE, MPI_COMM_WORLD);
    MPI_Gather(rank == 0 ? MPI_IN_PLACE : a, 1, MPI_DOUBLE, b, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    MPI_Alltoall(a, 2, MPI_DOUBLE, b, 2, MPI_DOUBLE, MPI_COMM_WORLD);
    MPI_Scan(a, b, 1, MPI_DOUBLE, MPI_SUM, half);
    MPI_Comm_free(&half);
    MPI_Comm_free(&copy);
    free(counts);
}

int main(int argc, char **argv)
{
    int rank, ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Pcontrol(1);
    messages(rank, ranks);
    MPI_Pcontrol(1);
    collectives(rank, ranks);
    MPI_Pcontrol(1);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        puts("right");
    MPI_Finalize();
    return 0;
}
