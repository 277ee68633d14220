/* Works without end, to be killed in the middle of it: storm init|flood|big|coll|lent.
 * Rank 0 says "ready" when everyone is at work. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WINDOW = 64, SMALL = 1024, BIG = 4 << 20 };

static int rank, size;
static char *out, *in;

/* Small messages, more than fit in flight, to the next rank. */
static void flood(int round)
{
    MPI_Request requests[2 * WINDOW];
    for (int i = 0; i < WINDOW; i++) {
        int bytes = (round + i * 37) % SMALL;
        MPI_Isend(out, bytes, MPI_BYTE, (rank + 1) % size, i, MPI_COMM_WORLD, &requests[i]);
    }
    for (int i = 0; i < WINDOW; i++)
        MPI_Irecv(in + i * SMALL, SMALL, MPI_BYTE, MPI_ANY_SOURCE, i, MPI_COMM_WORLD,
                  &requests[WINDOW + i]);
    MPI_Waitall(2 * WINDOW, requests, MPI_STATUSES_IGNORE);
}

/* Large transfers round the ring, contiguous and with gaps in turn. */
static void big(int round)
{
    MPI_Datatype type = MPI_BYTE;
    int count = BIG;
    if (round % 2) {
        MPI_Type_vector(BIG / 2048, 1024, 2048, MPI_BYTE, &type);
        MPI_Type_commit(&type);
        count = 1;
    }
    MPI_Sendrecv(out, count, type, (rank + 1) % size, 1, in, count, type, (rank + size - 1) % size,
                 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (round % 2)
        MPI_Type_free(&type);
}

/* Large messages out of memory that comes and goes. */
static void lent(int round)
{
    void *memory;
    MPI_Alloc_mem(BIG, MPI_INFO_NULL, &memory);
    memset(memory, round, BIG);
    for (int bytes = BIG; bytes > BIG / 512; bytes /= 2)
        MPI_Sendrecv(memory, bytes, MPI_BYTE, (rank + 1) % size, 1, in, bytes, MPI_BYTE,
                     (rank + size - 1) % size, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Free_mem(memory);
}

static void coll(int round)
{
    int bytes = 8 << round % 16;
    MPI_Bcast(in, bytes, MPI_BYTE, round % size, MPI_COMM_WORLD);
    MPI_Allreduce(out, in, bytes / 8, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    MPI_Alltoall(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    alarm(120); /* when nobody kills it after all */
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    out = calloc(1, BIG);
    in = calloc(1, BIG);
    if (!out || !in || size > BIG / (8 << 15))
        MPI_Abort(MPI_COMM_WORLD, 2);
    for (int round = 0;; round++) {
        if (!strcmp(mode, "flood"))
            flood(round);
        else if (!strcmp(mode, "big"))
            big(round);
        else if (!strcmp(mode, "lent"))
            lent(round);
        else if (!strcmp(mode, "coll"))
            coll(round);
        else
            MPI_Barrier(MPI_COMM_WORLD);
        if (round == 2) {
            MPI_Barrier(MPI_COMM_WORLD);
            if (rank == 0)
                puts("ready");
            fflush(stdout);
        }
    }
}
