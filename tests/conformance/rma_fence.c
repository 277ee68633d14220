/* Windows: put, get and accumulate between fences, on windows of every flavour (sections 12.3 and 12.5.1). */
#include "rma.h"

#define N 1000

/* Each rank puts to the next, gets from the one before, and adds to all. */
static void round_trip(struct rma *r, int assert_first, int assert_last)
{
    int *mine = r->base, out[N], in[N], one = 1;
    int next = (r->rank + 1) % r->size, before = (r->rank + r->size - 1) % r->size;
    for (int i = 0; i < N; i++) {
        out[i] = 1000 * r->rank + i;
        in[i] = -1;
    }
    memset(mine, 0, sizeof(int) * (2 * N + 1));
    for (int i = 0; i < N; i++) mine[N + i] = -r->rank - i;
    CHECK_MPI(MPI_Win_fence(assert_first, r->win));
    CHECK_MPI(MPI_Put(out, N, MPI_INT, next, r->at[next], N, MPI_INT, r->win));
    CHECK_MPI(MPI_Get(in, N, MPI_INT, before, r->at[before] + N * (MPI_Aint)sizeof(int), N, MPI_INT, r->win));
    for (int rank = 0; rank < r->size; rank++)
        CHECK_MPI(MPI_Accumulate(&one, 1, MPI_INT, rank, r->at[rank] + 2 * N * (MPI_Aint)sizeof(int), 1,
                                 MPI_INT, MPI_SUM, r->win));
    CHECK_MPI(MPI_Win_fence(assert_last, r->win));
    for (int i = 0; i < N; i++) {
        CHECK_EQ(mine[i], 1000 * before + i);
        CHECK_EQ(in[i], -before - i);
    }
    CHECK_EQ(mine[2 * N], r->size);
}

/* What was put before a fence is seen by gets after it, many times over. */
static void many(struct rma *r)
{
    long *mine = r->base;
    int next = (r->rank + 1) % r->size;
    MPI_Win_fence(MPI_MODE_NOPRECEDE, r->win);
    for (long turn = 1; turn <= 200; turn++) {
        long value = turn * 10 + r->rank, got = 0;
        MPI_Put(&value, 1, MPI_LONG, next, r->at[next], 1, MPI_LONG, r->win);
        MPI_Win_fence(0, r->win);
        CHECK_EQ(mine[0], turn * 10 + (r->rank + r->size - 1) % r->size);
        MPI_Get(&got, 1, MPI_LONG, next, r->at[next], 1, MPI_LONG, r->win);
        MPI_Win_fence(turn == 200 ? MPI_MODE_NOSUCCEED : 0, r->win);
        CHECK_EQ(got, value);
    }
}

/* Sizes around every threshold. */
static void sizes(struct rma *r, MPI_Aint room)
{
    unsigned char *mine = r->base, *out = malloc((size_t)room), *in = malloc((size_t)room);
    int next = (r->rank + 1) % r->size, before = (r->rank + r->size - 1) % r->size;
    for (MPI_Aint len = 0; len <= room; len = len * 3 + 1) {
        for (MPI_Aint i = 0; i < len; i++) out[i] = (unsigned char)(i * 7 + len + r->rank);
        MPI_Win_fence(0, r->win);
        CHECK_MPI(MPI_Put(out, (int)len, MPI_BYTE, next, r->at[next], (int)len, MPI_BYTE, r->win));
        MPI_Win_fence(0, r->win);
        memset(in, 0, (size_t)room);
        CHECK_MPI(MPI_Get(in, (int)len, MPI_BYTE, next, r->at[next], (int)len, MPI_BYTE, r->win));
        MPI_Win_fence(0, r->win);
        CHECK(memcmp(in, out, (size_t)len) == 0);
        for (MPI_Aint i = 0; i < len; i++)
            if (mine[i] != (unsigned char)(i * 7 + len + before)) {
                CHECK_EQ(mine[i], (unsigned char)(i * 7 + len + before));
                break;
            }
    }
    MPI_Win_fence(MPI_MODE_NOSUCCEED, r->win);
    free(out);
    free(in);
}

/* MPI_PROC_NULL, nothing at all, and the forms with MPI_Count. */
static void odd(struct rma *r)
{
    int value = 5 + r->rank, got = 0, next = (r->rank + 1) % r->size;
    MPI_Win_fence(0, r->win);
    CHECK_MPI(MPI_Put(&value, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, r->win));
    CHECK_MPI(MPI_Get(&got, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, r->win));
    CHECK_MPI(MPI_Accumulate(&value, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, MPI_SUM, r->win));
    CHECK_MPI(MPI_Put(&value, 0, MPI_INT, next, r->at[next], 0, MPI_INT, r->win));
    CHECK_MPI(MPI_Put_c(&value, 1, MPI_INT, next, r->at[next], 1, MPI_INT, r->win));
    MPI_Win_fence(0, r->win);
    CHECK_MPI(MPI_Get_c(&got, 1, MPI_INT, next, r->at[next], 1, MPI_INT, r->win));
    MPI_Win_fence(0, r->win);
    CHECK_EQ(got, value);
    CHECK_MPI(MPI_Accumulate_c(&value, 1, MPI_INT, next, r->at[next], 1, MPI_INT, MPI_SUM, r->win));
    MPI_Win_fence(MPI_MODE_NOSUCCEED, r->win);
    CHECK_EQ(*(int *)r->base, 2 * (5 + (r->rank + r->size - 1) % r->size));
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    for (int flavor = 0; flavor < RMA_FLAVORS; flavor++) {
        struct rma r;
        if (!rma_open(&r, (enum rma_flavor)flavor, 300000)) continue;
        round_trip(&r, 0, MPI_MODE_NOSUCCEED);
        round_trip(&r, MPI_MODE_NOPRECEDE, MPI_MODE_NOSTORE | MPI_MODE_NOSUCCEED);
        many(&r);
        sizes(&r, 300000);
        odd(&r);
        rma_close(&r);
    }
    return check_finish();
}
