/* Windows: locks, flushes and requests (sections 12.3.5, 12.5.3 and 12.5.4). */
#include "rma.h"

#define TURNS 100

/* A counter that only a lock protects: every rank reads it and writes it back one higher, everywhere. */
static void exclusive(struct rma *r)
{
    long *mine = r->base;
    for (int turn = 0; turn < TURNS; turn++) {
        int target = (r->rank + turn) % r->size;
        long value = -1;
        CHECK_MPI(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, r->win));
        CHECK_MPI(MPI_Get(&value, 1, MPI_LONG, target, r->at[target], 1, MPI_LONG, r->win));
        CHECK_MPI(MPI_Win_flush(target, r->win));
        value++;
        CHECK_MPI(MPI_Put(&value, 1, MPI_LONG, target, r->at[target], 1, MPI_LONG, r->win));
        CHECK_MPI(MPI_Win_unlock(target, r->win));
    }
    MPI_Barrier(r->comm);
    long sum = 0, value;
    CHECK_MPI(MPI_Win_lock(MPI_LOCK_SHARED, r->rank, 0, r->win));
    value = mine[0];
    CHECK_MPI(MPI_Win_unlock(r->rank, r->win));
    MPI_Allreduce(&value, &sum, 1, MPI_LONG, MPI_SUM, r->comm);
    CHECK_EQ(sum, (long)TURNS * r->size);
    MPI_Barrier(r->comm);
    mine[0] = 0;
    MPI_Barrier(r->comm);
}

/* Readers see two words that writers always change together. */
static void readers_and_writers(struct rma *r)
{
    for (int turn = 0; turn < TURNS; turn++) {
        long pair[2] = {0, 0};
        if ((turn + r->rank) % 4 == 0) {
            CHECK_MPI(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, r->win));
            pair[0] = pair[1] = 1000 * r->rank + turn;
            CHECK_MPI(MPI_Put(&pair[0], 1, MPI_LONG, 0, r->at[0] + 8, 1, MPI_LONG, r->win));
            CHECK_MPI(MPI_Win_flush_local(0, r->win));
            CHECK_MPI(MPI_Put(&pair[1], 1, MPI_LONG, 0, r->at[0] + 4096, 1, MPI_LONG, r->win));
            CHECK_MPI(MPI_Win_unlock(0, r->win));
        } else {
            CHECK_MPI(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, r->win));
            CHECK_MPI(MPI_Get(&pair[1], 1, MPI_LONG, 0, r->at[0] + 4096, 1, MPI_LONG, r->win));
            CHECK_MPI(MPI_Get(&pair[0], 1, MPI_LONG, 0, r->at[0] + 8, 1, MPI_LONG, r->win));
            CHECK_MPI(MPI_Win_unlock(0, r->win));
            CHECK_EQ(pair[0], pair[1]);
        }
    }
    MPI_Barrier(r->comm);
}

/* One epoch with all ranks: every rank has a place of its own in each. */
static void all(struct rma *r, int assert)
{
    int *mine = r->base, got[64];
    if (r->size > 64) return;
    MPI_Barrier(r->comm);
    memset(mine, 0, 64 * sizeof(int));
    MPI_Barrier(r->comm);
    CHECK_MPI(MPI_Win_lock_all(assert, r->win));
    for (int rank = 0; rank < r->size; rank++) {
        int value = 100 * r->rank + rank;
        CHECK_MPI(MPI_Put(&value, 1, MPI_INT, rank, r->at[rank] + r->rank * (MPI_Aint)sizeof(int), 1, MPI_INT, r->win));
        CHECK_MPI(MPI_Win_flush_local(rank, r->win));
    }
    CHECK_MPI(MPI_Win_flush_all(r->win));
    MPI_Barrier(r->comm);
    int next = (r->rank + 1) % r->size;
    CHECK_MPI(MPI_Get(got, r->size, MPI_INT, next, r->at[next], r->size, MPI_INT, r->win));
    CHECK_MPI(MPI_Win_flush_local_all(r->win));
    for (int rank = 0; rank < r->size; rank++) CHECK_EQ(got[rank], 100 * rank + next);
    CHECK_MPI(MPI_Win_sync(r->win));
    CHECK_MPI(MPI_Win_unlock_all(r->win));
    MPI_Barrier(r->comm);
}

