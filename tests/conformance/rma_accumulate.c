/* Windows: every predefined operation on every type that has it, compared with MPI_Reduce_local; fetches; compare
 * and swap; atomicity of what many ranks do at a time (sections 12.3.4 and 12.8). */
#include "rma.h"

#define N 7

static const MPI_Datatype integers[] = {MPI_SIGNED_CHAR, MPI_SHORT, MPI_INT, MPI_LONG, MPI_LONG_LONG,
    MPI_UNSIGNED_CHAR, MPI_UNSIGNED_SHORT, MPI_UNSIGNED, MPI_UNSIGNED_LONG, MPI_INT8_T, MPI_INT16_T, MPI_INT32_T,
    MPI_INT64_T, MPI_UINT8_T, MPI_UINT16_T, MPI_UINT32_T, MPI_UINT64_T};
static const MPI_Datatype reals[] = {MPI_FLOAT, MPI_DOUBLE, MPI_LONG_DOUBLE};
static const MPI_Datatype complexes[] = {MPI_C_FLOAT_COMPLEX, MPI_C_DOUBLE_COMPLEX, MPI_C_LONG_DOUBLE_COMPLEX};
static const MPI_Datatype multi[] = {MPI_AINT, MPI_OFFSET, MPI_COUNT};
static const MPI_Datatype pairs[] = {MPI_FLOAT_INT, MPI_DOUBLE_INT, MPI_LONG_INT, MPI_2INT, MPI_SHORT_INT, MPI_LONG_DOUBLE_INT};

/* Values whose bytes are small numbers, for types of any kind. */
static void fill(MPI_Datatype type, void *to, int seed)
{
    int number[2 * N], size;
    char packed[64 * N];
    MPI_Aint lb, extent;
    MPI_Type_get_extent(type, &lb, &extent);
    MPI_Type_size(type, &size);
    memset(to, 0, (size_t)extent * N);
    for (int i = 0; i < 2 * N; i++) number[i] = 1 + (seed * 7 + i * 3) % 11;
    for (int i = 0; i < N; i++) {
        char *at = (char *)to + i * extent;
#define STORE(mpi, c) if (type == mpi) { c v = (c)number[i]; memcpy(at, &v, sizeof v); continue; }
        STORE(MPI_FLOAT, float)
        STORE(MPI_DOUBLE, double)
        STORE(MPI_LONG_DOUBLE, long double)
#define STORE2(mpi, c) if (type == mpi) { c v[2] = {(c)number[i], (c)number[i + N]}; memcpy(at, v, sizeof v); continue; }
        STORE2(MPI_C_FLOAT_COMPLEX, float)
        STORE2(MPI_C_DOUBLE_COMPLEX, double)
        STORE2(MPI_C_LONG_DOUBLE_COMPLEX, long double)
#define PAIR(mpi, c) if (type == mpi) { struct { c v; int i; } p; memset(&p, 0, sizeof p); p.v = (c)number[i]; p.i = number[i + N]; memcpy(at, &p, sizeof p); continue; }
        PAIR(MPI_FLOAT_INT, float)
        PAIR(MPI_DOUBLE_INT, double)
        PAIR(MPI_LONG_INT, long)
        PAIR(MPI_2INT, int)
        PAIR(MPI_SHORT_INT, short)
        PAIR(MPI_LONG_DOUBLE_INT, long double)
        at[0] = (char)number[i];
        if (type == MPI_CXX_BOOL || type == MPI_C_BOOL) at[0] = (char)(number[i] % 2);
    }
    (void)packed;
}

