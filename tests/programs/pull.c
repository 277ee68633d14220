/* Large messages where the kernel forbids cross-memory attach: pull none|first|last|all.
 * Every size, shape and mode must arrive as sent. Rank 0 says "N messages, M wrong". */
#include "forbid.h"
#include <mpi.h>
#include <stdint.h>
#include <string.h>

enum { LARGEST = 5 << 20, EXTENT = 2 * LARGEST + 64 };

static int rank, size, wrong, messages;
static size_t reach; /* as far as the present messages go */
static unsigned char *out, *in;

static unsigned char value(size_t i, int seed)
{
    return (unsigned char)(i * 131 + i / 251 + (size_t)seed);
}

static void fill(int seed, size_t bytes)
{
    reach = bytes;
    for (size_t i = 0; i < reach; i++)
        out[i] = value(i, seed);
    memset(in, 0, reach);
}

/* The shapes of `bytes` bytes of data: whole, with gaps, and blocks of irregular places. */
static MPI_Datatype shape(int which, int bytes)
{
    MPI_Datatype type;
    if (which == 0) {
        MPI_Type_contiguous(bytes, MPI_BYTE, &type);
    } else if (which == 1) {
        MPI_Type_vector(bytes / 16, 16, 32, MPI_BYTE, &type);
    } else {
        int lengths[3] = { bytes / 4, bytes / 2, bytes - bytes / 4 - bytes / 2 };
        MPI_Aint places[3] = { bytes + 5, 3, 2 * (MPI_Aint)bytes };
        /* The last block may touch the first, not overlap it. */
        places[2] = places[0] + lengths[0] + 1;
        MPI_Type_create_hindexed(3, lengths, places, MPI_BYTE, &type);
    }
    MPI_Type_commit(&type);
    return type;
}

/* What arrived, packed, is what was sent, packed; the gaps stay untouched. */
static void compare(MPI_Datatype sent, MPI_Datatype got, int bytes)
{
    int at_sent = 0, at_got = 0;
    unsigned char *a = malloc((size_t)bytes + 1), *b = malloc((size_t)bytes + 1);
    MPI_Pack(out, 1, sent, a, bytes, &at_sent, MPI_COMM_SELF);
    MPI_Pack(in, 1, got, b, bytes, &at_got, MPI_COMM_SELF);
    wrong += at_sent != bytes || at_got != bytes || memcmp(a, b, (size_t)bytes) != 0;
    int position = 0;
    memset(a, 0, (size_t)bytes);
    MPI_Unpack(a, bytes, &position, in, 1, got, MPI_COMM_SELF);
    for (size_t i = 0; i < reach; i++)
        if (in[i]) {
            wrong++;
            break;
        }
    messages++;
    free(a);
    free(b);
}

/* Everyone to its neighbour at once, so that each rank is sender and receiver. */
static void exchange(int bytes, int from_shape, int to_shape, int mode)
{
    int to = (rank + 1) % size, from = (rank + size - 1) % size;
    MPI_Datatype sent = shape(from_shape, bytes), got = shape(to_shape, bytes);
    MPI_Request request;
    fill(bytes + mode, 2 * (size_t)bytes + 64);
    if (mode == 0) {
        MPI_Sendrecv(out, 1, sent, to, 1, in, 1, got, from, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (mode == 1) { /* unexpected */
        MPI_Isend(out, 1, sent, to, 1, MPI_COMM_WORLD, &request);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Recv(in, 1, got, from, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else { /* expected, synchronous */
        MPI_Irecv(in, 1, got, from, 1, MPI_COMM_WORLD, &request);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Ssend(out, 1, sent, to, 1, MPI_COMM_WORLD);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    compare(sent, got, bytes);
    MPI_Type_free(&sent);
    MPI_Type_free(&got);
}

/* Several large messages on the way at a time, received in the reverse order. */
static void crossing(void)
{
    enum { PIECES = 6, PIECE = 300000 };
    MPI_Request requests[2 * PIECES];
    int to = (rank + 1) % size, from = (rank + size - 1) % size;
    fill(0, PIECES * PIECE);
    for (int i = 0; i < PIECES; i++)
        MPI_Isend(out + i * PIECE, PIECE - i, MPI_BYTE, to, i, MPI_COMM_WORLD, &requests[i]);
    for (int i = PIECES - 1; i >= 0; i--)
        MPI_Irecv(in + i * PIECE, PIECE, MPI_BYTE, from, i, MPI_COMM_WORLD, &requests[PIECES + i]);
    MPI_Waitall(2 * PIECES, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < PIECES; i++, messages++)
        wrong += memcmp(in + i * PIECE, out + i * PIECE, (size_t)(PIECE - i)) != 0;
}

static void collectives(void)
{
    const int each = LARGEST / 4 / size;
    fill(rank, LARGEST);
    MPI_Alltoall(out, each, MPI_BYTE, in, each, MPI_BYTE, MPI_COMM_WORLD);
    for (int r = 0; r < size; r++, messages++)
        for (int i = 0; i < each; i++)
            if (in[r * each + i] != value((size_t)(rank * each + i), r)) {
                wrong++;
                break;
            }
    fill(7, LARGEST);
    memcpy(in, out, LARGEST);
    if (rank != size - 1)
        memset(out, 0, LARGEST);
    MPI_Bcast(out, LARGEST, MPI_BYTE, size - 1, MPI_COMM_WORLD);
    wrong += memcmp(in, out, LARGEST) != 0;
    messages++;
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return 2;
    forbid_in(argv[1], SYS_process_vm_readv);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    out = malloc(EXTENT);
    in = malloc(EXTENT);
    if (!out || !in)
        MPI_Abort(MPI_COMM_WORLD, 3);
    static const int sizes[] = { 16, 4096, 8192, 16384, 65536, 65552, 262160, 1 << 20, LARGEST };
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (int pair = 0; pair < 9; pair++)
            if (sizes[s] < 1 << 18 || pair % 4 == 0 || pair == 1)
                exchange(sizes[s], pair / 3, pair % 3, (pair + (int)s) % 3);
    crossing();
    collectives();
    int sum[2], mine[2] = { messages, wrong };
    MPI_Allreduce(mine, sum, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    if (rank == 0)
        printf("%d messages, %d wrong\n", sum[0], sum[1]);
    return sum[1] != 0;
}
