/* So many times one collective with 8 bytes of each rank, whose result is looked at: sites NAME TIMES. Each rank says when it
 * is through and waits for ever: what it has sent to whom is looked at from outside. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank, size;

static void must(int good, const char *what, int turn)
{
    if (good)
        return;
    fprintf(stderr, "%s, turn %d: rank %d of %d has a wrong result\n", what, turn, rank, size);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static int64_t value(int of, int turn)
{
    return (int64_t)of * 1000 + turn;
}

static void once(const char *name, int turn)
{
    int root = turn % size;
    int64_t own = value(rank, turn), sum = 0, all[64] = {0}, one = -1;
    for (int i = 0; i < size; i++)
        sum += value(i, turn);
    if (!strcmp(name, "barrier")) {
        MPI_Barrier(MPI_COMM_WORLD);
        return;
    }
    if (!strcmp(name, "bcast")) {
        one = rank == root ? own : -1;
        MPI_Bcast(&one, 1, MPI_INT64_T, root, MPI_COMM_WORLD);
        must(one == value(root, turn), name, turn);
    } else if (!strcmp(name, "reduce")) {
        MPI_Reduce(&own, &one, 1, MPI_INT64_T, MPI_SUM, root, MPI_COMM_WORLD);
        must(rank != root || one == sum, name, turn);
    } else if (!strcmp(name, "allreduce")) {
        MPI_Allreduce(&own, &one, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
        must(one == sum, name, turn);
    } else if (!strcmp(name, "allgather")) {
        MPI_Allgather(&own, 1, MPI_INT64_T, all, 1, MPI_INT64_T, MPI_COMM_WORLD);
        for (int i = 0; i < size; i++)
            must(all[i] == value(i, turn), name, turn);
    } else {
        fprintf(stderr, "there is no collective '%s'\n", name);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc != 3 || size > 64)
        MPI_Abort(MPI_COMM_WORLD, 2);
    for (int turn = 0; turn < atoi(argv[2]); turn++)
        once(argv[1], turn);
    printf("done\n");
    fflush(stdout);
    for (;;) {
        /* Shows its counters meanwhile. */
        int flag;
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        usleep(10000);
    }
}
