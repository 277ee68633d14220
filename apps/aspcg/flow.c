/* Navier and Stokes on a staggered grid (F. H. Harlow and J. E. Welch, Phys. Fluids 8, 1965): velocities lie on the faces, lower face of a
 * cell with the cell, the pressure in its middle. Adams and Bashforth's second order, then the pressure that takes
 * the divergence away. */
#include "aspcg.h"

#include <math.h>

/* Ghosts beside a wall that make the velocity along it `wall` on the wall. */
static void fill(struct flow *f, int d, int above, double *along, double wall)
{
    const struct grid *g = &f->g;
    int e = X + Y - d, low = above ? g->size[d] : -1, at[3] = {0, 0, 0}, from[3] = {0, 0, 0};
    if (g->neighbour[d][above] != MPI_PROC_NULL)
        return;
    at[d] = low, from[d] = above ? low - 1 : 0;
    for (int k = 0; k < g->size[e] + 1; k++) {
        at[e] = from[e] = k;
        along[grid_at(g, 0, at[Y], at[X])] = 2 * wall - along[grid_at(g, 0, from[Y], from[X])];
    }
}

void flow_exchange(struct flow *f)
{
    grid_exchange(&f->g, f->velocity, 2, 1);
    for (int above = 0; above < 2; above++) {
        fill(f, Y, above, f->velocity[0], above ? 1 : 0); /* the lid moves with velocity 1 */
        fill(f, X, above, f->velocity[1], 0);
    }
}

/* What changes u in a row: -d(uu)/dx - d(uv)/dy + friction. `drag` is the viscosity over the cell. */
FOR_EACH_PROCESSOR
static void change_u(int from, int n, double cell, double drag, const double *restrict u, const double *restrict v, ptrdiff_t row,
                     double *restrict out)
{
    double inverse = 1 / cell;
#pragma omp simd
    for (int x = from; x < n; x++) {
        double east = u[x] + u[x + 1], west = u[x - 1] + u[x];
        double north = (u[x] + u[x + row]) * (v[x - 1 + row] + v[x + row]), south = (u[x - row] + u[x]) * (v[x - 1] + v[x]);
        double friction = (u[x - 1] + u[x + 1]) + (u[x - row] + u[x + row]) - 4 * u[x];
        out[x] = inverse * (drag * friction - 0.25 * ((east * east - west * west) + (north - south)));
    }
}

FOR_EACH_PROCESSOR
static void change_v(int n, double cell, double drag, const double *restrict u, const double *restrict v, ptrdiff_t row,
                     double *restrict out)
{
    double inverse = 1 / cell;
#pragma omp simd
    for (int x = 0; x < n; x++) {
        double north = v[x] + v[x + row], south = v[x - row] + v[x];
        double east = (u[x + 1 - row] + u[x + 1]) * (v[x] + v[x + 1]), west = (u[x - row] + u[x]) * (v[x - 1] + v[x]);
        double friction = (v[x - 1] + v[x + 1]) + (v[x - row] + v[x + row]) - 4 * v[x];
        out[x] = inverse * (drag * friction - 0.25 * ((north * north - south * south) + (east - west)));
    }
}

/* The first row or column that moves: faces in the wall do not. */
static int first_face(const struct grid *g, int d)
{
    return g->neighbour[d][0] == MPI_PROC_NULL;
}

static void find_change(struct flow *f)
{
    const struct grid *g = &f->g;
    double drag = 1 / (f->p.reynolds * f->cell);
    for (int y = 0; y < g->size[Y]; y++) {
        ptrdiff_t at = grid_at(g, 0, y, 0);
        const double *u = f->velocity[0] + at, *v = f->velocity[1] + at;
        change_u(first_face(g, X), g->size[X], f->cell, drag, u, v, g->row, f->change[0] + at);
        if (y >= first_face(g, Y))
            change_v(g->size[X], f->cell, drag, u, v, g->row, f->change[1] + at);
    }
}

/* Velocities without pressure; what changed them becomes what did before. */
static void accelerate(struct flow *f)
{
    const struct grid *g = &f->g;
    double now = f->step == 0 ? 1 : 1.5, before = 1 - now;
    for (int d = 0; d < 2; d++) {
        for (int y = 0; y < g->size[Y]; y++)
            for (int x = 0; x < g->size[X]; x++) {
                ptrdiff_t at = grid_at(g, 0, y, x);
                f->velocity[d][at] += f->dt * (now * f->change[d][at] + before * f->before[d][at]);
            }
        double *swap = f->before[d];
        f->before[d] = f->change[d], f->change[d] = swap;
    }
}

/* What flows out of a cell, over its side. */
static double outflow(const struct flow *f, ptrdiff_t at)
{
    return f->velocity[0][at + 1] - f->velocity[0][at] + f->velocity[1][at + f->g.row] - f->velocity[1][at];
}

static int project(struct flow *f)
{
    struct grid *g = &f->g;
    grid_exchange(g, f->velocity, 2, 1);
    for (int y = 0; y < g->size[Y]; y++)
        for (int x = 0; x < g->size[X]; x++)
            f->source[grid_at(g, 0, y, x)] = -f->cell / f->dt * outflow(f, grid_at(g, 0, y, x));
    f->iterations = solver_solve(&f->solver, f->source, f->pressure, NULL, 0);
    if (f->iterations < 0)
        return 0;
    grid_exchange(g, &f->pressure, 1, 1);
    for (int d = 0; d < 2; d++) {
        ptrdiff_t below = d == 0 ? 1 : g->row;
        for (int y = d == 1 ? first_face(g, Y) : 0; y < g->size[Y]; y++)
            for (int x = d == 0 ? first_face(g, X) : 0; x < g->size[X]; x++) {
                ptrdiff_t at = grid_at(g, 0, y, x);
                f->velocity[d][at] -= f->dt / f->cell * (f->pressure[at] - f->pressure[at - below]);
            }
    }
    return 1;
}

int flow_step(struct flow *f)
{
    find_change(f);
    accelerate(f);
    if (!project(f))
        return 0;
    flow_exchange(f);
    f->step++;
    f->time = (double)f->step * f->dt;
    return 1;
}

struct totals flow_totals(struct flow *f)
{
    const struct grid *g = &f->g;
    double kinetic = 0, divergence = 0;
    struct totals t;
    for (int y = 0; y < g->size[Y]; y++)
        for (int x = 0; x < g->size[X]; x++) {
            ptrdiff_t at = grid_at(g, 0, y, x);
            kinetic += f->velocity[0][at] * f->velocity[0][at] + f->velocity[1][at] * f->velocity[1][at];
            divergence = fmax(divergence, fabs(outflow(f, at)) / f->cell);
        }
    kinetic *= 0.5 * f->cell * f->cell;
    MPI_Allreduce(&kinetic, &t.kinetic, 1, MPI_DOUBLE, MPI_SUM, g->comm);
    MPI_Allreduce(&divergence, &t.divergence, 1, MPI_DOUBLE, MPI_MAX, g->comm);
    return t;
}
