/* The tests "apples with apples" (M. Alcubierre and others, Class. Quantum Grav. 21, 2004): a wave that is none, a weak wave,
 * and noise, in a periodic box. */
#include "relativity.h"

#include <math.h>
#include <string.h>

int relativity_refuse(const struct app *app, const struct problem *p)
{
    double points = 1;
    int modes = 0;
    for (int d = 0; d < 3; d++) {
        points *= (double)p->cells[d];
        modes += p->mode[d] != 0;
        if (p->cells[d] != 1 && p->cells[d] < 2 * GHOSTS)
            return app_refuse(app, APP_USAGE, "%lld x %lld x %lld cells: each direction needs 1 cell, or %d or more", (long long)p->cells[0],
                              (long long)p->cells[1], (long long)p->cells[2], 2 * GHOSTS);
        if (p->start != NOISE && p->mode[d] != 0 && p->cells[d] < 8 * p->mode[d])
            return app_refuse(app, APP_USAGE, "%lld waves in %lld cells: a wave needs 8 cells or more", (long long)p->mode[d],
                              (long long)p->cells[d]);
    }
    if (points == 1 || points / app->ranks > 60e6)
        return app_refuse(app, APP_USAGE, "%.0f cells on %d ranks: more than 1 is needed, and a rank can have 60 million", points, app->ranks);
    if (p->start != NOISE && modes == 0)
        return app_refuse(app, APP_USAGE, "a wave of mode 0, 0, 0 is none; take --mode-x 1");
    return 0;
}

int relativity_split(struct spacetime *s, MPI_Comm comm, const struct problem *p)
{
    int n[3], periodic[3], longest = 1;
    memset(s, 0, sizeof *s);
    s->p = *p;
    for (int d = 0; d < 3; d++) {
        n[d] = (int)p->cells[d];
        periodic[d] = n[d] > 1;
        longest = n[d] > longest ? n[d] : longest;
    }
    if (!grid_split(&s->g, comm, n, periodic, GHOSTS, GHOSTS))
        return 0;
    s->cell = 1.0 / longest;
    s->dt = p->courant * s->cell;
    for (int v = 0; v < VARIABLES; v++) {
        s->u[v] = grid_field(&s->g);
        s->sum[v] = grid_field(&s->g);
        s->between[0][v] = grid_field(&s->g);
        s->between[1][v] = grid_field(&s->g);
    }
    return 1;
}

void relativity_free(struct spacetime *s)
{
    for (int v = 0; v < VARIABLES; v++) {
        grid_field_free(&s->g, s->u[v]);
        grid_field_free(&s->g, s->sum[v]);
        grid_field_free(&s->g, s->between[0][v]);
        grid_field_free(&s->g, s->between[1][v]);
    }
    grid_free(&s->g);
}

/* A wave: its direction and two across it, its wave number, its phase at a place and time. */
struct wave {
    double along[3], across[2][3], number, phase;
};

static void cross(const double a[3], const double b[3], double c[3])
{
    for (int d = 0; d < 3; d++)
        c[d] = a[(d + 1) % 3] * b[(d + 2) % 3] - a[(d + 2) % 3] * b[(d + 1) % 3];
}

static void scale(double a[3])
{
    double length = sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2]);
    for (int d = 0; d < 3; d++)
        a[d] /= length;
}

static struct wave wave_at(const struct spacetime *s, const double at[3], double time)
{
    struct wave w = {.phase = 0};
    double square = 0;
    int least = 0;
    for (int d = 0; d < 3; d++) {
        w.along[d] = 2 * M_PI * (double)s->p.mode[d] / (s->cell * (double)s->p.cells[d]);
        square += w.along[d] * w.along[d];
        w.phase += w.along[d] * at[d];
        least = fabs(w.along[d]) < fabs(w.along[least]) ? d : least;
    }
    w.number = sqrt(square);
    w.phase -= w.number * time;
    scale(w.along);
    double any[3] = {least == 0, least == 1, least == 2};
    cross(w.along, any, w.across[0]);
    scale(w.across[0]);
    cross(w.along, w.across[0], w.across[1]);
    return w;
}

