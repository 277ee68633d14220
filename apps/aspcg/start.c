/* Where the flow begins, and whether a problem can be computed. */
#include "aspcg.h"

#include <math.h>
#include <string.h>

static int is_periodic(const struct problem *p)
{
    return p->which != CAVITY;
}

int flow_refuse(const struct app *app, const struct problem *p)
{
    for (int d = 0; d < 2; d++)
        if (p->block < 1 || p->cells[d] < 4 || p->cells[d] > 100000 || p->cells[d] % p->block != 0)
            return app_refuse(app, APP_USAGE,
                              "%lld x %lld cells are no whole number of blocks of %lld cells in each direction; change --cells or --block",
                              (long long)p->cells[0], (long long)p->cells[1], (long long)p->block);
    if (p->overlap < 0 || p->overlap > MOST_OVERLAP || p->overlap > p->block)
        return app_refuse(app, APP_USAGE, "an overlap of %lld cells is more than a block of %lld, or than %d", (long long)p->overlap,
                          (long long)p->block, MOST_OVERLAP);
    if (p->which < 0 || p->which >= CASES || p->sweeps < 1 || p->sweeps > 1000 || !(p->relaxation > 0 && p->relaxation <= 1) ||
        !(p->tolerance > 0 && p->tolerance < 1) || !(p->reynolds > 0) || !(p->cfl > 0))
        return app_refuse(app, APP_FILE, "the problem in %s is not one that this program writes", app->restart);
    return 0;
}

int flow_refuse_ranks(const struct app *app, const struct problem *p, int ranks)
{
    return app_refuse(app, APP_USAGE,
                      "%lld x %lld blocks of cells cannot be split over %d ranks into parts of whole blocks; take more cells, a smaller "
                      "--block or fewer ranks",
                      (long long)(p->cells[0] / p->block), (long long)(p->cells[1] / p->block), ranks);
}

int flow_split(struct flow *f, MPI_Comm comm, const struct problem *p)
{
    int n[3] = {1, (int)p->cells[1], (int)p->cells[0]}, periodic[3] = {0, is_periodic(p), is_periodic(p)};
    memset(f, 0, sizeof *f);
    f->p = *p;
    if (!grid_split_blocks(&f->g, comm, n, periodic, p->overlap > 1 ? (int)p->overlap : 1, (int)p->block))
        return 0;
    f->cell = 1.0 / n[X];
    /* What moves with velocity 1 goes a quarter of a cell, as Adams and Bashforth bear little without friction; and they bear only so
     * much friction. */
    f->dt = p->cfl * fmin(f->cell / 4, f->cell * f->cell * p->reynolds / 8);
    for (int d = 0; d < 2; d++) {
        f->velocity[d] = grid_field(&f->g);
        f->change[d] = grid_field(&f->g);
        f->before[d] = grid_field(&f->g);
    }
    f->pressure = grid_field(&f->g);
    f->source = grid_field(&f->g);
    solver_make(&f->solver, &f->g, p);
    return 1;
}

double flow_initial(const struct flow *f, int d, double x, double y)
{
    const double pi = acos(-1), height = f->g.n[Y] * f->cell, kx = 2 * pi, ky = 2 * pi / height;
    switch (f->p.which) {
    case VORTICES: /* G. I. Taylor and A. E. Green, Proc. R. Soc. A 158, 1937, in a plane */
        return d == 0 ? sin(kx * x) * cos(ky * y) : -kx / ky * cos(kx * x) * sin(ky * y);
    case SHEAR: /* J. B. Bell, P. Colella, H. M. Glaz, J. Comp. Phys. 85, 1989 */
        return d == 0 ? tanh(30 * (y < height / 2 ? y - height / 4 : 0.75 * height - y)) : 0.05 * sin(kx * x);
    default:
        return 0;
    }
}

void flow_start(struct flow *f)
{
    const struct grid *g = &f->g;
    for (int y = 0; y < g->size[Y]; y++)
        for (int x = 0; x < g->size[X]; x++) {
            double east = (g->first[X] + x) * f->cell, north = (g->first[Y] + y) * f->cell, half = 0.5 * f->cell;
            f->velocity[0][grid_at(g, 0, y, x)] = flow_initial(f, 0, east, north + half);
            f->velocity[1][grid_at(g, 0, y, x)] = flow_initial(f, 1, east + half, north);
        }
    flow_exchange(f);
}

void flow_free(struct flow *f)
{
    double *const fields[8] = {f->velocity[0], f->velocity[1], f->change[0], f->change[1],
                               f->before[0],   f->before[1],   f->pressure,  f->source};
    solver_free(&f->solver);
    for (int k = 0; k < 8; k++)
        grid_field_free(&f->g, fields[k]);
    grid_free(&f->g);
}
