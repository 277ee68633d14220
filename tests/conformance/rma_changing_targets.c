/* Windows: a target that waits in MPI and computes by turns, while others use its memory all the time: nothing is lost,
 * nothing is done twice (sections 12.7 and 12.8), and who is told of a put after its flush finds it (section 12.7.1). */
#include "rma.h"

enum { TURNS = 60, OPERATIONS = 40, SOME = 300, LONG = 9001 };
/* In units of eight bytes: counters, then what each rank puts, then elements that all add to. */
enum { SUM, SWAPPED, COUNTERS };

static MPI_Aint place(const struct rma *r, int target, int word)
{
    return r->at[target] + word * (MPI_Aint)sizeof(long long);
}

static void compute(unsigned turn)
{
    volatile unsigned work = 0;
    for (unsigned i = 0; i < (turn * 7919u) % 60000u; i++) work += i;
}

static void raise(struct rma *r, int target)
{
    long long now = 0, next, seen;
    for (;;) {
        next = now + 1;
        CHECK_MPI(MPI_Compare_and_swap(&next, &now, &seen, MPI_LONG_LONG, target, place(r, target, SWAPPED), r->win));
        CHECK_MPI(MPI_Win_flush(target, r->win));
        if (seen == now) return;
        now = seen;
    }
}

/* What a rank does to the memory of a target in a turn, of which it tells it the last value that it has put. */
static void use(struct rma *r, int target, int turn)
{
    static double ones[LONG];
    long long one = 1, old, last = -1, value = 0, found = -1;
    int mine = COUNTERS + r->rank, elements = COUNTERS + r->size;
    for (int i = 0; i < LONG; i++) ones[i] = 1;
    for (int i = 0; i < OPERATIONS; i++) {
        value = turn * 1000 + i;
        CHECK_MPI(MPI_Put(&value, 1, MPI_LONG_LONG, target, place(r, target, mine), 1, MPI_LONG_LONG, r->win));
        CHECK_MPI(MPI_Win_flush(target, r->win));
        CHECK_MPI(MPI_Get(&found, 1, MPI_LONG_LONG, target, place(r, target, mine), 1, MPI_LONG_LONG, r->win));
        CHECK_MPI(MPI_Win_flush(target, r->win));
        CHECK_EQ(found, value);
        CHECK_MPI(MPI_Fetch_and_op(&one, &old, MPI_LONG_LONG, target, place(r, target, SUM), MPI_SUM, r->win));
        CHECK_MPI(MPI_Win_flush(target, r->win));
        CHECK(old > last);
        last = old;
        if (i % 8 == 0) raise(r, target);
        if (i % 8 == 4) {
            int count = i % 16 == 4 ? LONG : SOME;
            CHECK_MPI(MPI_Accumulate(ones, count, MPI_DOUBLE, target, place(r, target, elements), count, MPI_DOUBLE, MPI_SUM, r->win));
        }
    }
    CHECK_MPI(MPI_Win_flush(target, r->win));
    CHECK_MPI(MPI_Send(&value, 1, MPI_LONG_LONG, target, turn, r->comm));
}

/* Waits for all others, and computes before each. */
static void be_target(struct rma *r, int turn)
{
    const volatile long long *memory = r->base;
    for (int rank = 0; rank < r->size; rank++) {
        long long value;
        if (rank == r->rank) continue;
        compute((unsigned)(turn * r->size + rank));
        CHECK_MPI(MPI_Recv(&value, 1, MPI_LONG_LONG, rank, turn, r->comm, MPI_STATUS_IGNORE));
        CHECK_MPI(MPI_Win_sync(r->win));
        CHECK_EQ(memory[COUNTERS + rank], value);
    }
}

static void check(struct rma *r)
{
    const long long *memory = r->base;
    long long times = 0;
    for (int turn = 0; turn < TURNS; turn++) times += turn % r->size == r->rank;
    times *= r->size - 1;
    CHECK_MPI(MPI_Win_lock(MPI_LOCK_SHARED, r->rank, 0, r->win));
    CHECK_EQ(memory[SUM], times * OPERATIONS);
    CHECK_EQ(memory[SWAPPED], times * (OPERATIONS / 8));
    for (int i = 0; i < LONG; i++) {
        double element;
        memcpy(&element, memory + COUNTERS + r->size + i, sizeof element);
        CHECK_EQ((long long)element, times * (i < SOME ? OPERATIONS / 8 : (OPERATIONS + 8) / 16));
    }
    CHECK_MPI(MPI_Win_unlock(r->rank, r->win));
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    for (int flavor = 0; flavor < RMA_FLAVORS; flavor++) {
        struct rma r;
        if (!rma_open(&r, (enum rma_flavor)flavor, (COUNTERS + check_size + LONG) * (MPI_Aint)sizeof(long long))) continue;
        MPI_Barrier(r.comm);
        CHECK_MPI(MPI_Win_lock_all(0, r.win));
        for (int turn = 0; turn < TURNS; turn++) {
            if (turn % r.size == r.rank)
                be_target(&r, turn);
            else
                use(&r, turn % r.size, turn);
        }
        CHECK_MPI(MPI_Win_unlock_all(r.win));
        MPI_Barrier(r.comm);
        check(&r);
        rma_close(&r);
    }
    return check_finish();
}