/* The packed bytes of both must be the same: padding means nothing. */
static void same(MPI_Datatype type, const void *a, const void *b, const char *what)
{
    char one[64 * N], two[64 * N];
    int end1 = 0, end2 = 0;
    MPI_Pack(a, N, type, one, (int)sizeof one, &end1, MPI_COMM_SELF);
    MPI_Pack(b, N, type, two, (int)sizeof two, &end2, MPI_COMM_SELF);
    int differ = end1 != end2 || (type != MPI_LONG_DOUBLE && type != MPI_C_LONG_DOUBLE_COMPLEX
                 && type != MPI_LONG_DOUBLE_INT ? memcmp(one, two, (size_t)end1) : 0);
    if (type == MPI_LONG_DOUBLE)
        for (int i = 0; i < N; i++) differ |= ((const long double *)a)[i] != ((const long double *)b)[i];
    if (type == MPI_C_LONG_DOUBLE_COMPLEX)
        for (int i = 0; i < 2 * N; i++) differ |= ((const long double *)a)[i] != ((const long double *)b)[i];
    if (differ) {
        char name[MPI_MAX_OBJECT_NAME], text[MPI_MAX_OBJECT_NAME + 100];
        int len;
        MPI_Type_get_name(type, name, &len);
        snprintf(text, sizeof text, "%s of %s differs from MPI_Reduce_local", what, name);
        check_fail(__FILE__, __LINE__, text);
    }
}

static void one(struct rma *r, MPI_Datatype type, MPI_Op op, const char *what)
{
    char here[64 * N], there[64 * N], old[64 * N], start[64 * N];
    int next = (r->rank + 1) % r->size, reduces = op != MPI_REPLACE && op != MPI_NO_OP;
    fill(type, here, r->rank + 1);
    fill(type, start, 5);
    fill(type, there, 5);
    MPI_Aint to = r->at[next];
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, next, 0, r->win);
    CHECK_MPI(MPI_Accumulate(start, N, type, next, to, N, type, MPI_REPLACE, r->win));
    if (reduces) {
        CHECK_MPI(MPI_Reduce_local(here, there, N, type, op));
        CHECK_MPI(MPI_Accumulate(here, N, type, next, to, N, type, op, r->win));
        memset(old, 0, sizeof old);
        CHECK_MPI(MPI_Get_accumulate(NULL, 0, MPI_INT, old, N, type, next, to, N, type, MPI_NO_OP, r->win));
        MPI_Win_flush(next, r->win);
        same(type, old, there, what);
    } else {
        CHECK_MPI(MPI_Get_accumulate(here, N, type, old, N, type, next, to, N, type, op, r->win));
        MPI_Win_flush(next, r->win);
        same(type, old, start, what);
        if (op == MPI_REPLACE) memcpy(there, here, sizeof there);
    }
    memset(old, 0, sizeof old);
    CHECK_MPI(MPI_Get_accumulate(here, N, type, old, N, type, next, to, N, type, op, r->win));
    MPI_Win_flush(next, r->win);
    same(type, old, there, what);
    if (reduces) CHECK_MPI(MPI_Reduce_local(here, there, N, type, op));
    /* A single element, and back. */
    memset(old, 0, sizeof old);
    CHECK_MPI(MPI_Fetch_and_op(here, old, type, next, to, op, r->win));
    MPI_Win_flush(next, r->win);
    if (reduces) CHECK_MPI(MPI_Reduce_local(here, there, 1, type, op));
    memset(old, 0, sizeof old);
    CHECK_MPI(MPI_Get(old, N, type, next, to, N, type, r->win));
    MPI_Win_unlock(next, r->win);
    same(type, old, there, what);
}

#define ALL(r, list, op) for (size_t t = 0; t < sizeof list / sizeof *list; t++) one(r, list[t], op, #op)

