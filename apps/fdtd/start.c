/* Fields of a problem at its beginning. */
#include "fdtd.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double PULSE_DELAY = 5; /* widths before a pulse's middle: it begins with exp(-25) */
static const double RISE = 1.5;      /* periods in which an oscillating dipole gets its strength */

/* Limits of 500 million keep a rank's records countable in 32 bits. */
int fdtd_refuse(const struct app *app, const struct problem *p)
{
    double cells = 1 / (double)app->ranks, particles = pow((double)p->per_cell, 3);
    int64_t least = p->cells[0];
    for (int d = 0; d < 3; d++) {
        least = p->cells[d] < least ? p->cells[d] : least;
        cells *= (double)p->cells[d];
    }
    if (least < 2 * GHOSTS || cells * fmax(4, particles) > 500e6)
        return app_refuse(app, APP_USAGE, "%lld x %lld x %lld cells on %d ranks: at least %d are needed in every direction, and at most "
                          "%.0f million on a rank",
                          (long long)p->cells[0], (long long)p->cells[1], (long long)p->cells[2], app->ranks, 2 * GHOSTS,
                          500 / fmax(4, particles));
    if (p->kind == DIPOLE && 2 * p->layers >= least)
        return app_refuse(app, APP_USAGE, "absorbing layers of %lld cells on both sides leave nothing of %lld; take fewer --layers",
                          (long long)p->layers, (long long)least);
    if (p->kind == CAVITY && (p->mode[0] < 1 || p->mode[1] < 1))
        return app_refuse(app, APP_USAGE, "the mode %lld %lld %lld has no field: --mode-x and --mode-y must be 1 or more",
                          (long long)p->mode[0], (long long)p->mode[1], (long long)p->mode[2]);
    return 0;
}

int fdtd_split(struct fdtd *f, MPI_Comm comm, const struct problem *p)
{
    int n[3], plasma = p->kind == PLASMA, periodic[3] = {plasma, plasma, plasma};
    memset(f, 0, sizeof *f);
    f->p = *p;
    f->dt = p->courant;
    for (int d = 0; d < 3; d++)
        n[d] = (int)p->cells[d];
    if (!grid_split(&f->g, comm, n, periodic, GHOSTS, GHOSTS))
        return 0;
    for (int d = 0; d < 3; d++) {
        f->low[d] = f->g.neighbour[d][0] == MPI_PROC_NULL ? 0 : -1;
        f->high[d] = f->g.size[d] + plasma; /* particles look one cell further */
        f->e[d] = grid_field(&f->g);
        f->h[d] = grid_field(&f->g);
        f->j[d] = plasma ? grid_field(&f->g) : NULL;
    }
    layers_make(f);
    if (plasma)
        f->charge = -p->frequency * p->frequency / pow((double)p->per_cell, 3);
    return 1;
}

void fdtd_free(struct fdtd *f)
{
    for (int d = 0; d < 3; d++) {
        grid_field_free(&f->g, f->e[d]);
        grid_field_free(&f->g, f->h[d]);
        grid_field_free(&f->g, f->j[d]);
    }
    layers_free(f);
    free(f->conductor);
    free(f->particles);
    grid_free(&f->g);
}

static double wave_number(const struct problem *p, int d)
{
    return M_PI * (double)p->mode[d] / (double)p->cells[d];
}

double cavity_frequency(const struct problem *p)
{
    double kx = wave_number(p, 0), ky = wave_number(p, 1), kz = wave_number(p, 2);
    return sqrt(kx * kx + ky * ky + kz * kz);
}

/* The mode TM of a cavity, at one point: a component of E when it is largest, and of curl E. */
void cavity_mode(const struct fdtd *f, int c, const double at[3], double *e, double *curl)
{
    double k[3], sine[3], cosine[3];
    for (int d = 0; d < 3; d++) {
        k[d] = wave_number(&f->p, d);
        sine[d] = sin(k[d] * at[d]);
        cosine[d] = cos(k[d] * at[d]);
    }
    double across = k[0] * k[0] + k[1] * k[1];
    double a[3] = {-k[0] * k[2] / across, -k[1] * k[2] / across, 1};
    int u = (c + 1) % 3, v = (c + 2) % 3;
    *e = a[c] * cosine[c] * sine[u] * sine[v];
    *curl = (a[v] * k[u] - a[u] * k[v]) * sine[c] * cosine[u] * cosine[v];
}

