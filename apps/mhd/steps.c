/* Steps in time: Heun's method, two evaluations of all fluxes, which is of second order. */
#include "mhd.h"

#include <math.h>
#include <string.h>

/* Pressures that rounding or a strong field made negative become this small. */
static const double LEAST_PRESSURE = 1e-12;

/* Primitive variables and electric fields of a row; returns the largest sum over directions of |velocity| + fast speed. */
FOR_EACH_PROCESSOR static double primitive_row(const struct mhd *m, ptrdiff_t at, int count)
{
    const double *r = m->u[0] + at, *mx = m->u[1] + at, *my = m->u[2] + at, *mz = m->u[3] + at, *e = m->u[ENERGY] + at;
    const double *fx = m->u[FIELD] + at, *fy = m->u[FIELD + 1] + at, *fz = m->u[FIELD + 2] + at;
    double *wr = m->w[0] + at, *wx = m->w[1] + at, *wy = m->w[2] + at, *wz = m->w[3] + at, *wp = m->w[PRESSURE] + at;
    double *bx = m->w[FIELD] + at, *by = m->w[FIELD + 1] + at, *bz = m->w[FIELD + 2] + at;
    double *ex = m->cell_e[0] + at, *ey = m->cell_e[1] + at, *ez = m->cell_e[2] + at;
    const ptrdiff_t up0 = m->up[0], up1 = m->up[1], up2 = m->up[2];
    const double gamma = m->p.gamma, a0 = m->reach[0], a1 = m->reach[1], a2 = m->reach[2];
    double fastest = 0;
#pragma omp simd reduction(max : fastest)
    for (int k = 0; k < count; k++) {
        double inverse = 1 / r[k], x = mx[k] * inverse, y = my[k] * inverse, z = mz[k] * inverse;
        double cx = 0.5 * (fx[k] + fx[k + up0]), cy = 0.5 * (fy[k] + fy[k + up1]), cz = 0.5 * (fz[k] + fz[k + up2]);
        double field2 = cx * cx + cy * cy + cz * cz;
        double p = (gamma - 1) * (e[k] - 0.5 * r[k] * (x * x + y * y + z * z) - 0.5 * field2);
        p = p > LEAST_PRESSURE ? p : LEAST_PRESSURE;
        double sound = gamma * p, all = sound + field2, all2 = all * all, half = 0.5 * inverse;
        double vx = sqrt(half * (all + sqrt(fabs(all2 - 4 * sound * cx * cx)))), vy = sqrt(half * (all + sqrt(fabs(all2 - 4 * sound * cy * cy))));
        double vz = sqrt(half * (all + sqrt(fabs(all2 - 4 * sound * cz * cz))));
        double sum = a0 * (fabs(x) + vx) + a1 * (fabs(y) + vy) + a2 * (fabs(z) + vz);
        fastest = sum > fastest ? sum : fastest;
        wr[k] = r[k], wx[k] = x, wy[k] = y, wz[k] = z, wp[k] = p;
        bx[k] = cx, by[k] = cy, bz[k] = cz;
        ex[k] = cy * z - cz * y, ey[k] = cz * x - cx * z, ez[k] = cx * y - cy * x;
    }
    return fastest;
}

/* Two layers of ghosts, too: slopes at the first faces need them. */
double mhd_primitives(struct mhd *m)
{
    const struct grid *g = &m->g;
    int l0 = 2 * m->reach[0], l1 = 2 * m->reach[1], l2 = 2 * m->reach[2];
    double fastest = 0;
    for (int i = -l0; i < g->size[0] + l0; i++)
        for (int j = -l1; j < g->size[1] + l1; j++)
            fastest = fmax(fastest, primitive_row(m, grid_at(g, i, j, -l2), g->size[2] + 2 * l2));
    return fastest;
}

