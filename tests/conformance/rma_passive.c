/* Windows: a target that computes and calls nothing does not hold up others (section 12.7: passive target
 * communication makes progress by itself). */
#include "rma.h"

/* Rank 0 waits, without a call of MPI, until rank 1 has put something into its memory; meanwhile the others use
 * the same memory, locks included. */
static void computing(struct rma *r)
{
    volatile int *mine = r->base;
    int one = 1, old = -1, go = 4711;
    MPI_Barrier(r->comm);
    mine[0] = mine[1] = 0;
    MPI_Barrier(r->comm);
    if (r->rank == 0) {
        while (mine[0] != go)
            ;
    } else {
        for (int turn = 0; turn < 20; turn++) {
            CHECK_MPI(MPI_Win_lock(turn % 2 ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, 0, 0, r->win));
            CHECK_MPI(MPI_Fetch_and_op(&one, &old, MPI_INT, 0, r->at[0] + 4, MPI_SUM, r->win));
            CHECK_MPI(MPI_Win_flush(0, r->win));
            CHECK(old >= turn);
            CHECK_MPI(MPI_Win_unlock(0, r->win));
        }
        /* The last of the others to be done lets rank 0 go on. */
        if (r->rank == r->size - 1) {
            do {
                /* Given back each time: others want it alone. */
                CHECK_MPI(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, r->win));
                CHECK_MPI(MPI_Fetch_and_op(NULL, &old, MPI_INT, 0, r->at[0] + 4, MPI_NO_OP, r->win));
                CHECK_MPI(MPI_Win_unlock(0, r->win));
            } while (old < 20 * (r->size - 1));
            CHECK_MPI(MPI_Win_lock_all(0, r->win));
            CHECK_MPI(MPI_Put(&go, 1, MPI_INT, 0, r->at[0], 1, MPI_INT, r->win));
            CHECK_MPI(MPI_Win_unlock_all(r->win));
        }
    }
    MPI_Barrier(r->comm);
    CHECK_MPI(MPI_Win_lock(MPI_LOCK_SHARED, r->rank, 0, r->win));
    if (r->rank == 0) CHECK_EQ(mine[1], 20 * (r->size - 1));
    CHECK_MPI(MPI_Win_unlock(r->rank, r->win));
    MPI_Barrier(r->comm);
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    for (int flavor = 0; flavor < RMA_FLAVORS && check_size > 1; flavor++) {
        struct rma r;
        if (!rma_open(&r, (enum rma_flavor)flavor, 4096)) continue;
        for (int turn = 0; turn < 3; turn++) computing(&r);
        rma_close(&r);
    }
    return check_finish();
}
