/* MPI 5.0, 6.2 "Communicator Argument": collectives on duplicated, split, reversed and
 * single-process communicators do not disturb each other, also when used in turn. */
#include "coll.h"

static void use(MPI_Comm comm, int salt)
{
    int rank, size;
    CHECK_MPI(MPI_Comm_rank(comm, &rank));
    CHECK_MPI(MPI_Comm_size(comm, &size));
    int64_t mine = salt + rank, sum = -1, last = mine;
    CHECK_MPI(MPI_Allreduce(&mine, &sum, 1, MPI_INT64_T, MPI_SUM, comm));
    CHECK_EQ(sum, (int64_t)size * salt + size * (size - 1) / 2);
    CHECK_MPI(MPI_Bcast(&last, 1, MPI_INT64_T, size - 1, comm));
    CHECK_EQ(last, salt + size - 1);
    int64_t *all = coll_buffer(size);
    CHECK_MPI(MPI_Allgather(&mine, 1, MPI_INT64_T, all, 1, MPI_INT64_T, comm));
    for (int r = 0; r < size; r++)
        CHECK_EQ(all[r], salt + r);
    free(all);
    CHECK_MPI(MPI_Barrier(comm));
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    MPI_Comm dup, parity, reversed, nested;
    CHECK_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &dup));
    CHECK_MPI(MPI_Comm_split(MPI_COMM_WORLD, check_rank % 2, 0, &parity));
    CHECK_MPI(MPI_Comm_split(dup, 7, -check_rank, &reversed));
    CHECK_MPI(MPI_Comm_split(reversed, check_rank < check_size / 2, check_rank, &nested));
    int rank = -1;
    CHECK_MPI(MPI_Comm_rank(reversed, &rank));
    CHECK_EQ(rank, check_size - 1 - check_rank);
    for (int round = 0; round < 3; round++) {
        use(MPI_COMM_WORLD, 100 + round);
        use(parity, 200 + round);
        use(dup, 300 + round);
        use(nested, 400 + round);
        use(reversed, 500 + round);
        use(MPI_COMM_SELF, 600 + round);
    }
    /* Two communicators with operations outstanding on both, started in different order. */
    int64_t in = check_rank, a = -1, b = -1;
    MPI_Request requests[2];
    MPI_Comm comms[2] = { MPI_COMM_WORLD, dup };
    int64_t *results[2] = { &a, &b };
    for (int i = 0; i < 2; i++) {
        int which = (i + check_rank) % 2;
        CHECK_MPI(MPI_Iallreduce(&in, results[which], 1, MPI_INT64_T, which ? MPI_MAX : MPI_SUM,
                                 comms[which], &requests[which]));
    }
    CHECK_MPI(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    CHECK_EQ(a, check_size * (check_size - 1) / 2);
    CHECK_EQ(b, check_size - 1);
    CHECK_MPI(MPI_Comm_free(&nested));
    CHECK_MPI(MPI_Comm_free(&reversed));
    CHECK_MPI(MPI_Comm_free(&parity));
    CHECK_MPI(MPI_Comm_free(&dup));
    return check_finish();
}
