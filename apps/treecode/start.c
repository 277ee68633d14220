/* Bodies at the start. Each is made from the seed and its own number, so that a start is the same on
 * any number of ranks. Units: G = 1, total mass 1. */
#include "treecode.h"
#include "../common/plummer.h"
#include "../common/random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double PI = 3.14159265358979323846;

static void room_for(struct universe *u, int64_t first, int64_t behind)
{
    u->count = (int)(behind - first);
    u->bodies = app_memory((size_t)u->count, sizeof *u->bodies);
    memset(u->bodies, 0, (size_t)u->count * sizeof *u->bodies);
}

/* This rank's share of n numbers. */
static void share(const struct universe *u, int64_t n, int64_t *first, int64_t *behind)
{
    *first = n * u->tree.rank / u->tree.ranks;
    *behind = n * (u->tree.rank + 1) / u->tree.ranks;
}

/* Centre of mass and momentum to zero. */
static void centre(struct universe *u)
{
    struct sums s = sum_up(u);
    for (int i = 0; i < u->count; i++)
        for (int d = 0; d < 3; d++) {
            u->bodies[i].x[d] -= s.centre[d] / s.mass;
            u->bodies[i].v[d] -= s.momentum[d] / s.mass;
        }
}

void start_plummer(struct universe *u, int64_t seed)
{
    int64_t first, behind;
    share(u, u->total, &first, &behind);
    room_for(u, first, behind);
    for (int i = 0; i < u->count; i++) {
        struct body *b = &u->bodies[i];
        plummer_body(seed, first + i, b->x, b->v);
        b->mass = 1.0 / (double)u->total;
        b->id = first + i;
        b->work = 1;
    }
    centre(u);
}

/* One plane wave of the density: amplitude and phase. */
struct wave {
    double k[3], amplitude, phase;
};
enum { WAVES = 400 };

/* Cold dark matter: k times the square of the transfer function of Bardeen, Bond, Kaiser and Szalay
 * (1986), k in units of the inverse radius of the sphere, which is 50 Mpc today and h = 0.5. */
static double power(double k)
{
    double q = k / 50 / 0.25;
    double t = log(1 + 2.34 * q) / (2.34 * q) *
               pow(1 + 3.89 * q + pow(16.1 * q, 2) + pow(5.46 * q, 3) + pow(6.71 * q, 4), -0.25);
    return k * t * t;
}

/* Variance of the density in balls of 16 Mpc radius, which is to be 0.7^2 today. */
static double ball(double kr)
{
    return 3 * (sin(kr) - kr * cos(kr)) / (kr * kr * kr);
}

/* Wave numbers evenly in their logarithm, from the sphere's size to the grid's. */
static void make_waves(struct wave waves[WAVES], int64_t seed, double spacing)
{
    double low = PI / 2, high = PI / spacing, step = log(high / low) / WAVES, variance = 0;
    uint64_t state = random_stream(seed, -1);
    for (int w = 0; w < WAVES; w++) {
        double k = low * exp((w + 0.5) * step);
        double sigma = sqrt(k * k * k * power(k) * step);
        random_on_sphere(&state, k, waves[w].k);
        /* Rayleigh: the length of a Gaussian complex number. */
        waves[w].amplitude = sigma * sqrt(-2 * log(random_uniform(&state)));
        waves[w].phase = 2 * PI * random_uniform(&state);
        variance += sigma * sigma * pow(ball(k * 16.0 / 50), 2);
    }
    for (int w = 0; w < WAVES; w++)
        waves[w].amplitude *= 0.7 / sqrt(variance);
}

/* Zel'dovich's displacement of today at q. */
static void displacement(const struct wave waves[WAVES], const double q[3], double out[3])
{
    out[0] = out[1] = out[2] = 0;
    for (int w = 0; w < WAVES; w++) {
        const double *k = waves[w].k;
        double phase = k[0] * q[0] + k[1] * q[1] + k[2] * q[2] + waves[w].phase;
        double part = -waves[w].amplitude * sin(phase) / (k[0] * k[0] + k[1] * k[1] + k[2] * k[2]);
        for (int d = 0; d < 3; d++)
            out[d] += part * k[d];
    }
}

/* Points of a cubic grid inside the unit ball; returns how many, and stores those of this share. */
static int64_t grid_ball(int64_t n, int64_t first, int64_t behind, struct body *to)
{
    int64_t number = 0;
    double spacing = 2.0 / (double)n;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++)
            for (int64_t k = 0; k < n; k++) {
                double q[3] = {((double)i + 0.5) * spacing - 1, ((double)j + 0.5) * spacing - 1,
                               ((double)k + 0.5) * spacing - 1};
                if (q[0] * q[0] + q[1] * q[1] + q[2] * q[2] >= 1)
                    continue;
                if (to && number >= first && number < behind) {
                    memcpy(to[number - first].x, q, sizeof q);
                    to[number - first].id = number;
                }
                number++;
            }
    return number;
}

/* A ball of an Einstein-de Sitter universe that just expands for ever, in physical coordinates, with
 * radius 1 today; the total becomes the nearest number of grid points inside. */
void start_sphere(struct universe *u, int64_t seed, double redshift)
{
    int64_t n = (int64_t)llround(cbrt((double)u->total * 6 / PI)), first, behind;
    n = n < 2 ? 2 : n;
    u->total = grid_ball(n, 0, 0, NULL);
    share(u, u->total, &first, &behind);
    room_for(u, first, behind);
    grid_ball(n, first, behind, u->bodies);
    struct wave waves[WAVES];
    make_waves(waves, seed, 2.0 / (double)n);
    double a = 1 / (1 + redshift), hubble = sqrt(2 / (a * a * a));
    for (int i = 0; i < u->count; i++) {
        struct body *b = &u->bodies[i];
        double way[3];
        displacement(waves, b->x, way);
        for (int d = 0; d < 3; d++) {
            double q = b->x[d];
            b->x[d] = a * (q + a * way[d]);                /* growth is as a */
            b->v[d] = hubble * (b->x[d] + a * a * way[d]); /* d(a q + a^2 way)/dt */
        }
        b->mass = 1.0 / (double)u->total;
        b->work = 1;
    }
    centre(u);
    u->time = 2 / (3 * hubble);
}
