/* The discrete Fourier transform of n = 2^m complex numbers, X[k] = sum of x[j] exp(-2 pi i j k / n), on p = 2^q
 * processes, in three supersteps.
 *
 * x is a matrix of R rows and C columns, R C = n, in blocks of rows. With j = j1 C + j2 and k = k1 + k2 R the sum is
 *
 *     X[k1 + k2 R] = sum over j2 of w_C^(j2 k2) ( w_n^(j2 k1) sum over j1 of w_R^(j1 k1) x[j1 C + j2] )
 *
 * so: transpose, transform C rows of length R, multiply by w_n^(j2 k1), transpose, transform R rows of length C, transpose.
 * Between the transposes everything is local. A transpose is a total exchange, an h-relation of n/p numbers: the cost of
 * the whole is 5 n log2(n) / p operations + 3 (g 2n/p + l), which is why BSP likes this algorithm.
 *
 * Checks: some X[k] by the definition, and the inverse transform, which must give x again.
 */
#include "../common/options.h"
#include "first.h"

#include <bsp.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct number {
    double re, im;
};

static long log_n = 20, repeat = 5;
static struct run run = {.launcher = "bsprun -n PROCESSES", .name = "bsp_fft", .first = is_first};

static int p, s;
/* This process's n/p numbers; for the transposes as many that go to others, and that come from them. */
static struct number *x, *y, *z;

