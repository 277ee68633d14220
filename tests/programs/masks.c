/* Collectives of ranks that may use different numbers of processors, of lengths at which it depends on
 * the processors how data are moved. Every value is checked.
 *
 *   masks [narrow]
 *
 * With "narrow" the rank leaves itself one processor. Rank 0 prints "right" at the end. */
#define _GNU_SOURCE
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LARGEST = 64 * 1024, ROUNDS = 6 };
static const int counts[] = {4, 2048, 4096, 32768, LARGEST}; /* of 8 bytes */
static int rank, ranks;
static long *out, *in;

static void narrow(void)
{
    cpu_set_t set;
    int cpu = 0;
    if (sched_getaffinity(0, sizeof set, &set))
        exit(4);
    while (!CPU_ISSET(cpu, &set))
        cpu++;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    if (sched_setaffinity(0, sizeof set, &set))
        exit(5);
}

static void fill(long *to, int n, long seed)
{
    for (int i = 0; i < n; i++)
        to[i] = seed * 1000003 + i;
}

static void expect(const long *found, int n, long factor, long seed, const char *what)
{
    for (int i = 0; i < n; i++)
        if (found[i] != seed * 1000003 + factor * i) {
            fprintf(stderr, "masks: rank %d: %s of %d\n", rank, what, n);
            MPI_Abort(MPI_COMM_WORLD, 3);
        }
}

static void all(int n, int round)
{
    MPI_Comm w = MPI_COMM_WORLD;
    int root = round % ranks;
    long sum = (long)ranks * (ranks - 1) / 2;
    fill(in, n, rank == root ? 7 : -1);
    MPI_Bcast(in, n, MPI_LONG, root, w);
    expect(in, n, 1, 7, "bcast");
    fill(out, n, rank);
    MPI_Allreduce(out, in, n, MPI_LONG, MPI_SUM, w);
    expect(in, n, ranks, sum, "allreduce");
    MPI_Reduce(out, in, n, MPI_LONG, MPI_SUM, root, w);
    if (rank == root)
        expect(in, n, ranks, sum, "reduce");
    MPI_Allgather(out, n, MPI_LONG, in, n, MPI_LONG, w);
    for (int r = 0; r < ranks; r++)
        expect(in + (long)r * n, n, 1, r, "allgather");
    for (int r = 0; r < ranks; r++)
        fill(out + (long)r * n, n, 100 * rank + r);
    MPI_Alltoall(out, n, MPI_LONG, in, n, MPI_LONG, w);
    for (int r = 0; r < ranks; r++)
        expect(in + (long)r * n, n, 1, 100 * r + rank, "alltoall");
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "narrow"))
        narrow();
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    out = malloc(LARGEST * sizeof *out * (size_t)ranks);
    in = malloc(LARGEST * sizeof *in * (size_t)ranks);
    for (int round = 0; round < ROUNDS; round++)
        for (unsigned c = 0; c < sizeof counts / sizeof *counts; c++)
            all(counts[c], round);
    MPI_Finalize();
    if (rank == 0)
        puts("right");
    return 0;
}
