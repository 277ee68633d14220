/* The fields' steps. One sweep over the planes does both: E of a plane is computed as soon as H of this plane and of the
 * one below are, when all of it is still in the cache. Ghosts of H are computed, not sent: only E is exchanged. */
#include "fdtd.h"

#include <string.h>

/* H of the plane i by `c` (time step over cell): H -= c curl E. */
FOR_EACH_PROCESSOR static void h_plane(const struct fdtd *f, int i, double c)
{
    const ptrdiff_t up = f->g.row, on = f->g.plane;
    const int count = f->high[2] - f->low[2];
    for (int j = f->low[1]; j < f->high[1]; j++) {
        const ptrdiff_t at = grid_at(&f->g, i, j, f->low[2]);
        const double *restrict ex = f->e[0] + at, *restrict ey = f->e[1] + at, *restrict ez = f->e[2] + at;
        double *restrict hx = f->h[0] + at, *restrict hy = f->h[1] + at, *restrict hz = f->h[2] + at;
#pragma omp simd
        for (int k = 0; k < count; k++) {
            hx[k] -= c * ((ez[k + up] - ez[k]) - (ey[k + 1] - ey[k]));
            hy[k] -= c * ((ex[k + 1] - ex[k]) - (ez[k + on] - ez[k]));
            hz[k] -= c * ((ey[k + on] - ey[k]) - (ex[k + up] - ex[k]));
        }
    }
}

/* E of the own cells of plane i: E += c curl H. */
FOR_EACH_PROCESSOR static void e_plane(const struct fdtd *f, int i, double c)
{
    const ptrdiff_t up = f->g.row, on = f->g.plane;
    const int count = f->g.size[2];
    for (int j = 0; j < f->g.size[1]; j++) {
        const ptrdiff_t at = grid_at(&f->g, i, j, 0);
        const double *restrict hx = f->h[0] + at, *restrict hy = f->h[1] + at, *restrict hz = f->h[2] + at;
        double *restrict ex = f->e[0] + at, *restrict ey = f->e[1] + at, *restrict ez = f->e[2] + at;
#pragma omp simd
        for (int k = 0; k < count; k++) {
            ex[k] += c * ((hz[k] - hz[k - up]) - (hy[k] - hy[k - 1]));
            ey[k] += c * ((hx[k] - hx[k - 1]) - (hz[k] - hz[k - on]));
            ez[k] += c * ((hy[k] - hy[k - on]) - (hx[k] - hx[k - up]));
        }
    }
}

/* Whether the box ends in a wall below this rank's part. The wall above lies in ghosts that nobody changes. */
static int wall_below(const struct fdtd *f, int d)
{
    return f->g.neighbour[d][0] == MPI_PROC_NULL;
}

/* No field along conducting walls. */
static void walls(struct fdtd *f, int i)
{
    const struct grid *g = &f->g;
    size_t row = (size_t)g->size[2] * sizeof(double);
    for (int j = 0; j < g->size[1]; j++) {
        ptrdiff_t at = grid_at(g, i, j, 0);
        if (wall_below(f, 2))
            f->e[0][at] = f->e[1][at] = 0;
        if (wall_below(f, 0) && i == 0) {
            memset(f->e[1] + at, 0, row);
            memset(f->e[2] + at, 0, row);
        }
        if (wall_below(f, 1) && j == 0) {
            memset(f->e[0] + at, 0, row);
            memset(f->e[2] + at, 0, row);
        }
    }
}

/* What a current along the dipole's edge does to E. */
static void add_source(struct fdtd *f)
{
    int cell[3], inside = 1;
    fdtd_source(&f->p, cell);
    for (int d = 0; d < 3; d++) {
        cell[d] -= f->g.first[d];
        inside = inside && cell[d] >= 0 && cell[d] < f->g.size[d];
    }
    if (inside)
        f->e[2][grid_at(&f->g, cell[0], cell[1], cell[2])] -=
            f->dt * dipole_moment(&f->p, ((double)f->step + 0.5) * f->dt, 1);
}

static void vacuum_step(struct fdtd *f)
{
    for (int i = f->low[0]; i < f->high[0]; i++) {
        h_plane(f, i, f->dt);
        layers_h(f, i);
        if (i < 0)
            continue;
        e_plane(f, i, f->dt);
        layers_e(f, i);
        walls(f, i);
    }
    if (f->p.kind == DIPOLE)
        add_source(f);
    for (size_t k = 0; k < f->conductor_count; k++) {
        size_t edge = (size_t)f->conductor[k];
        f->e[edge / f->g.points][(ptrdiff_t)(edge % f->g.points) - (ptrdiff_t)f->g.origin] = 0;
    }
}

/* H goes half a step before and half a step after the particles, which need E and H of the same time. */
static void plasma_step(struct fdtd *f)
{
    for (int i = f->low[0]; i < f->high[0]; i++)
        h_plane(f, i, 0.5 * f->dt);
    double start = MPI_Wtime();
    particles_push(f);
    f->particle_seconds += MPI_Wtime() - start;
    for (int i = f->low[0]; i < f->high[0]; i++)
        h_plane(f, i, 0.5 * f->dt);
    for (int i = 0; i < f->g.size[0]; i++) {
        e_plane(f, i, f->dt);
        for (int c = 0; c < 3; c++)
            for (int j = 0; j < f->g.size[1]; j++)
                for (int k = 0; k < f->g.size[2]; k++)
                    f->e[c][grid_at(&f->g, i, j, k)] -= f->dt * f->j[c][grid_at(&f->g, i, j, k)];
    }
}

void fdtd_exchange(struct fdtd *f)
{
    double start = MPI_Wtime();
    grid_exchange(&f->g, f->e, 3, f->p.kind == PLASMA ? GHOSTS : 1);
    f->exchange_seconds += MPI_Wtime() - start;
}

void fdtd_step(struct fdtd *f)
{
    if (f->p.kind == PLASMA)
        plasma_step(f);
    else
        vacuum_step(f);
    f->step++;
    fdtd_exchange(f);
    if (f->p.kind == PLASMA)
        particles_settle(f);
}

static double squares(const struct grid *g, double *const fields[3])
{
    double sum = 0;
    for (int c = 0; c < 3; c++)
        for (int i = 0; i < g->size[0]; i++)
            for (int j = 0; j < g->size[1]; j++)
                for (int k = 0; k < g->size[2]; k++)
                    sum += fields[c][grid_at(g, i, j, k)] * fields[c][grid_at(g, i, j, k)];
    return sum;
}

struct energies fdtd_energies(const struct fdtd *f)
{
    double mine[3] = {0.5 * squares(&f->g, f->e), 0.5 * squares(&f->g, f->h), 0}, all[3];
    for (int64_t n = 0; n < f->count; n++) {
        const double *u = f->particles[n].u;
        double u2 = u[0] * u[0] + u[1] * u[1] + u[2] * u[2];
        mine[2] += -f->charge * u2 / (1 + __builtin_sqrt(1 + u2));
    }
    MPI_Allreduce(mine, all, 3, MPI_DOUBLE, MPI_SUM, f->g.comm);
    return (struct energies){all[0], all[1], all[2]};
}
