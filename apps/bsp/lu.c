/* LU decomposition with partial pivoting, P A = L U, of a dense matrix of n x n in blocks of columns that go round the
 * processes. For each block: its owner decomposes the panel of its columns, all get panel and pivots, and update their
 * own columns to the right.
 *
 * The panel is broadcast in two supersteps, as BSP has it: its owner gives a p-th of it to each process, which give
 * theirs to all. So nobody sends more than twice the panel, whatever p is; one superstep would cost p - 1 panels.
 *
 * Check: L U v = P A v for some v, with A made anew.
 */
#include "../common/options.h"
#include "first.h"

#include <bsp.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static long n = 1200, width = 32;
static struct run run = {.launcher = "bsprun -n PROCESSES", .name = "bsp_lu", .first = is_first};

static int p, s;
static double *a;        /* own columns, one behind the other */
static double *panel;    /* n x width: what is broadcast, and behind it the pivots */
static long *permutation; /* row i of P A is row permutation[i] of A */

static void *memory(long count)
{
    void *at = calloc((size_t)count, sizeof(double));
    if (at == NULL)
        bsp_abort("bsp_lu: no memory for %ld numbers; choose a smaller --n\n", count);
    return at;
}

static double element(long i, long j)
{
    uint64_t bits = (uint64_t)(i * 1000003 + j + 1) * 0x9e3779b97f4a7c15u;
    bits = (bits ^ (bits >> 29)) * 0xbf58476d1ce4e5b9u;
    return (double)(bits >> 11) / 9007199254740992.0 - 0.5;
}

static long blocks(void)
{
    return (n + width - 1) / width;
}

/* Columns in a block. */
static long columns(long block)
{
    return n - block * width < width ? n - block * width : width;
}

static double *own_block(long block)
{
    return a + block / p * width * n;
}

static void swap(double *x, double *y)
{
    double other = *x;
    *x = *y, *y = other;
}

/* Decomposes the columns of an own block from its diagonal on; leaves panel and pivots in `panel`. */
static void decompose(long block)
{
    long first = block * width, w = columns(block), m = n - first;
    double *own = own_block(block) + first, *pivots = panel + m * w;
    for (long j = 0; j < w; j++) {
        double *column = own + j * n;
        long pivot = j;
        for (long i = j + 1; i < m; i++)
            if (fabs(column[i]) > fabs(column[pivot]))
                pivot = i;
        if (column[pivot] == 0)
            bsp_abort("bsp_lu: column %ld has no pivot: the matrix is singular\n", first + j);
        pivots[j] = (double)pivot;
        for (long k = 0; k < w; k++)
            swap(&own[k * n + j], &own[k * n + pivot]);
        for (long i = j + 1; i < m; i++)
            column[i] /= column[j];
        for (long k = j + 1; k < w; k++) {
            double *other = own + k * n, factor = other[j];
            for (long i = j + 1; i < m; i++)
                other[i] -= factor * column[i];
        }
    }
    for (long j = 0; j < w; j++)
        memcpy(panel + j * m, own + j * n, (size_t)m * sizeof *panel);
}

/* The first `count` numbers of `panel` go from `owner` to all. Two supersteps. */
static void broadcast(int owner, long count)
{
    long part = (count + p - 1) / p;
    for (int to = 0; s == owner && to < p; to++) {
        long begin = to * part < count ? to * part : count, end = begin + part < count ? begin + part : count;
        /* Not hpput: the others may still read the last panel. */
        if (to != owner)
            bsp_put(to, panel + begin, panel, (int)(begin * 8), (int)((end - begin) * 8));
    }
    bsp_sync();
    long begin = s * part < count ? s * part : count, end = begin + part < count ? begin + part : count;
    for (int i = 1; i < p; i++) {
        int to = (s + i) % p;
        if (to != owner)
            bsp_hpput(to, panel + begin, panel, (int)(begin * 8), (int)((end - begin) * 8));
    }
    bsp_sync();
}

/* Swaps rows as the pivots say, in all own columns but those of the panel, and updates those right of it. */
static void update(long block)
{
    long first = block * width, w = columns(block), m = n - first;
    const double *pivots = panel + m * w;
    for (long j = 0; j < w; j++) {
        long other = first + (long)pivots[j], row = permutation[first + j];
        permutation[first + j] = permutation[other], permutation[other] = row;
    }
    for (long own = s; own < blocks(); own += p) {
        for (long c = 0; own != block && c < columns(own); c++) {
            double *column = own_block(own) + c * n + first;
            for (long j = 0; j < w; j++)
                swap(&column[j], &column[(long)pivots[j]]);
            for (long j = 0; own > block && j < w; j++) {
                const double *l = panel + j * m;
                double factor = column[j];
                for (long i = j + 1; i < m; i++)
                    column[i] -= factor * l[i];
            }
        }
    }
}

