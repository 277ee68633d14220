/* The preconditioner, additive Schwarz with Richardson's iteration: each block of cells, with `overlap` cells around it, takes the
 * residual there and makes some damped Jacobi sweeps with zeros outside; the answers are added. Blocks do not depend on
 * the ranks, so neither does the preconditioner; a block's numbers stay in the first cache through all sweeps. */
#include "aspcg.h"

#include <string.h>

/* One sweep over n x n cells. Outside the box the weight is 0 and the values stay 0. */
FOR_EACH_PROCESSOR
static void sweep(int n, double keep, const double *restrict r, const double *restrict weight, ptrdiff_t row,
                  const double *restrict now, double *restrict next, ptrdiff_t pitch)
{
    for (int y = 0; y < n; y++, r += row, weight += row, now += pitch, next += pitch) {
#pragma omp simd
        for (int x = 0; x < n; x++)
            next[x] = keep * now[x] + weight[x] * (r[x] + ((now[x - 1] + now[x + 1]) + (now[x - pitch] + now[x + pitch])));
    }
}

/* The sweep that begins with zeros. */
FOR_EACH_PROCESSOR
static void first_sweep(int n, const double *restrict r, const double *restrict weight, ptrdiff_t row, double *restrict next,
                        ptrdiff_t pitch)
{
    for (int y = 0; y < n; y++, r += row, weight += row, next += pitch) {
#pragma omp simd
        for (int x = 0; x < n; x++)
            next[x] = weight[x] * r[x];
    }
}

static void add(int n, const double *restrict from, ptrdiff_t pitch, double *restrict to, ptrdiff_t row)
{
    for (int y = 0; y < n; y++, from += pitch, to += row) {
#pragma omp simd
        for (int x = 0; x < n; x++)
            to[x] += from[x];
    }
}

static void solve_block(struct solver *s, int y, int x)
{
    const struct grid *g = s->g;
    ptrdiff_t corner = grid_at(g, 0, y - s->overlap, x - s->overlap), inside = s->pitch + GRID_LINE;
    double *now = s->now, *next = s->next, keep = 1 - s->relaxation;
    int n = s->block + 2 * s->overlap;
    first_sweep(n, s->r + corner, s->weight + corner, g->row, now + inside, s->pitch);
    for (int k = 1; k < s->sweeps; k++) {
        sweep(n, keep, s->r + corner, s->weight + corner, g->row, now + inside, next + inside, s->pitch);
        double *swap = now;
        now = next, next = swap;
    }
    add(n, now + inside, s->pitch, s->z + corner, g->row);
}

void schwarz_apply(struct solver *s)
{
    struct grid *g = s->g;
    if (s->overlap > 0)
        grid_exchange(g, &s->r, 1, s->overlap);
    memset(s->z - g->origin, 0, g->points * sizeof *s->z);
    for (int y = 0; y < g->size[Y]; y += s->block)
        for (int x = 0; x < g->size[X]; x += s->block)
            solve_block(s, y, x);
    if (s->overlap > 0)
        grid_add(g, &s->z, 1, s->overlap);
}
