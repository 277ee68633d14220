/* Preconditioned conjugate gradients (M. R. Hestenes and E. Stiefel, J. Res. Nat. Bur. Stand. 49, 1952). The operator does not see a
 * constant; neither do the residual and the search directions' products, so nothing need be done about it. */
#include "aspcg.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ITERATIONS = 20000 }; /* far more than any box that fits a memory needs */

void solver_make(struct solver *s, struct grid *g, const struct problem *p)
{
    s->g = g;
    s->block = (int)p->block, s->overlap = (int)p->overlap, s->sweeps = (int)p->sweeps;
    s->relaxation = p->relaxation, s->tolerance = p->tolerance;
    s->iterations = 0, s->seconds = 0;
    double **const fields[6] = {&s->diagonal, &s->weight, &s->r, &s->z, &s->p, &s->q};
    for (int f = 0; f < 6; f++)
        *fields[f] = grid_field(g);
    for (int y = 0; y < g->size[Y]; y++)
        for (int x = 0; x < g->size[X]; x++) {
            int at[3] = {0, g->first[Y] + y, g->first[X] + x}, neighbours = 4;
            for (int d = Y; d <= X; d++)
                neighbours -= g->periodic[d] ? 0 : (at[d] == 0) + (at[d] == g->n[d] - 1);
            s->diagonal[grid_at(g, 0, y, x)] = neighbours;
            s->weight[grid_at(g, 0, y, x)] = s->relaxation / neighbours;
        }
    if (s->overlap > 0)
        grid_exchange(g, &s->weight, 1, s->overlap);
    int n = s->block + 2 * s->overlap;
    s->pitch = (GRID_LINE + n + 1 + GRID_LINE - 1) / GRID_LINE * GRID_LINE;
    size_t points = (size_t)(n + 2) * (size_t)s->pitch;
    s->now = app_memory(2 * points, sizeof *s->now);
    s->next = s->now + points;
    memset(s->now, 0, 2 * points * sizeof *s->now);
}

void solver_free(struct solver *s)
{
    double *const fields[6] = {s->diagonal, s->weight, s->r, s->z, s->p, s->q};
    for (int f = 0; f < 6; f++)
        grid_field_free(s->g, fields[f]);
    free(s->now);
}

/* q = A v for a row; returns v q. */
FOR_EACH_PROCESSOR
static double operator_row(int n, const double *restrict diagonal, const double *restrict v, ptrdiff_t row, double *restrict q)
{
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int x = 0; x < n; x++) {
        q[x] = diagonal[x] * v[x] - ((v[x - 1] + v[x + 1]) + (v[x - row] + v[x + row]));
        sum += v[x] * q[x];
    }
    return sum;
}

/* x += a p, r -= a q for a row; returns r r. */
FOR_EACH_PROCESSOR
static double advance_row(int n, double a, const double *restrict p, const double *restrict q, double *restrict x, double *restrict r)
{
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int k = 0; k < n; k++) {
        x[k] += a * p[k];
        r[k] -= a * q[k];
        sum += r[k] * r[k];
    }
    return sum;
}

FOR_EACH_PROCESSOR
static double dot_row(int n, const double *restrict a, const double *restrict b)
{
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int k = 0; k < n; k++)
        sum += a[k] * b[k];
    return sum;
}

static double sum_of_all(const struct grid *g, double mine)
{
    double all;
    MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, g->comm);
    return all;
}

static double dot(const struct grid *g, const double *a, const double *b)
{
    double sum = 0;
    for (int y = 0; y < g->size[Y]; y++)
        sum += dot_row(g->size[X], a + grid_at(g, 0, y, 0), b + grid_at(g, 0, y, 0));
    return sum_of_all(g, sum);
}

/* q = A v; returns v q. */
static double apply(struct solver *s, double *v)
{
    struct grid *g = s->g;
    double sum = 0;
    grid_exchange(g, &v, 1, 1);
    for (int y = 0; y < g->size[Y]; y++) {
        ptrdiff_t at = grid_at(g, 0, y, 0);
        sum += operator_row(g->size[X], s->diagonal + at, v + at, g->row, s->q + at);
    }
    return sum_of_all(g, sum);
}

/* Returns the square of the new residual's norm. */
static double advance(struct solver *s, double a, double *x)
{
    const struct grid *g = s->g;
    double sum = 0;
    for (int y = 0; y < g->size[Y]; y++) {
        ptrdiff_t at = grid_at(g, 0, y, 0);
        sum += advance_row(g->size[X], a, s->p + at, s->q + at, x + at, s->r + at);
    }
    return sum_of_all(g, sum);
}

static double begin(struct solver *s, const double *b, double *x)
{
    const struct grid *g = s->g;
    apply(s, x);
    for (int y = 0; y < g->size[Y]; y++)
        for (int k = 0; k < g->size[X]; k++) {
            ptrdiff_t at = grid_at(g, 0, y, k);
            s->r[at] = b[at] - s->q[at];
            s->p[at] = 0;
        }
    return dot(g, s->r, s->r);
}

static int iterate(struct solver *s, const double *b, double *x, double *history, int room)
{
    const struct grid *g = s->g;
    double b2 = dot(g, b, b), r2 = begin(s, b, x), target = s->tolerance * s->tolerance * b2, rz = 1;
    for (int k = 0;; k++) {
        if (history && k < room)
            history[k] = sqrt(r2 / b2);
        if (r2 <= target)
            return k;
        if (k == MOST_ITERATIONS || !isfinite(r2))
            return -1;
        schwarz_apply(s);
        double old = rz;
        rz = dot(g, s->r, s->z);
        double onward = k == 0 ? 0 : rz / old;
        for (int y = 0; y < g->size[Y]; y++)
            for (int c = 0; c < g->size[X]; c++) {
                ptrdiff_t at = grid_at(g, 0, y, c);
                s->p[at] = s->z[at] + onward * s->p[at];
            }
        r2 = advance(s, rz / apply(s, s->p), x);
    }
}

int solver_solve(struct solver *s, const double *b, double *x, double *history, int room)
{
    double start = MPI_Wtime();
    int iterations = iterate(s, b, x, history, room);
    s->iterations += iterations > 0 ? iterations : 0;
    s->seconds += MPI_Wtime() - start;
    return iterations;
}
