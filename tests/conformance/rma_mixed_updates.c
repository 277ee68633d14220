/* Windows: long and short atomic updates of the same elements at the same time, in all orders, lose nothing
 * (section 12.8: accumulates are atomic for each element). Long ones alone may be done in another way than short ones. */
#include "rma.h"

enum { ELEMENTS = 3000, TURNS = 120, SINGLES = 40 };

static const int lengths[] = {1, 5, 40, 600, ELEMENTS};

/* What a rank adds to element `i` of a target in one turn. */
static double added(int turn, int i)
{
    int length = lengths[turn % 5], first = (turn * 37) % (ELEMENTS - length + 1);
    return i >= first && i < first + length ? 1 + i % 3 : 0;
}

static void adds(struct rma *r)
{
    double *operand = malloc(ELEMENTS * sizeof(double)), *before = malloc(ELEMENTS * sizeof(double));
    long long one = 1, old, last = -1;
    MPI_Aint counter = ELEMENTS * (MPI_Aint)sizeof(double);
    for (int i = 0; i < ELEMENTS; i++) operand[i] = 1 + i % 3;
    CHECK_MPI(MPI_Win_lock_all(0, r->win));
    for (int turn = 0; turn < TURNS; turn++) {
        int target = (r->rank + turn) % r->size, length = lengths[turn % 5];
        int first = (turn * 37) % (ELEMENTS - length + 1);
        MPI_Aint at = r->at[target] + first * (MPI_Aint)sizeof(double);
        if (turn % 3)
            CHECK_MPI(MPI_Accumulate(operand + first, length, MPI_DOUBLE, target, at, length, MPI_DOUBLE, MPI_SUM, r->win));
        else
            CHECK_MPI(MPI_Get_accumulate(operand + first, length, MPI_DOUBLE, before, length, MPI_DOUBLE, target, at,
                                         length, MPI_DOUBLE, MPI_SUM, r->win));
        CHECK_MPI(MPI_Win_flush(target, r->win));
        /* A counter at rank 0, between the long ones and in the same window. Some turns without a long one end
         * what long ones have begun. */
        for (int i = 0; i < (turn % 30 == 29 ? 30 * SINGLES : SINGLES); i++) {
            CHECK_MPI(MPI_Fetch_and_op(&one, &old, MPI_LONG_LONG, 0, r->at[0] + counter, MPI_SUM, r->win));
            CHECK_MPI(MPI_Win_flush(0, r->win));
            CHECK(old > last);
            last = old;
        }
    }
    CHECK_MPI(MPI_Win_unlock_all(r->win));
    free(operand);
    free(before);
}

/* Each rank raises one element by compare and swap, while others add to its neighbours by long updates. */
static void swaps(struct rma *r)
{
    double operand[ELEMENTS];
    memset(operand, 0, sizeof operand);
    operand[1] = 1;
    for (int turn = 0; turn < TURNS; turn++) {
        long long now, next, seen;
        MPI_Aint at = r->at[0] + ELEMENTS * (MPI_Aint)sizeof(double);
        CHECK_MPI(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, r->win));
        CHECK_MPI(MPI_Accumulate(operand, ELEMENTS, MPI_DOUBLE, 0, r->at[0], ELEMENTS, MPI_DOUBLE, MPI_SUM, r->win));
        CHECK_MPI(MPI_Fetch_and_op(NULL, &now, MPI_LONG_LONG, 0, at, MPI_NO_OP, r->win));
        CHECK_MPI(MPI_Win_flush(0, r->win));
        for (;;) {
            next = now + 1;
            CHECK_MPI(MPI_Compare_and_swap(&next, &now, &seen, MPI_LONG_LONG, 0, at, r->win));
            CHECK_MPI(MPI_Win_flush(0, r->win));
            if (seen == now) break;
            now = seen;
        }
        CHECK_MPI(MPI_Win_unlock(0, r->win));
    }
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    for (int flavor = 0; flavor < RMA_FLAVORS; flavor++) {
        struct rma r;
        if (!rma_open(&r, (enum rma_flavor)flavor, (ELEMENTS + 1) * (MPI_Aint)sizeof(double))) continue;
        MPI_Barrier(r.comm);
        adds(&r);
        MPI_Barrier(r.comm);
        CHECK_MPI(MPI_Win_lock(MPI_LOCK_SHARED, r.rank, 0, r.win));
        const double *mine = r.base;
        for (int i = 0; i < ELEMENTS; i++) {
            double sum = 0;
            for (int rank = 0; rank < r.size; rank++)
                for (int turn = 0; turn < TURNS; turn++)
                    if ((rank + turn) % r.size == r.rank) sum += added(turn, i);
            CHECK_EQ((long long)mine[i], (long long)sum);
        }
        long long count;
        memcpy(&count, mine + ELEMENTS, sizeof count);
        if (r.rank == 0) CHECK_EQ(count, (long long)r.size * (TURNS * SINGLES + TURNS / 30 * 29 * SINGLES));
        double second = mine[1];
        CHECK_MPI(MPI_Win_unlock(r.rank, r.win));
        MPI_Barrier(r.comm);
        swaps(&r);
        MPI_Barrier(r.comm);
        CHECK_MPI(MPI_Win_lock(MPI_LOCK_SHARED, r.rank, 0, r.win));
        if (r.rank == 0) {
            long long after;
            memcpy(&after, mine + ELEMENTS, sizeof after);
            CHECK_EQ(after - count, (long long)r.size * TURNS);
            CHECK_EQ((long long)(mine[1] - second), (long long)r.size * TURNS);
        }
        CHECK_MPI(MPI_Win_unlock(r.rank, r.win));
        rma_close(&r);
    }
    return check_finish();
}
