/* Traffic between hosts and inside them for some time, every byte checked.
 *
 *   hosts SECONDS [EXPECTED RANKS PER HOST [FILE]]
 *
 * Rank 0 makes FILE when all ranks have talked to each other; the traffic goes on until somebody removes it, too.
 * Rank 0 prints "right" and the number of rounds at the end. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LARGEST = 200000, SIZES = 9 };
static const int sizes[SIZES] = {0, 1, 8, 100, 1400, 5000, 16384, 16385, LARGEST};
static char out[LARGEST], in[LARGEST];

static void fail(const char *what, int round)
{
    fprintf(stderr, "hosts: round %d: %s\n", round, what);
    MPI_Abort(MPI_COMM_WORLD, 3);
}

static void make(const char *name)
{
    FILE *file = fopen(name, "w");
    if (!file)
        fail("a file cannot be made", 0);
    fclose(file);
}

/* Everybody sends to the rank `step` further on. */
static void shift(int rank, int ranks, int step, int round)
{
    int len = sizes[round % SIZES], to = (rank + step) % ranks;
    int from = (rank + ranks - step) % ranks, got;
    MPI_Request requests[2];
    MPI_Status status[2];
    memset(out, rank + round, (size_t)len);
    memset(in, -1, sizeof in);
    MPI_Irecv(in, LARGEST, MPI_CHAR, from, round % 100, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(out, len, MPI_CHAR, to, round % 100, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, status);
    MPI_Get_count(&status[0], MPI_CHAR, &got);
    if (got != len)
        fail("a message of another length came", round);
    for (int i = 0; i < len; i++)
        if (in[i] != (char)(from + round))
            fail("a message of other bytes came", round);
}

/* Splits by hardware: the hosts first. Ranks that are bound may be divided further. */
static void split(int ranks, int here)
{
    MPI_Comm part, none;
    MPI_Info info;
    char value[MPI_MAX_INFO_VAL + 1] = "";
    int size, flag = 0, len = sizeof value;
    MPI_Info_create(&info);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_GUIDED, 0, info, &none);
    if (none != MPI_COMM_NULL)
        fail("MPI_COMM_TYPE_HW_GUIDED without a resource gives a communicator", 0);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_UNGUIDED, 0, info, &part);
    MPI_Info_get_string(info, "mpi_hw_resource_type", &len, value, &flag);
    if ((part != MPI_COMM_NULL) != (here < ranks) || flag != (here < ranks))
        fail("MPI_COMM_TYPE_HW_UNGUIDED", 0);
    if (part != MPI_COMM_NULL) {
        MPI_Comm_size(part, &size);
        MPI_Comm_split_type(part, MPI_COMM_TYPE_HW_UNGUIDED, 0, info, &none);
        if (size != here || none != MPI_COMM_NULL || strcmp(value, "mpi_shared_memory") != 0)
            fail("MPI_COMM_TYPE_HW_UNGUIDED divides otherwise", size);
        MPI_Comm_free(&part);
    }
    MPI_Info_free(&info);
}

static void collect(int rank, int ranks, int round)
{
    long own[2] = {rank, round}, sum[2];
    MPI_Allreduce(own, sum, 2, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    if (sum[0] != (long)ranks * (ranks - 1) / 2 || sum[1] != (long)ranks * round)
        fail("MPI_Allreduce is wrong", round);
}

enum { MOST = 700, RANKS = 64 };
static const int counts[] = {1, 3, 40, MOST, 0, 120};
static long give[RANKS * MOST], take[RANKS * MOST];

/* What rank `from` has for rank `to`. */
static long value(int from, int to, int i, int round)
{
    return from * 1000003L + to * 1009L + i * 7L + round;
}

static void fill(int rank, int ranks, int n, int round)
{
    memset(take, -1, sizeof take);
    for (int to = 0; to < ranks; to++)
        for (int i = 0; i < n; i++)
            give[to * n + i] = value(rank, to, i, round);
}

static void sums(const char *what, int ranks, int n, int round)
{
    for (int i = 0; i < n; i++) {
        long sum = 0;
        for (int from = 0; from < ranks; from++)
            sum += value(from, 0, i, round);
        if (take[i] != sum)
            fail(what, round);
    }
}

/* Block `k` of what came must be what rank `from` had for rank `to`. */
static void block(const char *what, int k, int from, int to, int n, int round)
{
    for (int i = 0; i < n; i++)
        if (take[k * n + i] != value(from, to, i, round))
            fail(what, round);
}

/* Every kind of collective, with a root and a length that change. */
static void tour(MPI_Comm comm, int round)
{
    int rank, ranks;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    if (ranks > RANKS)
        return;
    int n = counts[round % (int)(sizeof counts / sizeof *counts)], root = round % ranks;
    MPI_Barrier(comm);
    fill(rank, ranks, n, round);
    MPI_Allreduce(give, take, n, MPI_LONG, MPI_SUM, comm);
    sums("MPI_Allreduce is wrong on a part", ranks, n, round);
    fill(rank, ranks, n, round);
    MPI_Reduce(give, take, n, MPI_LONG, MPI_SUM, root, comm);
    if (rank == root)
        sums("MPI_Reduce is wrong", ranks, n, round);
    fill(rank, ranks, n, round);
    MPI_Alltoall(give, n, MPI_LONG, take, n, MPI_LONG, comm);
    for (int from = 0; from < ranks; from++)
        block("MPI_Alltoall is wrong", from, from, rank, n, round);
    fill(rank, ranks, n, round);
    MPI_Allgather(give, n, MPI_LONG, take, n, MPI_LONG, comm);
    for (int from = 0; from < ranks; from++)
        block("MPI_Allgather is wrong", from, from, 0, n, round);
    fill(rank, ranks, n, round);
    MPI_Gather(give, n, MPI_LONG, take, n, MPI_LONG, root, comm);
    for (int from = 0; from < ranks && rank == root; from++)
        block("MPI_Gather is wrong", from, from, 0, n, round);
    fill(rank, ranks, n, round);
    MPI_Scatter(give, n, MPI_LONG, take, n, MPI_LONG, root, comm);
    block("MPI_Scatter is wrong", 0, root, rank, n, round);
    for (int i = 0; i < n; i++)
        take[i] = rank == root ? value(root, 0, i, round) : -1;
    MPI_Bcast(take, n, MPI_LONG, root, comm);
    block("MPI_Bcast is wrong", 0, root, 0, n, round);
}

int main(int argc, char **argv)
{
    int rank, ranks, here, more = 1, round = 0;
    double seconds = argc > 1 ? atof(argv[1]) : 1;
    MPI_Comm host, other;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
    MPI_Comm_size(host, &here);
    if (argc > 2 && here != atoi(argv[2]))
        fail("another number of ranks shares this host", here);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 3 == 1, -rank, &other);
    split(ranks, here);
    double start = MPI_Wtime();
    for (; more; round++) {
        shift(rank, ranks, 1 + round % (ranks > 1 ? ranks - 1 : 1), round);
        collect(rank, ranks, round);
        tour(MPI_COMM_WORLD, round);
        tour(host, round);
        tour(other, round);
        if (rank == 0 && argc > 3 && round == 0)
            make(argv[3]);
        more = MPI_Wtime() - start < seconds || (argc > 3 && access(argv[3], F_OK) == 0);
        MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    MPI_Comm_free(&host);
    MPI_Comm_free(&other);
    if (rank == 0)
        printf("right %d\n", round);
    MPI_Finalize();
    return 0;
}
