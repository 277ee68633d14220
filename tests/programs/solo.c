/* A program without a launcher is a job of one rank. Its exit code tells, because its streams may
 * be closed; what it prints must not land in anything the library has opened. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MUST(condition)                                                            \
    do {                                                                           \
        if (!(condition)) {                                                        \
            fprintf(stderr, "solo: line %d: %s is not so\n", __LINE__, #condition); \
            exit(1);                                                               \
        }                                                                          \
    } while (0)

enum { LARGE = 1 << 20 };

static void to_self(int bytes)
{
    char *out = malloc(bytes + 1), *in = calloc(1, bytes + 1);
    MUST(out && in);
    memset(out, 'a' + bytes % 26, bytes);
    MPI_Request request;
    MPI_Status status;
    int count;
    MPI_Isend(out, bytes, MPI_BYTE, 0, 5, MPI_COMM_WORLD, &request);
    MPI_Recv(in, bytes, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Get_count(&status, MPI_BYTE, &count);
    MUST(count == bytes && status.MPI_SOURCE == 0 && status.MPI_TAG == 5);
    MUST(memcmp(out, in, bytes) == 0);
    free(out);
    free(in);
}

static void collectives(MPI_Comm comm)
{
    int one = 41, all = 0;
    MPI_Barrier(comm);
    MPI_Bcast(&one, 1, MPI_INT, 0, comm);
    MPI_Allreduce(&one, &all, 1, MPI_INT, MPI_SUM, comm);
    MUST(all == 41);
    all = 0;
    MPI_Alltoall(&one, 1, MPI_INT, &all, 1, MPI_INT, comm);
    MUST(all == 41);
    all = 0;
    MPI_Scan(&one, &all, 1, MPI_INT, MPI_MAX, comm);
    MUST(all == 41);
}

int main(int argc, char **argv)
{
    int rank = -1, size = -1;
    MUST(MPI_Init(&argc, &argv) == MPI_SUCCESS);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MUST(rank == 0 && size == 1);
    for (int i = 0; i < 20000; i++) /* half a megabyte: more than any control block */
        printf("line %d of the program\n", i);
    fflush(stdout);
    for (int bytes = 0; bytes <= LARGE; bytes = bytes ? bytes * 4 : 1)
        to_self(bytes);
    MPI_Comm copy;
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    collectives(MPI_COMM_WORLD);
    collectives(MPI_COMM_SELF);
    collectives(copy);
    MPI_Comm_free(&copy);
    MUST(MPI_Finalize() == MPI_SUCCESS);
    return 42;
}
