/* Steps in time: Heun's method, two evaluations of all fluxes, which is of second order. */
#include "hydro.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Pressures that rounding made negative become this small. */
static const double LEAST_PRESSURE = 1e-12;

/* Primitive variables of a row; returns the largest sum over directions of (|velocity| + sound). */
FOR_EACH_PROCESSOR static double primitive_row(const struct hydro *h, ptrdiff_t at, int count, const double active[3])
{
    const double *restrict r = h->u[0] + at, *restrict mx = h->u[1] + at, *restrict my = h->u[2] + at, *restrict mz = h->u[3] + at;
    const double *restrict e = h->u[ENERGY] + at;
    double *restrict wr = h->w[0] + at, *restrict wx = h->w[1] + at, *restrict wy = h->w[2] + at, *restrict wz = h->w[3] + at;
    double *restrict wp = h->w[PRESSURE] + at;
    const double gamma = h->p.gamma, a0 = active[0], a1 = active[1], a2 = active[2];
    double fastest = 0;
#pragma omp simd reduction(max : fastest)
    for (int k = 0; k < count; k++) {
        double inverse = 1 / r[k], x = mx[k] * inverse, y = my[k] * inverse, z = mz[k] * inverse;
        double p = (gamma - 1) * (e[k] - 0.5 * r[k] * (x * x + y * y + z * z));
        p = p > LEAST_PRESSURE ? p : LEAST_PRESSURE;
        double sound = sqrt(gamma * p * inverse);
        double sum = a0 * (fabs(x) + sound) + a1 * (fabs(y) + sound) + a2 * (fabs(z) + sound);
        fastest = sum > fastest ? sum : fastest;
        wr[k] = r[k], wx[k] = x, wy[k] = y, wz[k] = z, wp[k] = p;
    }
    return fastest;
}

/* Ghosts are there in directions that take part. */
static double primitives(struct hydro *h)
{
    const struct grid *g = &h->g;
    int ghosts[3];
    double active[3], fastest = 0;
    for (int d = 0; d < 3; d++) {
        active[d] = is_active(&h->p, d);
        ghosts[d] = active[d] ? GHOSTS : 0;
    }
    for (int i = -ghosts[0]; i < g->size[0] + ghosts[0]; i++)
        for (int j = -ghosts[1]; j < g->size[1] + ghosts[1]; j++) {
            int corner = (i < 0 || i >= g->size[0]) && (j < 0 || j >= g->size[1]);
            int beside = i < 0 || i >= g->size[0] || j < 0 || j >= g->size[1], more = beside ? 0 : ghosts[2];
            if (!corner)
                fastest = fmax(fastest, primitive_row(h, grid_at(g, i, j, -more), g->size[2] + 2 * more, active));
        }
    return fastest;
}

/* u = a old + b (u + c (flux below - flux above)), where below and above are in x, y and z. */
FOR_EACH_PROCESSOR static void update(double *restrict u, const double *restrict old, double a, double b, double c,
                                      const double *const below[3], const double *const above[3], int count)
{
    const double *restrict x0 = below[0], *restrict y0 = below[1], *restrict z0 = below[2];
    const double *restrict x1 = above[0], *restrict y1 = above[1], *restrict z1 = above[2];
#pragma omp simd
    for (int k = 0; k < count; k++)
        u[k] = a * old[k] + b * (u[k] + c * ((x0[k] - x1[k]) + (y0[k] - y1[k]) + (z0[k] - z1[k])));
}

/* Rows of fluxes, VARIABLES of them: below and above a row of cells in x and y, and one in z, which is longer by one; and zeros. */
struct rows {
    double *below[3][VARIABLES], *above[3][VARIABLES];
};

