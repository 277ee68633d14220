/* Absorbing layers: Roden and Gedney's convolutional PML. Along its direction d a layer adds to every derivative
 * a memory of earlier ones, psi = b psi + c derivative, which damps waves without reflecting them. */
#include "fdtd.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The conductivity grows as the depth to the power 3 up to the value that reflects least (Gedney 1996); the shift of the
 * pole absorbs slow fields. */
static const double GRADING = 3, STRENGTH = 0.8, SHIFT = 0.05;

/* b and c at a depth from 0 to 1. */
static void coefficients(double depth, double dt, double *b, double *c)
{
    if (depth <= 0) {
        *b = *c = 0;
        return;
    }
    double sigma = STRENGTH * (GRADING + 1) * pow(depth, GRADING), alpha = SHIFT * (1 - depth);
    *b = exp(-(sigma + alpha) * dt);
    *c = sigma / (sigma + alpha) * (*b - 1);
}

/* Rows of coefficients, so that the inner loop is the same for all directions. */
static void fill_rows(const struct fdtd *f, struct layer *l, int above)
{
    int d = l->d, planes = l->high[d] - l->low[d], row = l->high[2] - l->low[2];
    double thick = (double)f->p.layers, n = f->g.n[d];
    l->length = row;
    for (int of_h = 0; of_h < 2; of_h++) {
        size_t numbers = (size_t)row * (d == 2 ? 1 : (size_t)planes);
        l->b[of_h] = app_memory(numbers, sizeof *l->b[0]);
        l->c[of_h] = app_memory(numbers, sizeof *l->c[0]);
        for (int m = 0; m < planes; m++) {
            double x = f->g.first[d] + l->low[d] + m + 0.5 * of_h, b, c;
            coefficients((above ? x - (n - thick) : thick - x) / thick, f->dt, &b, &c);
            for (int k = d == 2 ? m : m * row; k < (d == 2 ? m + 1 : (m + 1) * row); k++)
                l->b[of_h][k] = b, l->c[of_h][k] = c;
        }
    }
}

static size_t cells_of(const struct layer *l)
{
    return (size_t)(l->high[0] - l->low[0]) * (size_t)(l->high[1] - l->low[1]) * (size_t)(l->high[2] - l->low[2]);
}

static int larger(int a, int b)
{
    return a > b ? a : b;
}

static int smaller(int a, int b)
{
    return a < b ? a : b;
}

/* This rank's part of one layer, if it has any. */
static void make(struct fdtd *f, int d, int above)
{
    struct layer *l = &f->layers[f->layer_count];
    int thick = (int)f->p.layers, first = (above ? f->g.n[d] - thick : 0) - f->g.first[d];
    memset(l, 0, sizeof *l);
    l->d = d;
    memcpy(l->low, f->low, sizeof l->low);
    memcpy(l->high, f->high, sizeof l->high);
    l->low[d] = larger(l->low[d], first);
    l->high[d] = smaller(l->high[d], first + thick);
    if (l->low[d] >= l->high[d])
        return;
    for (int a = 0; a < 4; a++) {
        l->psi[a] = app_memory(cells_of(l), sizeof *l->psi[a]);
        memset(l->psi[a], 0, cells_of(l) * sizeof *l->psi[a]);
    }
    fill_rows(f, l, above);
    f->layer_count++;
}

void layers_make(struct fdtd *f)
{
    for (int s = 0; s < SIDES && f->p.layers > 0; s++)
        make(f, s / 2, s % 2);
}

void layers_free(struct fdtd *f)
{
    for (int s = 0; s < f->layer_count; s++) {
        for (int a = 0; a < 4; a++)
            free(f->layers[s].psi[a]);
        for (int of_h = 0; of_h < 2; of_h++) {
            free(f->layers[s].b[of_h]);
            free(f->layers[s].c[of_h]);
        }
    }
    f->layer_count = 0;
}