/* What everybody has in `values` is summed, in the same order everywhere. */
static void sum(double *values, double *all)
{
    for (int to = 0; to < p; to++)
        bsp_put(to, values, all, (int)(s * n * 8), (int)(n * 8));
    bsp_sync();
    for (long i = 0; i < n; i++) {
        values[i] = 0;
        for (int from = 0; from < p; from++)
            values[i] += all[from * n + i];
    }
    bsp_sync();
}

/* values = U v for the upper part of the own columns, or L v for the lower one with its unit diagonal. */
static void multiply(const double *v, double *values, int upper)
{
    memset(values, 0, (size_t)n * sizeof *values);
    for (long own = s; own < blocks(); own += p)
        for (long c = 0; c < columns(own); c++) {
            const double *column = own_block(own) + c * n;
            long j = own * width + c, begin = upper ? 0 : j + 1, end = upper ? j + 1 : n;
            values[j] += upper ? 0 : v[j];
            for (long i = begin; i < end; i++)
                values[i] += column[i] * v[j];
        }
}

/* |L U v - P A v| as a part of eps |A| |v| n, for v that alternates. */
static double distance(void)
{
    double *all = memory(n * p), *v = memory(n), *u = memory(n), *lu = memory(n), *pa = memory(n);
    bsp_push_reg(all, (int)(n * p * 8));
    bsp_sync();
    for (long i = 0; i < n; i++)
        v[i] = element(i, 2 * n);
    multiply(v, u, 1);
    sum(u, all);
    multiply(u, lu, 0);
    sum(lu, all);
    for (long own = s; own < blocks(); own += p)
        for (long j = own * width; j < own * width + columns(own); j++)
            for (long i = 0; i < n; i++)
                pa[i] += element(permutation[i], j) * v[j];
    sum(pa, all);
    double off = 0, size = 0;
    for (long i = 0; i < n; i++) {
        off = fmax(off, fabs(lu[i] - pa[i]));
        size = fmax(size, fabs(v[i]));
    }
    bsp_pop_reg(all);
    bsp_sync();
    free(all), free(v), free(u), free(lu), free(pa);
    /* Elements are at most a half: |A| is about n / 4. */
    return off / (2.3e-16 * 0.25 * (double)n * size * (double)n);
}

int main(int argc, char **argv)
{
    const struct app_flag own_flags[] = {
        {"--n", APP_WHOLE, &n, 1, 16000, "N", "rows and columns (1200)"},
        {"--block", APP_WHOLE, &width, 1, 512, "N", "columns in a block (32)"},
        {NULL, APP_SWITCH, NULL, 0, 0, NULL, NULL},
    };
    read_options(&run, argc, argv, "LU decomposition with partial pivoting, with BSPlib: blocks of columns, broadcasts in two supersteps.",
                 own_flags);
    if (run.check)
        n = 300, width = 24;
    bsp_begin(bsp_nprocs());
    p = bsp_nprocs(), s = bsp_pid();
    long most = (blocks() + p - 1) / p * width;
    a = memory(n * most), panel = memory((n + 1) * width), permutation = memory(n);
    for (long i = 0; i < n; i++)
        permutation[i] = i;
    for (long own = s; own < blocks(); own += p)
        for (long c = 0; c < columns(own); c++)
            for (long i = 0; i < n; i++)
                own_block(own)[c * n + i] = element(i, own * width + c);
    bsp_push_reg(panel, (int)((n + 1) * width * 8));
    bsp_sync();
    double begin = bsp_time();
    for (long block = 0; block < blocks(); block++) {
        int owner = (int)(block % p);
        if (owner == s)
            decompose(block);
        broadcast(owner, (n - block * width + 1) * columns(block));
        update(block);
        progress(&run, "block", block + 1, blocks());
    }
    bsp_sync();
    double seconds = bsp_time() - begin, off = distance();
    if (s == 0) {
        printf("n = %ld, blocks of %ld columns, %d processes: %.3f s, %.2f GFLOP/s\n", n, width, p, seconds,
               2.0 / 3 * (double)n * (double)n * (double)n / seconds * 1e-9);
        printf("|LUv - PAv| / (eps |A| |v| n) = %.3g, below 1 expected\n", off);
    }
    int code = verdict(&run, off < 1);
    bsp_end();
    free(a), free(panel), free(permutation);
    return code;
}
