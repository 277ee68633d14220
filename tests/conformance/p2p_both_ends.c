/* Messages of half a MiB to some MiB, which receiver and sender may copy at the same time: many in
 * flight in both directions, odd lengths and places, receives that are too short, types with gaps on
 * either side, requests that nobody waits for. Every byte is compared, also those beside the buffer. */
#include "check.h"

enum { BATCH = 12, ROUNDS = 6, MARGIN = 64 };

static const int sizes[] = {524288, 524289, 700001, 1048576, 1234567, 3000000, 4194304 + 4095};
enum { SIZES = sizeof sizes / sizeof *sizes };

static unsigned char byte_of(int from, int number, size_t at)
{
    uint64_t x = ((uint64_t)from << 40) + ((uint64_t)number << 32) + at / 8;
    x *= 0x9e3779b97f4a7c15u;
    return (unsigned char)(x >> (24 + at % 8));
}

static void fill(unsigned char *to, int from, int number, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] = byte_of(from, number, i);
}

static void check_bytes(const unsigned char *got, int from, int number, size_t n)
{
    size_t wrong = 0;
    for (size_t i = 0; i < n; i++)
        wrong += got[i] != byte_of(from, number, i);
    CHECK_EQ(wrong, 0);
    for (size_t i = 0; i < MARGIN; i++)
        wrong += got[n + i] != 0xee;
    CHECK_EQ(wrong, 0);
}

static unsigned char *blank(size_t n)
{
    unsigned char *p = malloc(n + 2 * MARGIN);
    if (!p)
        MPI_Abort(MPI_COMM_WORLD, 3);
    memset(p, 0xee, n + 2 * MARGIN);
    return p;
}

/* Every rank sends a batch to its right neighbour while it receives one from its left. */
static void ring(int round)
{
    int right = (check_rank + 1) % check_size, left = (check_rank + check_size - 1) % check_size;
    unsigned char *out[BATCH], *in[BATCH];
    MPI_Request requests[2 * BATCH];
    for (int i = 0; i < BATCH; i++) {
        int n = sizes[(i + round) % SIZES];
        out[i] = blank(n);
        in[i] = blank(n);
        fill(out[i] + i, check_rank, i, n);
        /* Some are there before their receive, and some are waited for. */
        if (round % 2)
            CHECK_MPI(MPI_Isend(out[i] + i, n, MPI_BYTE, right, i, MPI_COMM_WORLD, &requests[BATCH + i]));
    }
    for (int k = 0; k < BATCH; k++) {
        int i = round % 3 == 0 ? BATCH - 1 - k : k;
        int n = sizes[(i + round) % SIZES];
        CHECK_MPI(MPI_Irecv(in[i] + 3 * i, n, MPI_BYTE, round % 3 == 1 ? MPI_ANY_SOURCE : left, i, MPI_COMM_WORLD,
                            &requests[i]));
    }
    for (int i = 0; i < BATCH && round % 2 == 0; i++)
        CHECK_MPI(MPI_Isend(out[i] + i, sizes[(i + round) % SIZES], MPI_BYTE, right, i, MPI_COMM_WORLD,
                            &requests[BATCH + i]));
    CHECK_MPI(MPI_Waitall(2 * BATCH, requests, MPI_STATUSES_IGNORE));
    for (int i = 0; i < BATCH; i++) {
        check_bytes(in[i] + 3 * i, left, i, sizes[(i + round) % SIZES]);
        free(in[i]);
        free(out[i]);
    }
}

/* The receiver has room for less than was sent. */
static void too_short(void)
{
    if (check_rank > 1 || check_size < 2)
        return;
    const size_t n = 2000000, room = 1500001;
    unsigned char *buffer = blank(n);
    if (check_rank == 0) {
        fill(buffer, 0, 77, n);
        CHECK_MPI(MPI_Send(buffer, n, MPI_BYTE, 1, 5, MPI_COMM_WORLD));
    } else {
        MPI_Status status;
        CHECK_CLASS(MPI_Recv(buffer, room, MPI_BYTE, 0, 5, MPI_COMM_WORLD, &status), MPI_ERR_TRUNCATE);
        check_bytes(buffer, 0, 77, room);
    }
    free(buffer);
}

/* Gaps at the sender, at the receiver, at both; a send whose request is given up at once. */
static void gaps(void)
{
    if (check_rank > 1 || check_size < 2)
        return;
    const int blocks = 900, length = 1024;
    const size_t n = (size_t)blocks * length;
    MPI_Datatype spread;
    CHECK_MPI(MPI_Type_vector(blocks, length, 2 * length, MPI_BYTE, &spread));
    CHECK_MPI(MPI_Type_commit(&spread));
    unsigned char *packed = blank(n), *wide = blank(2 * n);
    for (int turn = 0; turn < 8; turn++) {
        int send_gaps = turn & 1, recv_gaps = turn >> 1 & 1, give_up = turn >> 2;
        if (check_rank == 0) {
            fill(packed, 0, turn, n);
            for (int b = 0; b < blocks; b++)
                memcpy(wide + 2 * (size_t)b * length, packed + (size_t)b * length, length);
            void *from = send_gaps ? wide : packed;
            int count = send_gaps ? 1 : (int)n;
            MPI_Request request;
            CHECK_MPI(MPI_Isend(from, count, send_gaps ? spread : MPI_BYTE, 1, turn, MPI_COMM_WORLD, &request));
            if (give_up)
                CHECK_MPI(MPI_Request_free(&request));
            else
                CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
            CHECK_MPI(MPI_Recv(NULL, 0, MPI_BYTE, 1, turn, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        } else {
            memset(packed, 0xee, n + 2 * MARGIN);
            memset(wide, 0xee, 2 * n + 2 * MARGIN);
            void *to = recv_gaps ? wide : packed;
            CHECK_MPI(MPI_Recv(to, recv_gaps ? 1 : (int)n, recv_gaps ? spread : MPI_BYTE, 0, turn, MPI_COMM_WORLD,
                               MPI_STATUS_IGNORE));
            for (int b = 0; b < blocks && recv_gaps; b++) {
                CHECK_EQ(wide[(2 * (size_t)b + 1) * length], 0xee);
                memcpy(packed + (size_t)b * length, wide + 2 * (size_t)b * length, length);
            }
            check_bytes(packed, 0, turn, n);
            CHECK_MPI(MPI_Send(NULL, 0, MPI_BYTE, 0, turn, MPI_COMM_WORLD));
        }
    }
    MPI_Type_free(&spread);
    free(packed);
    free(wide);
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    for (int round = 0; round < ROUNDS; round++)
        ring(round);
    too_short();
    gaps();
    return check_finish();
}
