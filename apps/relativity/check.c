/* The tests "apples with apples" against the exact solutions. */
#include "relativity.h"

#include <math.h>

/* Largest difference of the variables from `first` to `last` to the exact ones. */
static double error_of(const struct spacetime *s, int first, int last)
{
    const struct grid *g = &s->g;
    double most = 0, all;
    for (int i = 0; i < g->size[0]; i++)
        for (int j = 0; j < g->size[1]; j++)
            for (int k = 0; k < g->size[2]; k++) {
                double u[VARIABLES], at[3] = {(g->first[0] + i) * s->cell, (g->first[1] + j) * s->cell, (g->first[2] + k) * s->cell};
                relativity_exact(s, at, (double)s->step * s->dt, u);
                for (int v = first; v <= last; v++) {
                    double off = fabs(s->u[v][grid_at(g, i, j, k)] - u[v]);
                    most = off > most || off != off ? off : most;
                }
            }
    MPI_Allreduce(&most, &all, 1, MPI_DOUBLE, MPI_MAX, g->comm);
    return all;
}

struct outcome {
    double metric, k, hamiltonian; /* errors in units of the amplitude, but for the last */
};

static struct outcome wave(enum start start, const int64_t cells[3], double amplitude, double time)
{
    struct problem p = {.start = start, .amplitude = amplitude, .courant = 0.25, .dissipation = 0.1};
    struct spacetime s;
    struct outcome o = {NAN, NAN, NAN};
    for (int d = 0; d < 3; d++) {
        p.cells[d] = cells[d];
        p.mode[d] = cells[d] > 1;
    }
    if (!relativity_split(&s, MPI_COMM_WORLD, &p))
        return o;
    relativity_start(&s);
    for (long steps = lround(time / s.dt); s.step < steps;)
        relativity_step(&s);
    o.metric = error_of(&s, METRIC, METRIC + 5) / amplitude;
    o.k = error_of(&s, K, CONNECTION - 1) / amplitude;
    o.hamiltonian = relativity_norms(&s).hamiltonian;
    relativity_free(&s);
    return o;
}

/* A wave in a box of cells, and in one of twice as many in each direction. */
static int check_wave(const struct app *app, enum start start, const char *name, const int64_t coarse[3], double amplitude, double time,
                      double allowed)
{
    static const double LEAST = 3.7, MOST = 4.7;
    int64_t fine[3];
    for (int d = 0; d < 3; d++)
        fine[d] = coarse[d] > 1 ? 2 * coarse[d] : 1;
    struct outcome a = wave(start, coarse, amplitude, time), b = wave(start, fine, amplitude, time);
    double order = log2(a.metric / b.metric), order_k = log2(a.k / b.k);
    int good = app_judge(
        app, a.metric < allowed && order > LEAST && order < MOST && order_k > LEAST && order_k < MOST,
        "%s of amplitude %g, %lld x %lld x %lld cells, time %g: metric off by %.2e of it, allowed %g; order %.2f, of the curvature %.2f, "
        "allowed %g to %g",
        name, amplitude, (long long)coarse[0], (long long)coarse[1], (long long)coarse[2], time, a.metric, allowed, order, order_k, LEAST,
        MOST);
    if (start != GAUGE)
        return good;
    double order_h = log2(a.hamiltonian / b.hamiltonian);
    return app_judge(app, order_h > LEAST,
                     "its Hamiltonian constraint: off by %.2e, with half the cell %.2e, order %.2f, allowed %g or more", a.hamiltonian,
                     b.hamiltonian, order_h, LEAST) &
           good;
}

/* Noise must not grow exponentially, whatever the resolution: its largest constraint in three spans of time. */
static int check_noise(const struct app *app, const int64_t cells[3])
{
    static const double ALLOWED = 2;
    struct problem p = {.start = NOISE, .cells = {cells[0], cells[1], cells[2]}, .amplitude = 1e-10, .courant = 0.25, .dissipation = 0.1};
    struct spacetime s;
    double seen[3] = {0, 0, 0};
    if (!relativity_split(&s, MPI_COMM_WORLD, &p))
        return app_judge(app, 0, "the box of noise cannot be split");
    relativity_start(&s);
    struct norms start = relativity_norms(&s);
    for (int span = 0; span < 3; span++)
        for (long end = lround(2 * (span + 1) / s.dt); s.step < end;) {
            relativity_step(&s);
            if (s.step % 8 == 0)
                seen[span] = fmax(seen[span], relativity_norms(&s).hamiltonian);
        }
    relativity_free(&s);
    return app_judge(app, seen[2] < ALLOWED * seen[1],
                     "noise in %lld x %lld x %lld cells: Hamiltonian constraint %.1e at first, no more than %.1e, %.1e and %.1e in times 0 "
                     "to 2 to 4 to 6; "
                     "the last is %.2f of the one before, allowed %g",
                     (long long)cells[0], (long long)cells[1], (long long)cells[2], start.hamiltonian, seen[0], seen[1], seen[2],
                     seen[2] / seen[1], ALLOWED);
}

/* The boxes of these checks, of which seven ranks can have parts, too. */
static const int64_t CHANNEL[3] = {50, 1, 1}, BOX[3] = {21, 16, 16}, SLAB[3] = {1, 24, 24}, NOISES[2][3] = {{21, 8, 8}, {28, 8, 8}};

int relativity_check(const struct app *app)
{
    const int64_t *boxes[5] = {CHANNEL, BOX, SLAB, NOISES[0], NOISES[1]};
    for (int b = 0; b < 5; b++)
        if (!grid_fits(boxes[b], app->ranks, GHOSTS))
            return grid_refuse(app, boxes[b], app->ranks, GHOSTS);
    int good = check_wave(app, GAUGE, "gauge wave", CHANNEL, 0.01, 1, 1e-4);
    good &= check_wave(app, GAUGE, "gauge wave", CHANNEL, 0.1, 1, 2e-4);
    good &= check_wave(app, GAUGE, "gauge wave across", BOX, 0.05, 0.25, 3e-3);
    good &= check_wave(app, LINEAR, "linear wave", SLAB, 1e-8, 0.5, 3e-4);
    good &= check_noise(app, NOISES[0]);
    good &= check_noise(app, NOISES[1]);
    return app_verdict(app, good);
}
