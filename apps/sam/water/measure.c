/* What is conserved, and forces beside differences of the energy. */
#include "water.h"

#include <math.h>
#include <string.h>

/* FNV of a molecule's number, positions and velocities. */
static uint64_t bits_of(const struct molecule *m)
{
    uint64_t words[2 * NUMBERS + 1] = {(uint64_t)m->id}, hash = 0xcbf29ce484222325;
    memcpy(words + 1, m->x, sizeof m->x);
    memcpy(words + 1 + NUMBERS, m->v, sizeof m->v);
    for (int n = 0; n < 2 * NUMBERS + 1; n++)
        hash = (hash ^ words[n]) * 0x100000001b3;
    return hash;
}

struct sums sum_up(struct water *w)
{
    wide n[7] = {0}, bonds = 0;
    for (int i = 0; i < w->count; i++) {
        const struct molecule *m = &w->own[i];
        for (int k = 0; k < NUMBERS; k++) {
            n[0] += fixed(0.5 / ACCELERATION * MASS[k / 3] * m->v[k] * m->v[k]);
            n[2 + k % 3] += fixed(MASS[k / 3] * m->v[k]);
        }
        n[5] += (wide)bits_of(m);
        wide off = fixed(bond_error(m->x));
        bonds = off > bonds ? off : bonds;
    }
    n[1] = w->potential;
    n[6] = fixed(w->work);
    add_together(n, 7);
    most_together(&bonds, 1);
    double p[3] = {from_fixed(n[2]), from_fixed(n[3]), from_fixed(n[4])};
    struct sums s = {.kinetic = from_fixed(n[0]), .potential = from_fixed(n[1]), .bonds = from_fixed(bonds),
                     .pairs = from_fixed(n[6]), .bits = (uint64_t)n[5]};
    /* Relative to all molecules flying one way. */
    double speed = sqrt(2 * s.kinetic * ACCELERATION * (double)w->total * MASS_OF_WATER);
    s.momentum = speed > 0 ? sqrt(p[0] * p[0] + p[1] * p[1] + p[2] * p[2]) / speed : 0;
    return s;
}

/* Six degrees of freedom per molecule; the whole rests. */
double temperature_of(const struct water *w, double kinetic)
{
    return 2 * kinetic / (BOLTZMANN * (6 * (double)w->total - 3));
}

void scale_velocities(struct water *w, double factor)
{
    for (int i = 0; i < w->count; i++)
        for (int k = 0; k < NUMBERS; k++)
            w->own[i].v[k] *= factor;
}

static struct molecule *find(struct water *w, int64_t id)
{
    for (int i = 0; i < w->count; i++)
        if (w->own[i].id == id)
            return &w->own[i];
    return NULL;
}

/* The energy with one coordinate changed. */
static double energy_with(struct water *w, int64_t id, int coordinate, double by)
{
    struct molecule *m = find(w, id);
    double before = m ? m->x[coordinate] : 0;
    if (m)
        m->x[coordinate] += by;
    find_forces(w);
    if (m)
        m->x[coordinate] = before;
    wide energy = w->potential;
    add_together(&energy, 1);
    return from_fixed(energy);
}

static double rms_force(struct water *w)
{
    wide square = 0;
    for (int n = 0; n < w->count * NUMBERS; n++)
        square += fixed(w->force[n] * w->force[n]);
    add_together(&square, 1);
    return sqrt(from_fixed(square) / ((double)w->total * NUMBERS));
}

/* Differences of fourth order. Of an energy whose parts are multiples of FORCE_UNIT they are exact to about 1e-7. */
double compare_with_differences(struct water *w, int molecules)
{
    const double h = 2e-3;
    double worst = 0;
    find_forces(w);
    double scale = rms_force(w);
    for (int k = 0; k < molecules; k++) {
        int64_t id = w->total * k / molecules;
        int coordinate = k % NUMBERS;
        const struct molecule *m = find(w, id);
        find_forces(w);
        wide force = fixed(m ? w->force[(m - w->own) * NUMBERS + coordinate] : 0);
        add_together(&force, 1);
        double far = energy_with(w, id, coordinate, 2 * h) - energy_with(w, id, coordinate, -2 * h);
        double near = energy_with(w, id, coordinate, h) - energy_with(w, id, coordinate, -h);
        double slope = (8 * near - far) / (12 * h);
        worst = fmax(worst, fabs(from_fixed(force) + slope) / scale);
    }
    find_forces(w);
    return worst;
}