static void every(struct rma *r)
{
    ALL(r, integers, MPI_SUM); ALL(r, integers, MPI_PROD); ALL(r, integers, MPI_MIN); ALL(r, integers, MPI_MAX);
    ALL(r, integers, MPI_BAND); ALL(r, integers, MPI_BOR); ALL(r, integers, MPI_BXOR);
    ALL(r, integers, MPI_LAND); ALL(r, integers, MPI_LOR); ALL(r, integers, MPI_LXOR);
    ALL(r, integers, MPI_REPLACE); ALL(r, integers, MPI_NO_OP);
    ALL(r, reals, MPI_SUM); ALL(r, reals, MPI_PROD); ALL(r, reals, MPI_MIN); ALL(r, reals, MPI_MAX);
    ALL(r, reals, MPI_REPLACE); ALL(r, reals, MPI_NO_OP);
    ALL(r, complexes, MPI_SUM); ALL(r, complexes, MPI_PROD); ALL(r, complexes, MPI_REPLACE);
    ALL(r, multi, MPI_SUM); ALL(r, multi, MPI_MAX); ALL(r, multi, MPI_BXOR); ALL(r, multi, MPI_REPLACE);
    ALL(r, pairs, MPI_MINLOC); ALL(r, pairs, MPI_MAXLOC); ALL(r, pairs, MPI_REPLACE);
    one(r, MPI_C_BOOL, MPI_LAND, "MPI_LAND"); one(r, MPI_C_BOOL, MPI_LOR, "MPI_LOR");
    one(r, MPI_C_BOOL, MPI_LXOR, "MPI_LXOR"); one(r, MPI_BYTE, MPI_BXOR, "MPI_BXOR");
    one(r, MPI_CHAR, MPI_REPLACE, "MPI_REPLACE"); one(r, MPI_WCHAR, MPI_REPLACE, "MPI_REPLACE");
}

/* All ranks count in the same words at once, in several ways. */
static void counters(struct rma *r)
{
    long long one = 1, old, *mine = r->base, last = -1;
    double half = 0.5;
    MPI_Barrier(r->comm);
    memset(r->base, 0, 1024);
    MPI_Barrier(r->comm);
    CHECK_MPI(MPI_Win_lock_all(0, r->win));
    for (int i = 0; i < 200; i++) {
        CHECK_MPI(MPI_Fetch_and_op(&one, &old, MPI_LONG_LONG, 0, r->at[0], MPI_SUM, r->win));
        CHECK_MPI(MPI_Win_flush(0, r->win));
        CHECK(old > last);
        last = old;
        CHECK_MPI(MPI_Accumulate(&half, 1, MPI_DOUBLE, 0, r->at[0] + 8, 1, MPI_DOUBLE, MPI_SUM, r->win));
        CHECK_MPI(MPI_Accumulate(&one, 1, MPI_LONG_LONG, 0, r->at[0] + 16, 1, MPI_LONG_LONG, MPI_SUM, r->win));
        /* A counter by compare and swap. */
        long long seen = 0, want, now;
        for (;;) {
            want = seen + 1;
            CHECK_MPI(MPI_Compare_and_swap(&want, &seen, &now, MPI_LONG_LONG, 0, r->at[0] + 24, r->win));
            CHECK_MPI(MPI_Win_flush(0, r->win));
            if (now == seen) break;
            seen = now;
        }
    }
    CHECK_MPI(MPI_Win_unlock_all(r->win));
    MPI_Barrier(r->comm);
    if (r->rank == 0) {
        CHECK_MPI(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, r->win));
        CHECK_EQ(mine[0], 200 * r->size);
        CHECK(*(double *)(mine + 1) == 100.0 * r->size);
        CHECK_EQ(mine[2], 200 * r->size);
        CHECK_EQ(mine[3], 200 * r->size);
        CHECK_MPI(MPI_Win_unlock(0, r->win));
    }
    MPI_Barrier(r->comm);
}

