/* How particles move, and the current that they make (Esirkepov, Comp. Phys. Comm. 135, 2001). A particle's charge is spread
 * over the eight nodes around it; the current is what moves the charge, node by node, from where it was to where it is. So
 * div E - rho does not change. */
#include "fdtd.h"

#include <math.h>
#include <string.h>

/* Part of the loop over particles, and compiled for each kind of processor with it. */
#define INLINE static inline __attribute__((always_inline))

enum { NODES = 4 }; /* per direction: from one below the old cell to two above */

/* Where a particle stands among points of a grid in one direction: at nodes, or half a cell further. */
struct place {
    int at;
    double part;
};

INLINE struct place place(double x)
{
    int at = (int)floor(x);
    return (struct place){at, x - at};
}

INLINE double weigh(const struct grid *g, const double *field, struct place x, struct place y, struct place z)
{
    const double *p = field + grid_at(g, x.at, y.at, z.at);
    const ptrdiff_t up = g->row, on = g->plane;
    double low = (1 - y.part) * ((1 - z.part) * p[0] + z.part * p[1]) + y.part * ((1 - z.part) * p[up] + z.part * p[up + 1]);
    p += on;
    double high = (1 - y.part) * ((1 - z.part) * p[0] + z.part * p[1]) + y.part * ((1 - z.part) * p[up] + z.part * p[up + 1]);
    return (1 - x.part) * low + x.part * high;
}

/* E and H where a particle is. */
INLINE void fields_at(const struct fdtd *f, const double x[3], double e[3], double h[3])
{
    struct place node[3], half[3];
    for (int d = 0; d < 3; d++) {
        node[d] = place(x[d]);
        half[d] = place(x[d] - 0.5);
    }
    e[0] = weigh(&f->g, f->e[0], half[0], node[1], node[2]);
    e[1] = weigh(&f->g, f->e[1], node[0], half[1], node[2]);
    e[2] = weigh(&f->g, f->e[2], node[0], node[1], half[2]);
    h[0] = weigh(&f->g, f->h[0], node[0], half[1], half[2]);
    h[1] = weigh(&f->g, f->h[1], half[0], node[1], half[2]);
    h[2] = weigh(&f->g, f->h[2], half[0], half[1], node[2]);
}

INLINE void cross(const double a[3], const double b[3], double result[3])
{
    for (int d = 0; d < 3; d++)
        result[d] = a[(d + 1) % 3] * b[(d + 2) % 3] - a[(d + 2) % 3] * b[(d + 1) % 3];
}

/* Half of the electric kick, a rotation by the magnetic field, the other half (Boris). The charge is -1, the mass 1. */
INLINE void kick(double u[3], const double e[3], const double h[3], double dt)
{
    double t[3], turned[3], by[3], square = 1, t2 = 1;
    for (int d = 0; d < 3; d++) {
        u[d] -= 0.5 * dt * e[d];
        square += u[d] * u[d];
    }
    for (int d = 0; d < 3; d++) {
        t[d] = -0.5 * dt * h[d] / sqrt(square);
        t2 += t[d] * t[d];
    }
    cross(u, t, by);
    for (int d = 0; d < 3; d++)
        turned[d] = u[d] + by[d];
    cross(turned, t, by);
    for (int d = 0; d < 3; d++)
        u[d] += 2 / t2 * by[d] - 0.5 * dt * e[d];
}

struct shape {
    double old[NODES], change[NODES];
};

INLINE void spread(double x, int base, double weight[NODES])
{
    for (int a = 0; a < NODES; a++)
        weight[a] = fmax(0, 1 - fabs(x - (base + a)));
}

/* What of a step along another direction happens at node b of u and node c of v. */
INLINE double across(const struct shape *u, int b, const struct shape *v, int c)
{
    return (u->old[b] + 0.5 * u->change[b]) * v->old[c] + (0.5 * u->old[b] + u->change[b] * (1.0 / 3)) * v->change[c];
}

/* Current along x or y (d): at each line of nodes, charge that leaves a node goes over the edge to the next. The four
 * lines that are neighbours in z at once. */
INLINE void along(const struct fdtd *f, int d, double *first, const struct shape s[3], double strength)
{
    const ptrdiff_t to_next = d == 0 ? f->g.plane : f->g.row, to_line = d == 0 ? f->g.row : f->g.plane;
    for (int b = 0; b < NODES; b++) {
        double sum[NODES] = {0}, part[NODES];
        for (int c = 0; c < NODES; c++)
            part[c] = strength * across(&s[1 - d], b, &s[2], c);
        for (int a = 0; a < NODES - 1; a++)
            for (int c = 0; c < NODES; c++) {
                sum[c] -= part[c] * s[d].change[a];
                first[b * to_line + a * to_next + c] += sum[c];
            }
    }
}

INLINE void along_z(const struct fdtd *f, double *first, const struct shape s[3], double strength)
{
    for (int a = 0; a < NODES; a++)
        for (int b = 0; b < NODES; b++) {
            double sum = 0, part = strength * across(&s[0], a, &s[1], b), *line = first + a * f->g.plane + b * f->g.row;
            for (int c = 0; c < NODES - 1; c++) {
                sum -= part * s[2].change[c];
                line[c] += sum;
            }
        }
}

/* Places count from this rank's first cell; a particle goes less than a cell. */
INLINE void deposit(const struct fdtd *f, const double from[3], const double to[3], double strength)
{
    struct shape s[3];
    int base[3];
    for (int d = 0; d < 3; d++) {
        double new[NODES];
        base[d] = (int)floor(from[d]) - 1;
        spread(from[d], base[d], s[d].old);
        spread(to[d], base[d], new);
        for (int a = 0; a < NODES; a++)
            s[d].change[a] = new[a] - s[d].old[a];
    }
    ptrdiff_t at = grid_at(&f->g, base[0], base[1], base[2]);
    along(f, 0, f->j[0] + at, s, strength);
    along(f, 1, f->j[1] + at, s, strength);
    along_z(f, f->j[2] + at, s, strength);
}

FOR_EACH_PROCESSOR static void push(struct fdtd *f)
{
    for (int64_t n = 0; n < f->count; n++) {
        struct particle *p = &f->particles[n];
        double from[3], to[3], e[3], h[3];
        for (int d = 0; d < 3; d++)
            from[d] = p->x[d] - f->g.first[d];
        fields_at(f, from, e, h);
        kick(p->u, e, h, f->dt);
        double slow = f->dt / sqrt(1 + p->u[0] * p->u[0] + p->u[1] * p->u[1] + p->u[2] * p->u[2]);
        for (int d = 0; d < 3; d++) {
            p->x[d] += slow * p->u[d];
            to[d] = p->x[d] - f->g.first[d];
        }
        deposit(f, from, to, f->charge / f->dt);
    }
}

void particles_push(struct fdtd *f)
{
    for (int c = 0; c < 3; c++)
        memset(f->j[c] - f->g.origin, 0, f->g.points * sizeof *f->j[c]);
    push(f);
    grid_add(&f->g, f->j, 3, GHOSTS);
}
