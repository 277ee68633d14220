/* Traffic between hosts and inside them for some time, every byte checked.
 *
 *   hosts SECONDS [EXPECTED RANKS PER HOST]
 *
 * Rank 0 prints "right" and the number of rounds at the end. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LARGEST = 200000, SIZES = 9 };
static const int sizes[SIZES] = {0, 1, 8, 100, 1400, 5000, 16384, 16385, LARGEST};
static char out[LARGEST], in[LARGEST];

static void fail(const char *what, int round)
{
    fprintf(stderr, "hosts: round %d: %s\n", round, what);
    MPI_Abort(MPI_COMM_WORLD, 3);
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

/* Splits by hardware, of which the host is the only level that is known. */
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

int main(int argc, char **argv)
{
    int rank, ranks, here, more = 1, round = 0;
    double seconds = argc > 1 ? atof(argv[1]) : 1;
    MPI_Comm host;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
    MPI_Comm_size(host, &here);
    if (argc > 2 && here != atoi(argv[2]))
        fail("another number of ranks shares this host", here);
    MPI_Comm_free(&host);
    split(ranks, here);
    double start = MPI_Wtime();
    for (; more; round++) {
        shift(rank, ranks, 1 + round % (ranks > 1 ? ranks - 1 : 1), round);
        collect(rank, ranks, round);
        more = MPI_Wtime() - start < seconds;
        MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    if (rank == 0)
        printf("right %d\n", round);
    MPI_Finalize();
    return 0;
}