/* What the derivatives of two components mean for two others, in one row. */
FOR_EACH_PROCESSOR static void row(double *restrict plus, double *restrict minus, const double *restrict of_plus,
                                   const double *restrict of_minus, ptrdiff_t step, double *restrict psi_plus,
                                   double *restrict psi_minus, const double *restrict b, const double *restrict c,
                                   double strength, int count)
{
#pragma omp simd
    for (int k = 0; k < count; k++) {
        double p = b[k] * psi_plus[k] + c[k] * (of_plus[k + step] - of_plus[k]);
        double m = b[k] * psi_minus[k] + c[k] * (of_minus[k + step] - of_minus[k]);
        psi_plus[k] = p;
        psi_minus[k] = m;
        plus[k] += strength * p;
        minus[k] -= strength * m;
    }
}

/* The curl has along v the derivative of component u, and along u the negative one of component v. */
static void plane(struct fdtd *f, const struct layer *l, int i, double *const to[3], double *const from[3], int of_h)
{
    const struct grid *g = &f->g;
    int d = l->d, u = (d + 1) % 3, v = (d + 2) % 3, count = l->length;
    const ptrdiff_t distance[3] = {g->plane, g->row, 1};
    int j_low = larger(l->low[1], of_h ? l->low[1] : 0), j_high = of_h ? l->high[1] : smaller(l->high[1], g->size[1]);
    int k_low = of_h ? l->low[2] : larger(l->low[2], 0), k_high = of_h ? l->high[2] : smaller(l->high[2], g->size[2]);
    for (int j = j_low; j < j_high; j++) {
        size_t psi = ((size_t)(i - l->low[0]) * (size_t)(l->high[1] - l->low[1]) + (size_t)(j - l->low[1])) * (size_t)count +
                     (size_t)(k_low - l->low[2]);
        size_t k = (size_t)(k_low - l->low[2]) + (d == 2 ? 0 : (size_t)((d == 0 ? i : j) - l->low[d]) * (size_t)count);
        ptrdiff_t at = grid_at(g, i, j, k_low), source = at - (of_h ? 0 : distance[d]);
        row(to[v] + at, to[u] + at, from[u] + source, from[v] + source, distance[d], l->psi[2 * of_h] + psi,
            l->psi[2 * of_h + 1] + psi, l->b[of_h] + k, l->c[of_h] + k, of_h ? -f->dt : f->dt, k_high - k_low);
    }
}

void layers_h(struct fdtd *f, int i)
{
    for (int s = 0; s < f->layer_count; s++)
        if (i >= f->layers[s].low[0] && i < f->layers[s].high[0])
            plane(f, &f->layers[s], i, f->h, f->e, 1);
}

void layers_e(struct fdtd *f, int i)
{
    for (int s = 0; s < f->layer_count; s++)
        if (i >= f->layers[s].low[0] && i < f->layers[s].high[0] && i < f->g.size[0])
            plane(f, &f->layers[s], i, f->e, f->h, 0);
}

/* Copies psi into a field of the grid, or back. */
static void copy(const struct fdtd *f, const struct layer *l, double *psi, double *field, int back)
{
    for (int i = l->low[0]; i < l->high[0]; i++)
        for (int j = l->low[1]; j < l->high[1]; j++)
            for (int k = l->low[2]; k < l->high[2]; k++, psi++) {
                double *cell = &field[grid_at(&f->g, i, j, k)];
                *(back ? psi : cell) = *(back ? cell : psi);
            }
}

/* Both layers of a direction at once: an exchange has to be made by all ranks, whatever layers they have. */
void layers_exchange(struct fdtd *f)
{
    double *field = grid_field(&f->g);
    for (int d = 0; d < 3 && f->p.layers > 0; d++)
        for (int a = 2; a < 4; a++) {
            for (int back = 0; back < 2; back++) {
                for (int s = 0; s < f->layer_count; s++)
                    if (f->layers[s].d == d)
                        copy(f, &f->layers[s], f->layers[s].psi[a], field, back);
                if (!back)
                    grid_exchange(&f->g, &field, 1, 1);
            }
        }
    grid_field_free(&f->g, field);
}
