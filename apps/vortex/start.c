/* Rings of particles, and who has which. */
#include "vortex.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 1000000 }; /* particles: a step with them takes hours already */

/* Layers of a core have 1, 6, 12, 18, ... particles. */
static int64_t in_section(const struct problem *p)
{
    return 1 + 3 * p->layers * (p->layers + 1);
}

int64_t vortex_particles(const struct problem *p)
{
    return p->rings * p->around * in_section(p);
}

int vortex_refuse(const struct app *app, const struct problem *p)
{
    int64_t all = vortex_particles(p);
    if (p->rings < 1 || p->rings > 2 || p->around < 3 || p->layers < 0 || all > MOST || all < app->ranks)
        return app_refuse(app, APP_USAGE, "%lld particles on %d ranks: there can be %d, and each rank needs one", (long long)all,
                          app->ranks, MOST);
    return 0;
}

void vortex_share(struct vortex *v, MPI_Comm comm, const struct problem *p)
{
    memset(v, 0, sizeof *v);
    v->p = *p;
    v->comm = comm;
    MPI_Comm_rank(comm, &v->rank);
    MPI_Comm_size(comm, &v->ranks);
    v->all = vortex_particles(p);
    v->counts = app_memory(2 * (size_t)v->ranks, sizeof *v->counts);
    v->begins = v->counts + v->ranks;
    for (int64_t r = 0; r < v->ranks; r++) {
        int64_t first = v->all * r / v->ranks, behind = v->all * (r + 1) / v->ranks;
        v->begins[r] = (int)(NUMBERS * first);
        v->counts[r] = (int)(NUMBERS * (behind - first));
    }
    v->first = v->begins[v->rank] / NUMBERS;
    v->count = v->counts[v->rank] / NUMBERS;
    size_t own = NUMBERS * (size_t)v->count;
    v->now = app_memory(own, sizeof *v->now);
    v->trial = app_memory(own, sizeof *v->trial);
    for (int s = 0; s < STAGES; s++)
        v->slope[s] = app_memory(own, sizeof *v->slope[s]);
    for (int c = 0; c < NUMBERS; c++)
        v->sources[c] = app_memory((size_t)v->all, sizeof *v->sources[c]);
    v->gathered = app_memory(NUMBERS * (size_t)v->all, sizeof *v->gathered);
}

void vortex_free(struct vortex *v)
{
    free(v->counts);
    free(v->now);
    free(v->trial);
    for (int s = 0; s < STAGES; s++)
        free(v->slope[s]);
    for (int c = 0; c < NUMBERS; c++)
        free(v->sources[c]);
    free(v->gathered);
}

/* Where in the section of the core its m-th particle lies, and what part of the circulation it has: the vorticity falls as
 * exp(-(r / core)^2), and all have the same area. */
static void in_core(const struct problem *p, int64_t m, double *out, double *up, double *weight)
{
    double width = p->layers > 0 ? 2 * p->core / (2 * (double)p->layers + 1) : 0;
    int64_t layer = 0;
    while (m >= 1 + 3 * layer * (layer + 1))
        layer++;
    int64_t in_layer = layer > 0 ? m - (1 + 3 * (layer - 1) * layer) : 0, size = layer > 0 ? 6 * layer : 1;
    double r = width * (double)layer, angle = 2 * M_PI * ((double)in_layer + 0.5 * (double)(layer % 2)) / (double)size;
    *out = r * cos(angle);
    *up = r * sin(angle);
    *weight = p->core > 0 ? exp(-r * r / (p->core * p->core)) : 1;
}

/* Particle number n of all. A ring stands across its axis, which is tilted in the plane of x and z. */
static void particle(const struct problem *p, int64_t n, double whole, double to[NUMBERS])
{
    int64_t section = in_section(p), ring = n / (p->around * section);
    double out, up, weight, angle = 2 * M_PI * (double)(n / section % p->around) / (double)p->around;
    in_core(p, n % section, &out, &up, &weight);
    double radius = 1 + out, x = radius * cos(angle), y = radius * sin(angle);
    double strength = weight / whole * 2 * M_PI * radius / (double)p->around;
    double side = p->rings == 1 ? 0 : ring ? 0.5 : -0.5, tilt = -2 * side * p->tilt * M_PI / 180, c = cos(tilt), s = sin(tilt);
    const double a[3] = {-strength * sin(angle), strength * cos(angle), 0};
    to[0] = side * p->distance + c * x + s * up;
    to[1] = y;
    to[2] = c * up - s * x;
    to[3] = c * a[0];
    to[4] = a[1];
    to[5] = -s * a[0];
}

void vortex_start(struct vortex *v)
{
    double whole = 0, out, up, weight;
    for (int64_t m = 0; m < in_section(&v->p); m++) {
        in_core(&v->p, m, &out, &up, &weight);
        whole += weight;
    }
    for (int64_t n = 0; n < v->count; n++)
        particle(&v->p, v->first + n, whole, v->now + NUMBERS * n);
}
