/* Triangular solutions with the distributed factor, by MPI. */
#include "cholesky.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The diagonal block's part: x becomes L^-1 x, or with `transposed` L^-t x. */
static void solve_diagonal(const struct block *b, int width, int transposed, double *x)
{
    for (int step = 0; step < width; step++) {
        int j = transposed ? width - 1 - step : step;
        const double *l = b->values + j * b->stride;
        for (int i = j + 1; transposed && i < width; i++)
            x[j] -= l[i] * x[i];
        x[j] /= l[j];
        for (int i = j + 1; !transposed && i < width; i++)
            x[i] -= l[i] * x[j];
    }
}

/* Adds this rank's part of L times x below the diagonal to sums of rows, or transposed of rows to a panel's sums. */
static void apply(const struct factor *f, int panel, int transposed, const double *x, double *sum)
{
    const struct structure *s = &f->s;
    int first = s->first[panel];
    for (int k = s->blocks_begin[panel] + 1; k < s->blocks_begin[panel + 1]; k++) {
        const struct block *b = &s->blocks[k];
        const int *rows = s->rows + s->rows_begin[panel] + b->first;
        if (b->owner != f->rank)
            continue;
        for (int j = 0; j < structure_width(s, panel); j++)
            for (int i = 0; i < b->count; i++) {
                double l = b->values[j * b->stride + i];
                if (transposed)
                    sum[first + j] += l * x[rows[i]];
                else
                    sum[rows[i]] += l * x[first + j];
            }
    }
}

/* A panel's unknowns: what all ranks have taken together comes off, then its owner solves and tells all. */
static void solve_panel(const struct factor *f, int panel, int transposed, double *x, double *sum)
{
    const struct structure *s = &f->s;
    const struct block *b = &s->blocks[s->blocks_begin[panel]];
    int first = s->first[panel], width = structure_width(s, panel);
    double all[MOST_WIDTH];
    MPI_Reduce(sum + first, all, width, MPI_DOUBLE, MPI_SUM, b->owner, f->comm);
    if (f->rank == b->owner) {
        for (int j = 0; j < width; j++)
            x[first + j] -= all[j];
        solve_diagonal(b, width, transposed, x + first);
    }
    MPI_Bcast(x + first, width, MPI_DOUBLE, b->owner, f->comm);
}

void factor_solve(const struct factor *f, double *x)
{
    const struct structure *s = &f->s;
    double *sum = app_memory((size_t)s->n, sizeof *sum);
    memset(sum, 0, (size_t)s->n * sizeof *sum);
    for (int p = 0; p < s->panels; p++) {
        solve_panel(f, p, 0, x, sum);
        apply(f, p, 0, x, sum);
    }
    memset(sum, 0, (size_t)s->n * sizeof *sum);
    for (int p = s->panels - 1; p >= 0; p--) {
        apply(f, p, 1, x, sum);
        solve_panel(f, p, 1, x, sum);
    }
    free(sum);
}

void matrix_times(const struct matrix *a, const double *x, double *b)
{
    for (int i = 0; i < a->n; i++) {
        b[i] = 0;
        for (int64_t k = a->begin[i]; k < a->begin[i + 1]; k++)
            b[i] += a->value[k] * x[a->column[k]];
    }
}

static double largest(const double *x, int n)
{
    double most = 0;
    for (int i = 0; i < n; i++)
        most = !(fabs(x[i]) <= most) ? fabs(x[i]) : most;
    return most;
}

/* |Ax - b| / (|A| |x| + |b|) in the norm of the largest. */
double residual(const struct matrix *a, const double *x, const double *b)
{
    double *r = app_memory((size_t)a->n, sizeof *r), norm = 0;
    matrix_times(a, x, r);
    for (int i = 0; i < a->n; i++) {
        double row = 0;
        for (int64_t k = a->begin[i]; k < a->begin[i + 1]; k++)
            row += fabs(a->value[k]);
        norm = row > norm ? row : norm;
        r[i] -= b[i];
    }
    double worst = largest(r, a->n) / (norm * largest(x, a->n) + largest(b, a->n));
    free(r);
    return worst;
}
