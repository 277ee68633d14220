/* Windows: random datatypes on both sides of put, get and accumulate, against packing (section 12.3). */
#include "rma.h"

#define ROOM 20000

static unsigned state;

static unsigned below(unsigned n)
{
    state = state * 1664525u + 1013904223u;
    return (state >> 8) % n;
}

/* A type of exactly `n` ints with holes, inside of `ROOM` bytes. */
static MPI_Datatype holes(int n)
{
    MPI_Datatype type;
    static int lengths[2000], places[2000];
    int blocks = 0, at = 0, left = n;
    if (below(4) == 0) {
        MPI_Type_contiguous(n, MPI_INT, &type);
    } else if (below(3) == 0 && n % 2 == 0) {
        MPI_Type_vector(n / 2, 2, 3 + (int)below(3), MPI_INT, &type);
    } else {
        while (left > 0) {
            int len = 1 + (int)below(5);
            if (len > left) len = left;
            lengths[blocks] = len;
            places[blocks++] = at;
            at += len + (int)below(4);
            left -= len;
        }
        MPI_Type_indexed(blocks, lengths, places, MPI_INT, &type);
    }
    MPI_Type_commit(&type);
    return type;
}

/* Bytes that `type` holds at `base`. */
static int pack(const void *base, MPI_Datatype type, int *out)
{
    int end = 0;
    MPI_Pack(base, 1, type, out, ROOM, &end, MPI_COMM_SELF);
    return end;
}

static void turn(struct rma *r, unsigned seed)
{
    static int mine[ROOM / 4], result[ROOM / 4], want[ROOM / 4], got[ROOM / 4], model[ROOM / 4];
    int target = (r->rank + 1) % r->size;
    state = seed * 977 + (unsigned)r->rank;
    int n = 1 + (int)below(300);
    MPI_Datatype here = holes(n), there = holes(n), back = holes(n);
    MPI_Aint to = r->at[target] + (MPI_Aint)sizeof(int) * below(100);
    MPI_Aint offset = to - r->at[target];
    for (int i = 0; i < ROOM / 4; i++) mine[i] = (int)below(1000);
    memset(model, 0, sizeof model);
    CHECK_MPI(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, r->win));
    CHECK_MPI(MPI_Put(model, ROOM / 4, MPI_INT, target, r->at[target], ROOM / 4, MPI_INT, r->win));
    CHECK_MPI(MPI_Win_flush(target, r->win));
    CHECK_MPI(MPI_Put(mine, 1, here, target, to, 1, there, r->win));
    CHECK_MPI(MPI_Win_flush(target, r->win));
    /* The model of the target's memory. */
    int len = pack(mine, here, want), end = 0;
    CHECK_EQ(len, n * (int)sizeof(int));
    MPI_Unpack(want, len, &end, (char *)model + offset, 1, there, MPI_COMM_SELF);
    CHECK_MPI(MPI_Get(got, ROOM / 4, MPI_INT, target, r->at[target], ROOM / 4, MPI_INT, r->win));
    CHECK_MPI(MPI_Win_flush(target, r->win));
    CHECK(memcmp(got, model, ROOM) == 0);
    memset(result, 0, sizeof result);
    CHECK_MPI(MPI_Get(result, 1, back, target, to, 1, there, r->win));
    CHECK_MPI(MPI_Win_flush(target, r->win));
    pack(result, back, got);
    CHECK(memcmp(got, want, (size_t)len) == 0);
    /* Doubled, and fetched with a third layout. */
    CHECK_MPI(MPI_Accumulate(mine, 1, here, target, to, 1, there, MPI_SUM, r->win));
    memset(result, 0, sizeof result);
    CHECK_MPI(MPI_Get_accumulate(mine, 1, here, result, 1, back, target, to, 1, there, MPI_SUM, r->win));
    CHECK_MPI(MPI_Win_flush(target, r->win));
    pack(result, back, got);
    for (int i = 0; i < n; i++) CHECK_EQ(got[i], 2 * want[i]);
    CHECK_MPI(MPI_Get_accumulate(NULL, 0, MPI_INT, result, 1, back, target, to, 1, there, MPI_NO_OP, r->win));
    CHECK_MPI(MPI_Win_unlock(target, r->win));
    pack(result, back, got);
    for (int i = 0; i < n; i++) CHECK_EQ(got[i], 3 * want[i]);
    MPI_Type_free(&here);
    MPI_Type_free(&there);
    MPI_Type_free(&back);
}

/* Pairs with padding inside of other types. */
static void padded(struct rma *r)
{
    struct pair { short value; int index; } mine[6], back[6];
    int target = (r->rank + 1) % r->size;
    MPI_Datatype every_other;
    MPI_Type_vector(3, 1, 2, MPI_SHORT_INT, &every_other);
    MPI_Type_commit(&every_other);
    memset(mine, 0, sizeof mine);
    memset(back, 0, sizeof back);
    for (int i = 0; i < 6; i++) {
        mine[i].value = (short)(10 * i);
        mine[i].index = i;
    }
    CHECK_MPI(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, r->win));
    CHECK_MPI(MPI_Put(mine, 6, MPI_SHORT_INT, target, r->at[target], 6, MPI_SHORT_INT, r->win));
    CHECK_MPI(MPI_Win_flush(target, r->win));
    for (int i = 0; i < 6; i++) mine[i].value = 15;
    CHECK_MPI(MPI_Accumulate(mine, 3, MPI_SHORT_INT, target, r->at[target], 1, every_other, MPI_MAXLOC, r->win));
    CHECK_MPI(MPI_Win_flush(target, r->win));
    CHECK_MPI(MPI_Get(back, 6, MPI_SHORT_INT, target, r->at[target], 6, MPI_SHORT_INT, r->win));
    CHECK_MPI(MPI_Win_unlock(target, r->win));
    for (int i = 0; i < 6; i++) CHECK_EQ(back[i].value, i == 0 ? 15 : 10 * i);
    MPI_Type_free(&every_other);
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    for (int flavor = 0; flavor < RMA_FLAVORS; flavor++) {
        struct rma r;
        if (!rma_open(&r, (enum rma_flavor)flavor, ROOM)) continue;
        for (unsigned seed = 1; seed <= 40; seed++) turn(&r, seed);
        MPI_Barrier(MPI_COMM_WORLD);
        padded(&r);
        rma_close(&r);
    }
    return check_finish();
}