/* Compare and swap of every width. */
static void swaps(struct rma *r)
{
    const MPI_Datatype types[] = {MPI_INT8_T, MPI_INT16_T, MPI_INT32_T, MPI_INT64_T, MPI_BYTE, MPI_C_BOOL, MPI_AINT};
    int next = (r->rank + 1) % r->size;
    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        int64_t zero = 0, a = 1, b = 0, old = -1;
        int size;
        MPI_Type_size(types[t], &size);
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, next, 0, r->win);
        CHECK_MPI(MPI_Put(&zero, 8, MPI_BYTE, next, r->at[next] + 64, 8, MPI_BYTE, r->win));
        MPI_Win_flush(next, r->win);
        old = 0x7777;
        CHECK_MPI(MPI_Compare_and_swap(&a, &b, &old, types[t], next, r->at[next] + 64, r->win));
        MPI_Win_flush(next, r->win);
        CHECK(memcmp(&old, &zero, (size_t)size) == 0);
        CHECK_MPI(MPI_Compare_and_swap(&b, &b, &old, types[t], next, r->at[next] + 64, r->win));
        MPI_Win_flush(next, r->win);
        CHECK(memcmp(&old, &a, (size_t)size) == 0);
        int64_t now = 99;
        CHECK_MPI(MPI_Get(&now, 8, MPI_BYTE, next, r->at[next] + 64, 8, MPI_BYTE, r->win));
        MPI_Win_unlock(next, r->win);
        CHECK_EQ(now, a);
    }
    MPI_Barrier(r->comm);
}

/* More elements than any library updates in one step, whose number no power of two divides, of an address with any
 * alignment. */
enum { LONG = 30011 };

static void long_updates(struct rma *r, int shift)
{
    int64_t *terms = malloc(LONG * sizeof *terms), *old = malloc(LONG * sizeof *old);
    int wrong = 0;
    for (int64_t i = 0; i < LONG; i++) terms[i] = i + 1;
    CHECK_MPI(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, r->rank, 0, r->win));
    memset(r->base, 0, (size_t)r->bytes);
    CHECK_MPI(MPI_Win_unlock(r->rank, r->win));
    MPI_Barrier(r->comm);
    CHECK_MPI(MPI_Win_lock_all(0, r->win));
    CHECK_MPI(MPI_Get_accumulate(terms, LONG, MPI_INT64_T, old, LONG, MPI_INT64_T, 0, r->at[0] + shift, LONG, MPI_INT64_T,
                                 MPI_SUM, r->win));
    CHECK_MPI(MPI_Win_flush(0, r->win));
    for (int64_t i = 0; i < LONG; i++) wrong += old[i] % (i + 1) != 0 || old[i] / (i + 1) >= 2 * r->size;
    CHECK_EQ(wrong, 0);
    CHECK_MPI(MPI_Accumulate(terms, LONG, MPI_INT64_T, 0, r->at[0] + shift, LONG, MPI_INT64_T, MPI_SUM, r->win));
    CHECK_MPI(MPI_Win_unlock_all(r->win));
    MPI_Barrier(r->comm);
    CHECK_MPI(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, r->win));
    CHECK_MPI(MPI_Get_accumulate(NULL, 0, MPI_INT64_T, old, LONG, MPI_INT64_T, 0, r->at[0] + shift, LONG, MPI_INT64_T,
                                 MPI_NO_OP, r->win));
    CHECK_MPI(MPI_Win_unlock(0, r->win));
    wrong = 0;
    for (int64_t i = 0; i < LONG; i++) wrong += old[i] != 2 * r->size * (i + 1);
    CHECK_EQ(wrong, 0);
    MPI_Barrier(r->comm);
    free(terms);
    free(old);
}

/* The same where the program asks for one lock for many elements. */
static void coarse(enum rma_flavor flavor)
{
    struct rma r;
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "mpi_accumulate_granularity", "65536");
    rma_open_with(&r, flavor, LONG * 8 + 1, info);
    MPI_Info_free(&info);
    every(&r);
    counters(&r);
    swaps(&r);
    long_updates(&r, 0);
    long_updates(&r, 1);
    rma_close(&r);
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    for (int flavor = 0; flavor < RMA_FLAVORS; flavor++) {
        struct rma r;
        if (!rma_open(&r, (enum rma_flavor)flavor, 4096)) continue;
        every(&r);
        counters(&r);
        swaps(&r);
        rma_close(&r);
        rma_open(&r, (enum rma_flavor)flavor, LONG * 8 + 1);
        long_updates(&r, 0);
        long_updates(&r, 1);
        rma_close(&r);
        coarse((enum rma_flavor)flavor);
    }
    return check_finish();
}