static struct number times(struct number a, struct number b)
{
    return (struct number){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

/* exp(-2 pi i k / n). */
static struct number root(long k, long n)
{
    double angle = -2 * M_PI * (double)(k % n) / (double)n;
    return (struct number){cos(angle), sin(angle)};
}

static struct number input(long j)
{
    uint64_t bits = (uint64_t)(j + 1) * 0x9e3779b97f4a7c15u;
    bits = (bits ^ (bits >> 29)) * 0xbf58476d1ce4e5b9u;
    double re = (double)(bits >> 40) / (1 << 24), im = (double)(bits & 0xffffff) / (1 << 24);
    return (struct number){re - 0.5, im - 0.5};
}

/* Transforms `rows` rows of `length` numbers in place; roots[k] = exp(-2 pi i k / length). */
static void transform_rows(struct number *at, long rows, long length, const struct number *roots)
{
    for (; rows > 0; rows--, at += length) {
        for (long i = 1, j = 0; i < length; i++) {
            long bit = length >> 1;
            for (; j & bit; bit >>= 1)
                j ^= bit;
            j ^= bit;
            if (i < j) {
                struct number other = at[i];
                at[i] = at[j], at[j] = other;
            }
        }
        for (long half = 1; half < length; half *= 2)
            for (long start = 0; start < length; start += 2 * half)
                for (long i = 0; i < half; i++) {
                    struct number *a = &at[start + i], *b = a + half;
                    struct number t = times(roots[i * (length / (2 * half))], *b);
                    *b = (struct number){a->re - t.re, a->im - t.im};
                    *a = (struct number){a->re + t.re, a->im + t.im};
                }
    }
}

/* x, rows x columns in blocks of rows, becomes columns x rows in blocks of rows. One superstep: to every process goes
 * the block of the transposed matrix that it will have of this process's rows. */
static void transpose(long rows, long columns)
{
    long mine = rows / p, theirs = columns / p, block = mine * theirs;
    for (int k = 0; k < p; k++) {
        int to = (s + k) % p;
        struct number *out = y + (long)to * block;
        for (long c = 0; c < theirs; c++)
            for (long r = 0; r < mine; r++)
                out[c * mine + r] = x[r * columns + (long)to * theirs + c];
        /* Nothing else uses y and z in this superstep, so no copies are needed. */
        bsp_hpput(to, out, z, (int)(s * block * (long)sizeof *x), (int)(block * (long)sizeof *x));
    }
    bsp_sync();
    for (int from = 0; from < p; from++)
        for (long c = 0; c < theirs; c++)
            memcpy(x + c * rows + (long)from * mine, z + (long)from * block + c * mine, (size_t)mine * sizeof *x);
}

struct plan {
    long n, rows, columns;
    struct number *row_roots, *column_roots;
};

static void *memory(long count)
{
    void *at = malloc((size_t)count * sizeof(struct number));
    if (at == NULL)
        bsp_abort("bsp_fft: no memory for %ld numbers; choose a smaller --log2n\n", count);
    return at;
}

static struct plan make_plan(void)
{
    struct plan plan = {.n = 1L << log_n, .rows = 1L << (log_n / 2)};
    plan.columns = plan.n / plan.rows;
    plan.row_roots = memory(plan.rows);
    plan.column_roots = memory(plan.columns);
    for (long i = 0; i < plan.rows; i++)
        plan.row_roots[i] = root(i, plan.rows);
    for (long i = 0; i < plan.columns; i++)
        plan.column_roots[i] = root(i, plan.columns);
    return plan;
}

static void transform(const struct plan *plan)
{
    long own = plan->columns / p;
    transpose(plan->rows, plan->columns);
    transform_rows(x, own, plan->rows, plan->row_roots);
    for (long c = 0; c < own; c++) {
        struct number step = root(s * own + c, plan->n), w = {1, 0};
        for (long k = 0; k < plan->rows; k++) {
            /* A product of many factors loses digits: a fresh one now and then. */
            if (k % 32 == 0)
                w = root((s * own + c) * k, plan->n);
            x[c * plan->rows + k] = times(x[c * plan->rows + k], w);
            w = times(w, step);
        }
    }
    transpose(plan->columns, plan->rows);
    transform_rows(x, plan->rows / p, plan->columns, plan->column_roots);
    transpose(plan->rows, plan->columns);
}

/* The largest of everybody's values. */
static double largest(double value)
{
    static double all[1024];
    bsp_push_reg(all, (int)sizeof all);
    bsp_sync();
    for (int to = 0; to < p; to++)
        bsp_put(to, &value, all, s * (int)sizeof value, sizeof value);
    bsp_pop_reg(all);
    bsp_sync();
    for (int from = 0; from < p; from++)
        value = all[from] > value ? all[from] : value;
    return value;
}

/* The sums of everybody's pairs of values; `pairs` at most 16. */
static void sum(struct number *values, int pairs)
{
    static struct number all[1024 * 16];
    bsp_push_reg(all, (int)sizeof all);
    bsp_sync();
    int bytes = pairs * (int)sizeof *values;
    for (int to = 0; to < p; to++)
        bsp_put(to, values, all, s * bytes, bytes);
    bsp_pop_reg(all);
    bsp_sync();
    memset(values, 0, (size_t)bytes);
    for (int i = 0; i < p * pairs; i++)
        values[i % pairs].re += all[i].re, values[i % pairs].im += all[i].im;
}

/* The distance of some X[k] from their definition, as a part of the norm of all. */
static double distance_from_definition(const struct plan *plan)
{
    enum { SAMPLES = 8 };
    struct number wanted[SAMPLES] = {{0}};
    long own = plan->n / p;
    double off = 0;
    for (int i = 0; i < SAMPLES; i++) {
        long k = (plan->n / SAMPLES * i + 3 * i * i + 1) % plan->n;
        for (long j = s * own; j < (s + 1) * own; j++) {
            /* j k mod n, exactly. */
            struct number term = times(input(j), root((long)((unsigned __int128)j * (unsigned long)k % (unsigned long)plan->n), plan->n));
            wanted[i].re += term.re, wanted[i].im += term.im;
        }
    }
    sum(wanted, SAMPLES);
    for (int i = 0; i < SAMPLES; i++) {
        long k = (plan->n / SAMPLES * i + 3 * i * i + 1) % plan->n;
        if (k / own == s) {
            double re = x[k % own].re - wanted[i].re, im = x[k % own].im - wanted[i].im;
            off = fmax(off, hypot(re, im));
        }
    }
    return largest(off) / sqrt((double)plan->n);
}

/* The distance of x from the input after the inverse, conj(transform(conj(X))) / n. */
static double distance_from_input(const struct plan *plan)
{
    long own = plan->n / p;
    double off = 0;
    for (long i = 0; i < own; i++)
        x[i].im = -x[i].im;
    transform(plan);
    for (long i = 0; i < own; i++) {
        struct number was = input(s * own + i);
        off = fmax(off, hypot(x[i].re / (double)plan->n - was.re, -x[i].im / (double)plan->n - was.im));
    }
    return largest(off);
}

int main(int argc, char **argv)
{
    const struct app_flag own_flags[] = {
        {"--log2n", APP_WHOLE, &log_n, 2, 30, "N", "transform 2^N numbers (20)"},
        {"--repeat", APP_WHOLE, &repeat, 1, 1000000, "N", "transforms to time (5)"},
        {NULL, APP_SWITCH, NULL, 0, 0, NULL, NULL},
    };
    read_options(&run, argc, argv,
                 "Fast Fourier transform with BSPlib: three total exchanges. Of PROCESSES a power of two is used.", own_flags);
    if (run.check)
        log_n = 16, repeat = 2;
    int use = 1;
    while (2 * use <= bsp_nprocs() && 2 * use <= 1 << (log_n / 2) && 2 * use <= 1024)
        use *= 2;
    bsp_begin(use);
    p = bsp_nprocs(), s = bsp_pid();
    struct plan plan = make_plan();
    long own = plan.n / p;
    if (own * (long)sizeof *x > INT32_MAX)
        bsp_abort("bsp_fft: %ld numbers in a process; BSPlib's blocks have at most 2 GiB: more processes, or a smaller --log2n\n", own);
    x = memory(own), y = memory(own), z = memory(own);
    bsp_push_reg(z, (int)(own * (long)sizeof *x));
    bsp_sync();
    double best = INFINITY;
    for (long i = 0; i < repeat; i++) {
        for (long j = 0; j < own; j++)
            x[j] = input(s * own + j);
        bsp_sync();
        double begin = bsp_time();
        transform(&plan);
        best = fmin(best, bsp_time() - begin);
        progress(&run, "transform", i + 1, repeat);
    }
    best = largest(best);
    double definition = distance_from_definition(&plan), inverse = distance_from_input(&plan);
    /* Errors grow with log n; the twiddle factors have some ulps. */
    double bound = 64 * 2.3e-16 * (double)log_n;
    if (s == 0) {
        printf("n = 2^%ld, %d processes: %.3f ms, %.0f million operations a second (5 n log2 n)\n", log_n, p, best * 1e3,
               5.0 * (double)plan.n * (double)log_n / best * 1e-6);
        printf("error of samples %.1e, of the inverse %.1e, at most %.1e allowed\n", definition, inverse, bound);
    }
    int code = verdict(&run, definition < bound && inverse < bound);
    bsp_end();
    free(x), free(y), free(z), free(plan.row_roots), free(plan.column_roots);
    return code;
}
