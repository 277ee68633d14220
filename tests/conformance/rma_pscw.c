/* Windows: post, start, complete, wait and test (section 12.5.2). */
#include "rma.h"

/* The group of one rank. */
static MPI_Group only(MPI_Comm comm, int rank)
{
    MPI_Group all, one;
    MPI_Comm_group(comm, &all);
    MPI_Group_incl(all, 1, &rank, &one);
    MPI_Group_free(&all);
    return one;
}

/* A ring: each puts to the next, and lets the one before put. */
static void ring(struct rma *r, int turns, int tests)
{
    int *mine = r->base, next = (r->rank + 1) % r->size, before = (r->rank + r->size - 1) % r->size;
    MPI_Group to = only(r->comm, next), from = only(r->comm, before);
    for (int turn = 0; turn < turns; turn++) {
        int value[3] = {r->rank, turn, r->rank * turn};
        CHECK_MPI(MPI_Win_post(from, 0, r->win));
        CHECK_MPI(MPI_Win_start(to, 0, r->win));
        CHECK_MPI(MPI_Put(value, 3, MPI_INT, next, r->at[next], 3, MPI_INT, r->win));
        CHECK_MPI(MPI_Win_complete(r->win));
        if (tests) {
            int flag = 0;
            while (!flag) CHECK_MPI(MPI_Win_test(r->win, &flag));
        } else {
            CHECK_MPI(MPI_Win_wait(r->win));
        }
        CHECK_EQ(mine[0], before);
        CHECK_EQ(mine[1], turn);
        CHECK_EQ(mine[2], before * turn);
    }
    MPI_Group_free(&to);
    MPI_Group_free(&from);
}

/* Rank 0 serves all others, in epochs that overlap with nothing. */
static void served(struct rma *r)
{
    MPI_Group all, others, zero = only(r->comm, 0);
    int none = 0, *mine = r->base;
    MPI_Comm_group(r->comm, &all);
    MPI_Group_excl(all, 1, &none, &others);
    for (int turn = 1; turn <= 50; turn++) {
        if (r->rank == 0) {
            for (int i = 0; i < r->size; i++) mine[i] = turn + i;
            CHECK_MPI(MPI_Win_post(others, MPI_MODE_NOPUT, r->win));
            CHECK_MPI(MPI_Win_wait(r->win));
        } else {
            int got = 0, one = 1;
            CHECK_MPI(MPI_Win_start(zero, 0, r->win));
            CHECK_MPI(MPI_Get(&got, 1, MPI_INT, 0, r->at[0] + r->rank * (MPI_Aint)sizeof(int), 1, MPI_INT, r->win));
            CHECK_MPI(MPI_Accumulate(&one, 1, MPI_INT, 0, r->at[0] + 4096, 1, MPI_INT, MPI_SUM, r->win));
            CHECK_MPI(MPI_Win_complete(r->win));
            CHECK_EQ(got, turn + r->rank);
        }
    }
    if (r->rank == 0) CHECK_EQ(mine[1024], 50 * (r->size - 1));
    MPI_Group_free(&all);
    MPI_Group_free(&others);
    MPI_Group_free(&zero);
}

/* Everybody with everybody, itself included. */
static void everybody(struct rma *r)
{
    MPI_Group all;
    int *mine = r->base;
    MPI_Comm_group(r->comm, &all);
    for (int turn = 0; turn < 20; turn++) {
        CHECK_MPI(MPI_Win_post(all, 0, r->win));
        CHECK_MPI(MPI_Win_start(all, 0, r->win));
        for (int rank = 0; rank < r->size; rank++) {
            int value = 10000 * turn + 100 * r->rank + rank;
            CHECK_MPI(MPI_Put(&value, 1, MPI_INT, rank, r->at[rank] + r->rank * (MPI_Aint)sizeof(int), 1, MPI_INT, r->win));
        }
        CHECK_MPI(MPI_Win_complete(r->win));
        CHECK_MPI(MPI_Win_wait(r->win));
        for (int rank = 0; rank < r->size; rank++) CHECK_EQ(mine[rank], 10000 * turn + 100 * rank + r->rank);
    }
    MPI_Group_free(&all);
    CHECK_MPI(MPI_Win_post(MPI_GROUP_EMPTY, 0, r->win));
    CHECK_MPI(MPI_Win_start(MPI_GROUP_EMPTY, 0, r->win));
    CHECK_MPI(MPI_Win_complete(r->win));
    CHECK_MPI(MPI_Win_wait(r->win));
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    for (int flavor = 0; flavor < RMA_FLAVORS; flavor++) {
        struct rma r;
        if (!rma_open(&r, (enum rma_flavor)flavor, 65536)) continue;
        ring(&r, 50, 0);
        ring(&r, 50, 1);
        served(&r);
        everybody(&r);
        rma_close(&r);
    }
    return check_finish();
}