static void requests(struct rma *r)
{
    int *mine = r->base, next = (r->rank + 1) % r->size, values[10], got[10], old[10], one = 1;
    MPI_Aint to = r->at[next] + r->rank * 4096;
    MPI_Request requests[4];
    MPI_Barrier(r->comm);
    memset(mine, 0, (size_t)r->bytes);
    MPI_Barrier(r->comm);
    for (int i = 0; i < 10; i++) values[i] = 50 * r->rank + i;
    CHECK_MPI(MPI_Win_lock_all(0, r->win));
    CHECK_MPI(MPI_Rput(values, 10, MPI_INT, next, to, 10, MPI_INT, r->win, &requests[0]));
    CHECK_MPI(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
    CHECK(requests[0] == MPI_REQUEST_NULL);
    CHECK_MPI(MPI_Win_flush(next, r->win));
    CHECK_MPI(MPI_Rget(got, 10, MPI_INT, next, to, 10, MPI_INT, r->win, &requests[0]));
    CHECK_MPI(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
    CHECK(memcmp(values, got, sizeof values) == 0);
    CHECK_MPI(MPI_Raccumulate(values, 10, MPI_INT, next, to, 10, MPI_INT, MPI_SUM, r->win, &requests[0]));
    CHECK_MPI(MPI_Rget_accumulate(&one, 1, MPI_INT, old, 1, MPI_INT, next, to, 1, MPI_INT, MPI_SUM, r->win, &requests[1]));
    CHECK_MPI(MPI_Rput(values, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, r->win, &requests[2]));
    requests[3] = MPI_REQUEST_NULL;
    CHECK_MPI(MPI_Waitall(4, requests, MPI_STATUSES_IGNORE));
    CHECK_EQ(old[0], 2 * values[0]);
    CHECK_MPI(MPI_Win_flush(next, r->win));
    CHECK_MPI(MPI_Rget_c(got, 10, MPI_INT, next, to, 10, MPI_INT, r->win, &requests[0]));
    int flag = 0;
    while (!flag) CHECK_MPI(MPI_Test(&requests[0], &flag, MPI_STATUS_IGNORE));
    for (int i = 0; i < 10; i++) CHECK_EQ(got[i], 2 * values[i] + (i == 0));
    CHECK_MPI(MPI_Win_unlock_all(r->win));
    MPI_Barrier(r->comm);
}

/* The program knows that nobody else is there. */
static void unchecked(struct rma *r)
{
    int next = (r->rank + 1) % r->size, value = r->rank + 7, got = 0;
    MPI_Barrier(r->comm);
    CHECK_MPI(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, next, MPI_MODE_NOCHECK, r->win));
    CHECK_MPI(MPI_Put(&value, 1, MPI_INT, next, r->at[next], 1, MPI_INT, r->win));
    CHECK_MPI(MPI_Win_flush(next, r->win));
    CHECK_MPI(MPI_Get(&got, 1, MPI_INT, next, r->at[next], 1, MPI_INT, r->win));
    CHECK_MPI(MPI_Win_unlock(next, r->win));
    CHECK_EQ(got, value);
    MPI_Barrier(r->comm);
}

/* Locks at several ranks at a time. */
static void several(struct rma *r)
{
    MPI_Barrier(r->comm);
    for (int rank = 0; rank < r->size; rank++) CHECK_MPI(MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, r->win));
    for (int rank = 0; rank < r->size; rank++) {
        int one = 1;
        CHECK_MPI(MPI_Accumulate(&one, 1, MPI_INT, rank, r->at[rank] + 64, 1, MPI_INT, MPI_REPLACE, r->win));
    }
    for (int rank = 0; rank < r->size; rank++) CHECK_MPI(MPI_Win_unlock(rank, r->win));
    MPI_Barrier(r->comm);
    CHECK_EQ(((int *)r->base)[16], 1);
    MPI_Barrier(r->comm);
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    for (int flavor = 0; flavor < RMA_FLAVORS; flavor++) {
        struct rma r;
        if (!rma_open(&r, (enum rma_flavor)flavor, 65536)) continue;
        exclusive(&r);
        readers_and_writers(&r);
        all(&r, 0);
        all(&r, MPI_MODE_NOCHECK);
        requests(&r);
        unchecked(&r);
        several(&r);
        rma_close(&r);
    }
    return check_finish();
}