/* E at time 0, H half a step before. */
static void fill_cavity(struct fdtd *f)
{
    double w = cavity_frequency(&f->p), part = sin(0.5 * w * f->dt) / w, unused;
    for (int c = 0; c < 3; c++)
        for (int i = f->low[0]; i < f->g.size[0]; i++)
            for (int j = f->low[1]; j < f->g.size[1]; j++)
                for (int k = f->low[2]; k < f->g.size[2]; k++) {
                    double corner[3] = {f->g.first[0] + i, f->g.first[1] + j, f->g.first[2] + k}, edge[3], face[3], curl;
                    for (int d = 0; d < 3; d++) {
                        edge[d] = corner[d] + (d == c ? 0.5 : 0);
                        face[d] = corner[d] + (d == c ? 0 : 0.5);
                    }
                    ptrdiff_t at = grid_at(&f->g, i, j, k);
                    if (i >= 0 && j >= 0 && k >= 0)
                        cavity_mode(f, c, edge, &f->e[c][at], &unused);
                    cavity_mode(f, c, face, &unused, &curl);
                    f->h[c][at] = part * curl;
                }
}

void fdtd_source(const struct problem *p, int cell[3])
{
    for (int d = 0; d < 3; d++)
        cell[d] = (int)p->cells[d] / 2;
    if (p->sphere > 0)
        cell[0] = (int)p->cells[0] / 4;
}

double dipole_moment(const struct problem *p, double t, int derivative)
{
    if (p->pulse > 0) {
        double s = t / p->pulse - PULSE_DELAY, g = exp(-s * s);
        const double value[3] = {g, -2 * s * g / p->pulse, (4 * s * s - 2) * g / (p->pulse * p->pulse)};
        return value[derivative];
    }
    double w = 2 * M_PI / p->wavelength, rise = RISE * p->wavelength, s = t / rise, g = exp(-s * s);
    double r = 1 - g, r1 = 2 * s * g / rise, r2 = (2 - 4 * s * s) * g / (rise * rise), sine = sin(w * t), cosine = cos(w * t);
    const double value[3] = {sine * r, w * cosine * r + sine * r1, (r2 - w * w * r) * sine + 2 * w * cosine * r1};
    return value[derivative];
}

/* Whether the middle of an edge lies in the sphere, which faces the dipole. */
static int in_sphere(const struct fdtd *f, int c, int i, int j, int k)
{
    const double at[3] = {i + f->g.first[0], j + f->g.first[1], k + f->g.first[2]};
    const double part[3] = {0.625, 0.5, 0.5};
    double square = 0;
    for (int d = 0; d < 3; d++) {
        double distance = at[d] + (d == c ? 0.5 : 0) - part[d] * (double)f->p.cells[d];
        square += distance * distance;
    }
    return square < f->p.sphere * f->p.sphere;
}

static void make_conductor(struct fdtd *f)
{
    const struct grid *g = &f->g;
    size_t room = 0;
    for (int c = 0; c < 3; c++)
        for (int i = 0; i < g->size[0]; i++)
            for (int j = 0; j < g->size[1]; j++)
                for (int k = 0; k < g->size[2]; k++) {
                    if (!in_sphere(f, c, i, j, k))
                        continue;
                    if (f->conductor_count == room) {
                        room = 2 * room + 1000;
                        f->conductor = app_more_memory(f->conductor, room, sizeof *f->conductor);
                    }
                    f->conductor[f->conductor_count++] =
                        (ptrdiff_t)((size_t)c * g->points + g->origin) + grid_at(g, i, j, k);
                }
}

void fdtd_start(struct fdtd *f)
{
    if (f->p.kind == CAVITY && f->step == 0)
        fill_cavity(f);
    if (f->p.kind == PLASMA && f->step == 0)
        particles_start(f);
    if (f->p.kind == DIPOLE && f->p.sphere > 0)
        make_conductor(f);
    f->all_particles = 0;
    MPI_Allreduce(&f->count, &f->all_particles, 1, MPI_INT64_T, MPI_SUM, f->g.comm);
    fdtd_exchange(f);
}