/* The rows for row j of a plane. Those below in x are the ones above of the plane before. */
static void point(const struct hydro *h, struct rows *r, int i, int j)
{
    const struct grid *g = &h->g;
    size_t row = (size_t)g->row, plane = VARIABLES * row * (size_t)g->size[1];
    double *y = h->flux + 2 * plane, *z = y + 2 * VARIABLES * row, *zeros = z + VARIABLES * row;
    for (int v = 0; v < VARIABLES; v++) {
        size_t at = ((size_t)j * VARIABLES + (size_t)v) * row;
        r->below[0][v] = h->flux + (i % 2 ? plane : 0) + at;
        r->above[0][v] = h->flux + (i % 2 ? 0 : plane) + at;
        r->below[1][v] = y + (j % 2 ? VARIABLES * row : 0) + (size_t)v * row;
        r->above[1][v] = y + (j % 2 ? 0 : VARIABLES * row) + (size_t)v * row;
        r->below[2][v] = z + (size_t)v * row;
        r->above[2][v] = r->below[2][v] + 1;
        for (int d = 0; d < 3; d++)
            if (!is_active(&h->p, d))
                r->below[d][v] = r->above[d][v] = zeros;
    }
}

/* One evaluation of all fluxes: u = a old + b (u + dt L(u)). */
static void stage(struct hydro *h, double a, double b, double dt)
{
    const struct grid *g = &h->g;
    const ptrdiff_t distance[2] = {g->plane, g->row};
    struct rows r;
    for (int i = 0; i < g->size[0]; i++)
        for (int j = 0; j < g->size[1]; j++) {
            ptrdiff_t at = grid_at(g, i, j, 0);
            point(h, &r, i, j);
            for (int d = 0; d < 2; d++) {
                if (is_active(&h->p, d) && (d == 0 ? i : j) == 0)
                    flux_row(h, d, at, g->size[2], r.below[d]);
                if (is_active(&h->p, d))
                    flux_row(h, d, at + distance[d], g->size[2], r.above[d]);
            }
            if (is_active(&h->p, 2))
                flux_row(h, 2, at, g->size[2] + 1, r.below[2]);
            for (int v = 0; v < VARIABLES; v++) {
                const double *const below[3] = {r.below[0][v], r.below[1][v], r.below[2][v]};
                const double *const above[3] = {r.above[0][v], r.above[1][v], r.above[2][v]};
                update(h->u[v] + at, h->old[v] + at, a, b, dt / h->cell, below, above, g->size[2]);
            }
        }
}

void hydro_step(struct hydro *h, double end)
{
    double fastest = primitives(h), all;
    MPI_Allreduce(&fastest, &all, 1, MPI_DOUBLE, MPI_MAX, h->g.comm);
    double dt = h->p.cfl * h->cell / all;
    dt = h->time + dt > end ? end - h->time : dt;
    for (int v = 0; v < VARIABLES; v++)
        memcpy(h->old[v] - h->g.origin, h->u[v] - h->g.origin, h->g.points * sizeof *h->u[v]);
    stage(h, 0, 1, dt);
    hydro_exchange(h);
    primitives(h);
    stage(h, 0.5, 0.5, dt);
    hydro_exchange(h);
    h->time += dt;
    h->step++;
}

struct totals hydro_totals(const struct hydro *h)
{
    const struct grid *g = &h->g;
    double mine[3] = {0, 0, 0}, all[3], volume = h->cell * h->cell * h->cell, most = 0;
    struct totals t;
    for (int i = 0; i < g->size[0]; i++)
        for (int j = 0; j < g->size[1]; j++)
            for (int k = 0; k < g->size[2]; k++) {
                ptrdiff_t at = grid_at(g, i, j, k);
                double r = h->u[0][at], x = h->u[1][at], y = h->u[2][at], z = h->u[3][at];
                mine[0] += r;
                mine[1] += h->u[ENERGY][at];
                mine[2] += 0.5 * (x * x + y * y + z * z) / r;
                most = fmax(most, r);
            }
    MPI_Allreduce(mine, all, 3, MPI_DOUBLE, MPI_SUM, g->comm);
    MPI_Allreduce(&most, &t.most, 1, MPI_DOUBLE, MPI_MAX, g->comm);
    t.mass = all[0] * volume, t.energy = all[1] * volume, t.kinetic = all[2] * volume;
    return t;
}
