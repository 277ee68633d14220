/* BSPlib, direct remote memory access: puts and gets with buffers and without, registrations. The argument is the
 * number of ints in a block (8): with many, blocks travel by themselves. */
#include "bsp_check.h"

static int n = 8, p, s;

static int *block(int fill)
{
    int *b = malloc((size_t)n * sizeof *b);
    for (int i = 0; i < n; i++)
        b[i] = fill + i;
    return b;
}

static int holds(const int *b, int fill)
{
    for (int i = 0; i < n; i++)
        if (b[i] != fill + i)
            return 0;
    return 1;
}

/* The source of a put may change at once; that of a get is read at the end of the superstep, before what is put. */
static void buffered(int right, int left)
{
    int bytes = n * (int)sizeof(int), *a = block(1000 * s), *b = block(-1), *c = block(-1);
    bsp_push_reg(a, bytes);
    bsp_push_reg(b, bytes);
    bsp_sync();
    bsp_put(right, a, b, 0, bytes);
    for (int i = 0; i < n; i++)
        a[i] = 1000 * s + 500 + i;
    bsp_get(right, b, 0, c, bytes);
    CHECK(holds(b, -1));
    bsp_sync();
    CHECK(holds(b, 1000 * left));
    CHECK(holds(c, -1));
    /* A rotation in place: every process puts its block and is put one; and the same by gets. */
    bsp_put(right, a, a, 0, bytes);
    bsp_get(right, a, 0, c, bytes);
    bsp_sync();
    CHECK(holds(a, 1000 * left + 500));
    CHECK(holds(c, 1000 * right + 500));
    bsp_get(right, a, 0, a, bytes);
    bsp_sync();
    CHECK(holds(a, 1000 * s + 500));
    bsp_pop_reg(b);
    bsp_pop_reg(a);
    bsp_sync();
    free(a), free(b), free(c);
}

static void unbuffered(int right, int left)
{
    int bytes = n * (int)sizeof(int), *a = block(100 * s), *b = block(-1), *c = block(-1);
    bsp_push_reg(b, bytes);
    bsp_push_reg(a, bytes);
    bsp_sync();
    bsp_hpput(right, a, b, 0, bytes);
    bsp_hpget(left, a, 0, c, bytes);
    bsp_sync();
    CHECK(holds(b, 100 * left));
    CHECK(holds(c, 100 * left));
    bsp_pop_reg(a);
    bsp_pop_reg(b);
    bsp_sync();
    free(a), free(b), free(c);
}

/* Blocks of different sizes and addresses, none at some process; offsets; the last registration counts. */
static void registrations(void)
{
    int *a = malloc((size_t)(p + 2) * sizeof *a), own = 7 + s, x = -1;
    for (int i = 0; i < p + 2; i++)
        a[i] = -1;
    /* Process 0 has room for one int of each; the others give an address without a byte behind it. */
    bsp_push_reg(a, s == 0 ? p * (int)sizeof *a : 0);
    bsp_sync();
    bsp_put(0, &own, a, s * (int)sizeof *a, sizeof own);
    bsp_put(p - 1, &own, a, 0, 0);
    bsp_sync();
    for (int i = 0; i < p; i++)
        CHECK_EQ(a[i], s == 0 ? 7 + i : -1);
    /* The same address again, with more; while it is popped, and until the end of that superstep, it is valid. */
    bsp_push_reg(a, (p + 2) * (int)sizeof *a);
    bsp_push_reg(s == 0 ? &x : NULL, s == 0 ? (int)sizeof x : 0);
    bsp_sync();
    bsp_pop_reg(a);
    bsp_pop_reg(s == 0 ? &x : NULL);
    int two = 2;
    if (s == p - 1)
        bsp_put(0, &two, a, (p + 1) * (int)sizeof *a, sizeof two);
    if (s == 0)
        bsp_put(0, &two, &x, 0, sizeof two);
    bsp_sync();
    CHECK_EQ(a[p + 1], s == 0 ? 2 : -1);
    CHECK_EQ(x, s == 0 ? 2 : -1);
    /* Pushed and popped in one superstep: as if nothing had been. */
    bsp_push_reg(&x, sizeof x);
    bsp_push_reg(NULL, 0);
    bsp_pop_reg(&x);
    bsp_pop_reg(NULL);
    bsp_pop_reg(a);
    bsp_sync();
    free(a);
}

/* Puts of one process to one place are in the order of its calls, and parts of a large block overlap a small one. */
static void order(void)
{
    int bytes = n * (int)sizeof(int), *a = block(-1), *b = block(50), first = 1, last = 2;
    bsp_push_reg(a, bytes);
    bsp_sync();
    if (s == 0) {
        bsp_put(p - 1, &first, a, 0, sizeof first);
        bsp_put(p - 1, b, a, 0, bytes);
        bsp_put(p - 1, &last, a, bytes - (int)sizeof last, sizeof last);
    }
    bsp_sync();
    if (s == p - 1) {
        CHECK_EQ(a[0], 50);
        CHECK_EQ(a[n - 2], 50 + n - 2);
        CHECK_EQ(a[n - 1], 2);
    }
    bsp_pop_reg(a);
    bsp_sync();
    free(a), free(b);
}

int main(int argc, char **argv)
{
    bsp_begin(bsp_nprocs());
    bsp_check_init();
    if (argc > 1)
        n = atoi(argv[1]);
    p = bsp_nprocs(), s = bsp_pid();
    for (int round = 0; round < 3; round++) {
        buffered((s + 1) % p, (s + p - 1) % p);
        unbuffered((s + 1) % p, (s + p - 1) % p);
        registrations();
        order();
    }
    double before = bsp_time();
    CHECK(before >= 0 && bsp_time() >= before);
    return bsp_check_finish();
}