/* From metric and extrinsic curvature to the variables of BSSN; Gamma^i = -d_j g^ij, where the metric changes along the wave only. */
static void take_apart(double g[3][3], double k[3][3], double lapse, double u[VARIABLES])
{
    static const int row[6] = {0, 0, 0, 1, 1, 2}, column[6] = {0, 1, 2, 1, 2, 2}; /* of the six components */
    double c[3][3], det = 0, trace = 0;
    for (int i = 0; i < 3; i++) {
        int a = (i + 1) % 3, b = (i + 2) % 3;
        for (int j = 0; j < 3; j++) {
            int e = (j + 1) % 3, f = (j + 2) % 3;
            c[i][j] = g[a][e] * g[b][f] - g[a][f] * g[b][e]; /* cofactors: the inverse times the determinant */
        }
    }
    for (int j = 0; j < 3; j++)
        det += g[0][j] * c[0][j];
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            trace += c[i][j] * k[i][j] / det;
    double shrink = 1 / cbrt(det);
    u[PHI] = log(det) / 12;
    u[K] = trace;
    u[LAPSE] = lapse;
    for (int p = 0; p < 6; p++) {
        int i = row[p], j = column[p];
        u[METRIC + p] = shrink * g[i][j];
        u[CURVATURE + p] = shrink * (k[i][j] - g[i][j] * trace / 3);
    }
}

/* Minkowski's space in coordinates that swing: ds^2 = H (dn^2 - dt^2) + the directions across, H = 1 - A sin(phase). */
static void gauge_wave(const struct spacetime *s, const struct wave *w, double u[VARIABLES])
{
    double h = 1 - s->p.amplitude * sin(w->phase), slope = -s->p.amplitude * w->number * cos(w->phase); /* slope: along n */
    double g[3][3], k[3][3];
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            g[i][j] = (i == j) + (h - 1) * w->along[i] * w->along[j];
            k[i][j] = 0.5 * slope / sqrt(h) * w->along[i] * w->along[j];
        }
    take_apart(g, k, sqrt(h), u);
    /* The conformal metric is h^(2/3) along and h^(-1/3) across, its inverse along n is h^(-2/3). */
    for (int i = 0; i < 3; i++)
        u[CONNECTION + i] = 2.0 / 3 * pow(h, -5.0 / 3) * slope * w->along[i];
}

/* A weak gravitational wave: b across in one direction, -b in the other. Waves along a direction do not change Gamma^i. */
static void linear_wave(const struct spacetime *s, const struct wave *w, double u[VARIABLES])
{
    double b = s->p.amplitude * sin(w->phase), slope = s->p.amplitude * w->number * cos(w->phase), g[3][3], k[3][3];
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            double shape = w->across[0][i] * w->across[0][j] - w->across[1][i] * w->across[1][j];
            g[i][j] = (i == j) + b * shape;
            k[i][j] = 0.5 * slope * shape;
        }
    take_apart(g, k, 1, u);
}

void relativity_exact(const struct spacetime *s, const double at[3], double time, double u[VARIABLES])
{
    struct wave w = wave_at(s, at, time);
    memset(u, 0, VARIABLES * sizeof *u);
    if (s->p.start == GAUGE)
        gauge_wave(s, &w, u);
    else
        linear_wave(s, &w, u);
}

/* A number from -1 to 1 that depends on nothing but its own number (splitmix64, G. Steele and others 2014). */
static double noise(uint64_t number)
{
    uint64_t z = (number + 1) * 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (double)(z ^ (z >> 31)) / 9223372036854775808.0 - 1;
}

/* Flat space, with noise on every variable. */
static void noisy(const struct spacetime *s, int64_t cell, double u[VARIABLES])
{
    for (int v = 0; v < VARIABLES; v++)
        u[v] = s->p.amplitude * noise((uint64_t)cell * VARIABLES + (uint64_t)v);
    u[METRIC] += 1, u[METRIC + 3] += 1, u[METRIC + 5] += 1, u[LAPSE] += 1;
}

void relativity_start(struct spacetime *s)
{
    const struct grid *g = &s->g;
    for (int i = 0; i < g->size[0]; i++)
        for (int j = 0; j < g->size[1]; j++)
            for (int k = 0; k < g->size[2]; k++) {
                double u[VARIABLES], at[3] = {(g->first[0] + i) * s->cell, (g->first[1] + j) * s->cell, (g->first[2] + k) * s->cell};
                if (s->p.start == NOISE)
                    noisy(s, grid_number(g, i, j, k), u);
                else
                    relativity_exact(s, at, 0, u);
                for (int v = 0; v < VARIABLES; v++)
                    s->u[v][grid_at(g, i, j, k)] = u[v];
            }
    relativity_exchange(s, s->u);
}
