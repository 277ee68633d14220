/* Many messages that nobody receives for a while: `flood MESSAGES BYTES`. Every rank but 0 sends so
 * many to rank 0, which looks for something else meanwhile, as a program does that has other things
 * to wait for. Then it receives them all, and each has to be the next of its sender. Rank 0 prints
 * the most memory that it ever had, in KiB. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

static void sends(int messages, int bytes) {
    char *data = malloc(bytes);
    for (int i = 0; i < messages; i++) {
        memset(data, i % 251, bytes);
        memcpy(data, &i, sizeof i);
        MPI_Send(data, bytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
    }
    free(data);
}

static void receives(int messages, int bytes, int size) {
    char *data = malloc(bytes);
    int *next = calloc(size, sizeof *next), flag = 0;
    double start = MPI_Wtime();
    while (MPI_Wtime() - start < 2.0) MPI_Iprobe(MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    for (long i = 0; i < (long)messages * (size - 1); i++) {
        MPI_Status status;
        int number;
        MPI_Recv(data, bytes, MPI_BYTE, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &status);
        memcpy(&number, data, sizeof number);
        if (number != next[status.MPI_SOURCE]++ || (bytes > 4 && data[bytes - 1] != (char)(number % 251))) {
            fprintf(stderr, "message %d of rank %d came out of turn, or damaged\n", number, status.MPI_SOURCE);
            MPI_Abort(MPI_COMM_WORLD, 3);
        }
    }
    free(next);
    free(data);
}

int main(int argc, char **argv) {
    int messages = argc > 1 ? atoi(argv[1]) : 1000, bytes = argc > 2 ? atoi(argv[2]) : 8, rank, size;
    struct rusage usage;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (bytes < 4 || messages < 1) MPI_Abort(MPI_COMM_WORLD, 2);
    if (rank == 0) receives(messages, bytes, size);
    else sends(messages, bytes);
    getrusage(RUSAGE_SELF, &usage);
    if (rank == 0) printf("%ld\n", usage.ru_maxrss);
    MPI_Finalize();
    return 0;
}
