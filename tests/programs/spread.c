/* Collectives of ranks on several hosts, of lengths around those at which they change their way.
 * Every value is checked.
 *
 *   spread ROUNDS
 *
 * Rank 0 prints "right" at the end. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIZES = 10, LARGEST = 2 * 1024 * 1024 + 8 };
/* Bytes of what a rank brings along; several of them make what a host carries. */
static const int sizes[SIZES] = {8,     1024,   8192,   8200,        16384,
                                 65536, 100000, 262144, LARGEST - 8, LARGEST};
static int rank, ranks;
static MPI_Comm comm;
static long *out, *in;

static void fail(const char *what, int bytes)
{
    fprintf(stderr, "spread: rank %d of %d: %s of %d bytes\n", rank, ranks, what, bytes);
    MPI_Abort(MPI_COMM_WORLD, 3);
}

/* The element at place i of what `from` has for `to`. */
static long value(int from, int to, int i, int round)
{
    return from * 1000003L + to * 10007L + i * 31L + round;
}

static void fill(long *to, int n, int who, int whom, int round)
{
    for (int i = 0; i < n; i++)
        to[i] = value(who, whom, i, round);
}

static void expect(const long *found, int n, int who, int whom, int round, const char *what)
{
    for (int i = 0; i < n; i++)
        if (found[i] != value(who, whom, i, round))
            fail(what, n * 8);
}

static void bcast(int n, int round)
{
    int root = round % ranks;
    if (rank == root)
        fill(in, n, root, 0, round);
    else
        memset(in, 0, (size_t)n * 8);
    MPI_Bcast(in, n, MPI_LONG, root, comm);
    expect(in, n, root, 0, round, "bcast");
}

static void sums(int n, int round)
{
    int root = (round + 1) % ranks, place = round % 2, all = round % 3 != 0;
    long *from = place && (all || rank == root) ? in : out;
    fill(from, n, rank, 0, round);
    const void *send = from == in ? MPI_IN_PLACE : out;
    if (all)
        MPI_Allreduce(send, in, n, MPI_LONG, MPI_SUM, comm);
    else
        MPI_Reduce(send, in, n, MPI_LONG, MPI_SUM, root, comm);
    for (int i = 0; i < n && (all || rank == root); i++) {
        long sum = ranks * (i * 31L + round) + 1000003L * (ranks * (ranks - 1) / 2);
        if (in[i] != sum)
            fail(all ? "allreduce" : "reduce", n * 8);
    }
    if (from == out)
        expect(out, n, rank, 0, round, "operand");
}

static void exchange(int n, int round)
{
    int place = round % 2, block = n;
    long *own = place ? in + (long)rank * block : out;
    fill(own, n, rank, 0, round);
    MPI_Allgather(place ? MPI_IN_PLACE : own, n, MPI_LONG, in, n, MPI_LONG, comm);
    for (int r = 0; r < ranks; r++)
        expect(in + (long)r * block, n, r, 0, round, "allgather");
    long *all = place ? in : out;
    for (int r = 0; r < ranks; r++)
        fill(all + (long)r * block, n, rank, r, round);
    MPI_Alltoall(place ? MPI_IN_PLACE : all, n, MPI_LONG, in, n, MPI_LONG, comm);
    for (int r = 0; r < ranks; r++)
        expect(in + (long)r * block, n, r, rank, round, "alltoall");
}

/* Everything on one communicator. Short ones between long ones, which nobody waits for. */
static void all(int rounds)
{
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    for (int round = 0; round < rounds; round++)
        for (int s = 0; s < SIZES; s++) {
            int n = sizes[s] / 8;
            bcast(n, round);
            bcast(n, round + 1);
            sums(n, round + s);
            sums(1, round + s + 1);
            exchange(n < 40000 ? n : n / ranks, round + s);
            MPI_Barrier(comm);
            exchange(1, round);
        }
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 3, world, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &world);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    out = malloc((size_t)size * LARGEST);
    in = malloc((size_t)size * LARGEST);
    comm = MPI_COMM_WORLD;
    all(rounds);
    /* One after the other on the same slots, in another order, and a part. */
    for (int turn = 0; turn < 3; turn++) {
        int color = turn == 2 && world % 3 == 1 ? MPI_UNDEFINED : 0;
        MPI_Comm_split(MPI_COMM_WORLD, color, turn == 1 ? -world : world, &comm);
        if (comm == MPI_COMM_NULL)
            continue;
        all(rounds);
        MPI_Comm_free(&comm);
    }
    if (world == 0)
        puts("right");
    free(out);
    free(in);
    MPI_Finalize();
    return 0;
}
