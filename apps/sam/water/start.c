/* Molecules at the start: on a lattice, turned at random. Each is made from the seed and its number alone. */
#include "water.h"
#include "../../common/random.h"

#include <stdlib.h>
#include <string.h>

static const double PI = 3.14159265358979323846;

double box_of(int64_t molecules, double density)
{
    /* 1 g/cm^3 is 0.602214 g/mol in a cubic angstrom. */
    return cbrt((double)molecules * MASS_OF_WATER / (density * 0.602214076));
}

static double gaussian(uint64_t *state)
{
    double length = sqrt(-2 * log(random_uniform(state)));
    return length * cos(2 * PI * random_uniform(state));
}

/* The molecule's plane spanned by two random directions that are at right angles. */
static void turn(uint64_t *state, double x[NUMBERS])
{
    double a[3], b[3], along = 0, length = 0;
    double half = 0.5 * BOND_LENGTH[2], up = sqrt(BOND_LENGTH[0] * BOND_LENGTH[0] - half * half);
    random_on_sphere(state, 1, a);
    random_on_sphere(state, 1, b);
    for (int d = 0; d < 3; d++)
        along += a[d] * b[d];
    for (int d = 0; d < 3; d++) {
        b[d] -= along * a[d];
        length += b[d] * b[d];
    }
    for (int d = 0; d < 3; d++) {
        b[d] /= sqrt(length);
        x[3 + d] = x[d] + up * a[d] + half * b[d];
        x[6 + d] = x[d] + up * a[d] - half * b[d];
    }
}

/* Momentum to zero. */
static void rest(struct water *w)
{
    wide n[3] = {0};
    for (int i = 0; i < w->count; i++)
        for (int k = 0; k < NUMBERS; k++)
            n[k % 3] += fixed(MASS[k / 3] * w->own[i].v[k]);
    add_together(n, 3);
    double mass = (double)w->total * (MASS[0] + MASS[1] + MASS[2]);
    for (int i = 0; i < w->count; i++)
        for (int k = 0; k < NUMBERS; k++)
            w->own[i].v[k] -= from_fixed(n[k % 3]) / mass;
}

void start_lattice(struct water *w, int64_t seed, double temperature)
{
    int64_t first = w->total * w->app->rank / w->app->ranks, behind = w->total * (w->app->rank + 1) / w->app->ranks;
    int64_t side = (int64_t)ceil(cbrt((double)w->total) - 1e-9), sites = side * side * side;
    w->count = (int)(behind - first);
    w->own = app_memory((size_t)w->count + 1, sizeof *w->own);
    for (int i = 0; i < w->count; i++) {
        struct molecule *m = &w->own[i];
        uint64_t state = random_stream(seed, first + i);
        /* Empty sites, if any, are spread evenly. */
        int64_t site = (first + i) * sites / w->total;
        memset(m, 0, sizeof *m);
        m->id = first + i;
        for (int d = 0; d < 3; d++, site /= side)
            m->x[d] = ((double)(site % side) + 0.5) * w->box / (double)side;
        turn(&state, m->x);
        for (int k = 0; k < NUMBERS; k++)
            m->v[k] = sqrt(BOLTZMANN * temperature * ACCELERATION / MASS[k / 3]) * gaussian(&state);
        constrain_velocities(m->x, m->v);
    }
    rest(w);
    struct sums s = sum_up(w);
    double now = temperature_of(w, s.kinetic);
    if (now > 0)
        scale_velocities(w, sqrt(temperature / now));
}