/* Through all faces across d that cells, or edges of cells, of this rank have. */
static void fluxes(struct mhd *m, int d)
{
    struct region r;
    for (int e = 0; e < 3; e++) {
        r.low[e] = e == d ? 0 : -m->reach[e];
        r.high[e] = m->g.size[e] + m->reach[e];
    }
    for (int i = r.low[0]; i < r.high[0]; i++)
        for (int j = r.low[1]; j < r.high[1]; j++)
            flux_row(m, d, grid_at(&m->g, i, j, r.low[2]), r.high[2] - r.low[2]);
}

FOR_EACH_PROCESSOR static void update(double *u, const double *old, const double *flux, ptrdiff_t up, double a, double b, double ratio, int count)
{
#pragma omp simd
    for (int k = 0; k < count; k++)
        u[k] = a * old[k] + b * u[k] - ratio * (flux[k + up] - flux[k]);
}

/* What the fluxes across d change in cells: u = a old + b u - b dt (what goes out - what comes in). */
static void gas(struct mhd *m, int d, double a, double b, double ratio)
{
    const struct grid *g = &m->g;
    for (int i = 0; i < g->size[0]; i++)
        for (int j = 0; j < g->size[1]; j++)
            for (int v = 0; v < GAS; v++) {
                ptrdiff_t at = grid_at(g, i, j, 0);
                const double *flux = v == DENSITY ? m->mass[d] : m->flux[v];
                update(m->u[v] + at, m->old[v] + at, flux + at, m->up[d], a, b, ratio, g->size[2]);
            }
}

/* One evaluation of all fluxes: u = a old + b (u + dt L(u)), L(u) that of the primitive variables. */
static void stage(struct mhd *m, double a, double b, double dt)
{
    int is_first = 1;
    for (int d = 0; d < 3; d++) {
        fluxes(m, d);
        if (!is_active(&m->p, d))
            continue;
        gas(m, d, is_first ? a : 0, is_first ? b : 1, b * dt / m->cell);
        is_first = 0;
    }
    electric_edges(m);
    electric_turn(m, a, b, dt);
    mhd_exchange(m);
}

void mhd_step(struct mhd *m, double end)
{
    double fastest = mhd_primitives(m), all;
    MPI_Allreduce(&fastest, &all, 1, MPI_DOUBLE, MPI_MAX, m->g.comm);
    double dt = m->p.cfl * m->cell / all;
    dt = m->time + dt > end ? end - m->time : dt;
    for (int v = 0; v < VARIABLES; v++)
        memcpy(m->old[v] - m->g.origin, m->u[v] - m->g.origin, m->g.points * sizeof *m->u[v]);
    stage(m, 0, 1, dt);
    mhd_primitives(m);
    stage(m, 0.5, 0.5, dt);
    m->time += dt;
    m->step++;
}

struct totals mhd_totals(const struct mhd *m)
{
    const struct grid *g = &m->g;
    double mine[3] = {0, 0, 0}, all[3], peaks[2] = {0, 0}, highest[2], volume = m->cell * m->cell * m->cell;
    for (int i = 0; i < g->size[0]; i++)
        for (int j = 0; j < g->size[1]; j++)
            for (int k = 0; k < g->size[2]; k++) {
                ptrdiff_t at = grid_at(g, i, j, k);
                double out = 0, field2 = 0;
                for (int d = 0; d < 3; d++) {
                    double low = m->u[FIELD + d][at], high = m->u[FIELD + d][at + m->up[d]];
                    out += high - low;
                    field2 += 0.25 * (low + high) * (low + high);
                    peaks[1] = fmax(peaks[1], fabs(low));
                }
                mine[0] += m->u[DENSITY][at];
                mine[1] += m->u[ENERGY][at];
                mine[2] += 0.5 * field2;
                peaks[0] = fmax(peaks[0], fabs(out));
            }
    MPI_Allreduce(mine, all, 3, MPI_DOUBLE, MPI_SUM, g->comm);
    MPI_Allreduce(peaks, highest, 2, MPI_DOUBLE, MPI_MAX, g->comm);
    return (struct totals){all[0] * volume, all[1] * volume, all[2] * volume, highest[1] > 0 ? highest[0] / highest[1] : 0};
}
