/* MPI 5.0, 6.12 "Nonblocking Collective Operations": many of different kinds outstanding at once
 * on one communicator, completed in another order than started, mixed with blocking ones and with
 * point-to-point messages, by all kinds of wait and test. */
#include "coll.h"

#define KINDS 8
#define ROUNDS 4
#define COUNT 600

static int64_t *in[ROUNDS][KINDS], *out[ROUNDS][KINDS];

static void start(int kind, int round, MPI_Request *request)
{
    MPI_Comm world = MPI_COMM_WORLD;
    int root = round % check_size, first = round * 100;
    int64_t *a = in[round][kind], *b = out[round][kind];
    coll_fill(a, check_rank, first, COUNT * check_size);
    switch (kind) {
    case 0: CHECK_MPI(MPI_Ibarrier(world, request)); break;
    case 1:
        if (check_rank == root)
            memcpy(b, a, COUNT * sizeof *b);
        CHECK_MPI(MPI_Ibcast(b, COUNT, MPI_INT64_T, root, world, request));
        break;
    case 2: CHECK_MPI(MPI_Iallreduce(a, b, COUNT, MPI_INT64_T, MPI_SUM, world, request)); break;
    case 3: CHECK_MPI(MPI_Ireduce(a, b, COUNT, MPI_INT64_T, MPI_SUM, root, world, request)); break;
    case 4:
        CHECK_MPI(MPI_Igather(a, COUNT, MPI_INT64_T, b, COUNT, MPI_INT64_T, root, world, request));
        break;
    case 5:
        CHECK_MPI(MPI_Iallgather(a, COUNT, MPI_INT64_T, b, COUNT, MPI_INT64_T, world, request));
        break;
    case 6:
        CHECK_MPI(MPI_Ialltoall(a, COUNT, MPI_INT64_T, b, COUNT, MPI_INT64_T, world, request));
        break;
    case 7: CHECK_MPI(MPI_Iscan(a, b, COUNT, MPI_INT64_T, MPI_SUM, world, request)); break;
    }
}

static void verify(int kind, int round)
{
    int root = round % check_size, first = round * 100, is_root = check_rank == root;
    const int64_t *b = out[round][kind];
    if (kind == 1)
        CHECK(coll_holds(b, root, first, COUNT));
    if (kind == 2 || (kind == 3 && is_root))
        CHECK(coll_is_sum(b, check_size - 1, first, COUNT));
    for (int r = 0; r < check_size; r++) {
        if ((kind == 4 && is_root) || kind == 5)
            CHECK(coll_holds(b + r * COUNT, r, first, COUNT));
        if (kind == 6)
            CHECK(coll_holds(b + r * COUNT, r, first + check_rank * COUNT, COUNT));
    }
    if (kind == 7)
        CHECK(coll_is_sum(b, check_rank, first, COUNT));
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    MPI_Request requests[ROUNDS * KINDS + 2];
    int right = (check_rank + 1) % check_size, left = (check_rank + check_size - 1) % check_size;
    for (int round = 0; round < ROUNDS; round++)
        for (int kind = 0; kind < KINDS; kind++) {
            in[round][kind] = coll_buffer(COUNT * check_size);
            out[round][kind] = coll_buffer(COUNT * check_size);
        }
    for (int way = 0; way < 3; way++) {
        int n = 0, token = -1, total = 0, one = 1;
        for (int round = 0; round < ROUNDS; round++)
            for (int kind = 0; kind < KINDS; kind++)
                start(kind, round, &requests[n++]);
        CHECK_MPI(MPI_Irecv(&token, 1, MPI_INT, left, 1, MPI_COMM_WORLD, &requests[n++]));
        CHECK_MPI(MPI_Isend(&check_rank, 1, MPI_INT, right, 1, MPI_COMM_WORLD, &requests[n++]));
        CHECK_MPI(MPI_Allreduce(&one, &total, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
        CHECK_EQ(total, check_size);
        if (way == 0) {
            for (int i = n - 1; i >= 0; i--)
                CHECK_MPI(MPI_Wait(&requests[i], MPI_STATUS_IGNORE));
        } else if (way == 1) {
            CHECK_MPI(MPI_Waitall(n, requests, MPI_STATUSES_IGNORE));
        } else {
            for (int left_over = n; left_over > 0; left_over--) {
                int index = -1;
                CHECK_MPI(MPI_Waitany(n, requests, &index, MPI_STATUS_IGNORE));
                CHECK(index != MPI_UNDEFINED);
            }
        }
        CHECK_EQ(token, left);
        for (int round = 0; round < ROUNDS; round++)
            for (int kind = 0; kind < KINDS; kind++)
                verify(kind, round);
    }
    for (int round = 0; round < ROUNDS; round++)
        for (int kind = 0; kind < KINDS; kind++) {
            free(in[round][kind]);
            free(out[round][kind]);
        }
    return check_finish();
}
