/* Answers against exact ones. */
#include "hydro.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void run_to(struct hydro *h, double end)
{
    while (h->time < end)
        hydro_step(h, end);
}

/* Mean over all cells of how far the density is off. */
static double mean_error(const struct hydro *h, double (*wanted)(const struct hydro *h, const double at[3]))
{
    const struct grid *g = &h->g;
    double sum = 0, all;
    for (int i = 0; i < g->size[0]; i++)
        for (int j = 0; j < g->size[1]; j++)
            for (int k = 0; k < g->size[2]; k++) {
                const double at[3] = {(g->first[0] + i + 0.5) * h->cell, (g->first[1] + j + 0.5) * h->cell,
                                      (g->first[2] + k + 0.5) * h->cell};
                sum += fabs(h->u[DENSITY][grid_at(g, i, j, k)] - wanted(h, at));
            }
    MPI_Allreduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, g->comm);
    return all / ((double)g->n[0] * g->n[1] * g->n[2]);
}

static double wanted_in_tube(const struct hydro *h, const double at[3])
{
    double w[VARIABLES];
    exact_sod(h->p.gamma, (at[h->p.axis] - 0.5) / h->time, w);
    return w[DENSITY];
}

static double tube_error(int axis, int cells)
{
    static const double END = 0.2;
    struct problem p = {.start = SOD, .cells = {1, 1, 1}, .axis = axis, .border = {OUTFLOW, OUTFLOW, OUTFLOW}, .gamma = 1.4, .cfl = 0.8};
    struct hydro h;
    p.cells[axis] = cells;
    if (!hydro_split(&h, MPI_COMM_WORLD, &p))
        return NAN;
    hydro_start(&h);
    run_to(&h, END);
    double error = mean_error(&h, wanted_in_tube);
    hydro_free(&h);
    return error;
}

static int check_tube(const struct app *app)
{
    static const double ALLOWED = 0.008, LEAST = 0.8, SAME = 1e-13;
    double along[3], fine = tube_error(0, 200);
    for (int d = 0; d < 3; d++)
        along[d] = tube_error(d, 100);
    double order = log2(along[0] / fine), spread = fmax(fabs(along[1] - along[0]), fabs(along[2] - along[0]));
    int good = app_judge(app, along[0] < ALLOWED && order > LEAST,
                         "Sod's tube, 100 cells: density off by %.2e on average, allowed %g; with 200 %.2e, order %.2f, allowed %g",
                         along[0], ALLOWED, fine, order, LEAST);
    return app_judge(app, spread <= SAME, "the same along x, y and z: differences %.1e, allowed %g", spread, SAME) & good;
}

/* After a whole period everything is as it was. */
static double wanted_in_wave(const struct hydro *h, const double at[3])
{
    double w[VARIABLES];
    hydro_initial(h, at, w);
    return w[DENSITY];
}

static double wave_error(int cells)
{
    struct problem p = {.start = WAVE, .cells = {cells, cells, cells}, .gamma = 5.0 / 3, .cfl = 0.8, .wave = 1e-6};
    struct hydro h;
    if (!hydro_split(&h, MPI_COMM_WORLD, &p))
        return NAN;
    hydro_start(&h);
    run_to(&h, 1 / sqrt(3 * p.gamma));
    double error = mean_error(&h, wanted_in_wave) / p.wave;
    hydro_free(&h);
    return error;
}

static int check_wave(const struct app *app)
{
    static const double ALLOWED = 0.1, LEAST = 1.9;
    double coarse = wave_error(16), fine = wave_error(32), order = log2(coarse / fine);
    return app_judge(app, coarse < ALLOWED && order > LEAST,
                     "sound wave across 16 x 16 x 16 cells: off by %.2e of its amplitude, allowed %g; with 32 %.2e, order %.2f, allowed %g",
                     coarse, ALLOWED, fine, order, LEAST);
}

enum { BINS = 400 };

/* Where the mean density over shells falls fastest, going outward from the densest one: the top of a parabola through the
 * differences of shells one cell thick. */
static double shock_radius(const struct hydro *h)
{
    const struct grid *g = &h->g;
    double mine[2 * BINS] = {0}, all[2 * BINS];
    for (int i = 0; i < g->size[0]; i++)
        for (int j = 0; j < g->size[1]; j++)
            for (int k = 0; k < g->size[2]; k++) {
                double x = g->first[0] + i + 0.5, y = g->first[1] + j + 0.5, z = g->first[2] + k + 0.5;
                int bin = (int)sqrt(x * x + y * y + z * z);
                if (bin < BINS) {
                    mine[2 * bin] += 1;
                    mine[2 * bin + 1] += h->u[DENSITY][grid_at(g, i, j, k)];
                }
            }
    MPI_Allreduce(mine, all, 2 * BINS, MPI_DOUBLE, MPI_SUM, g->comm);
    int densest = 0, bins = g->n[0] < BINS ? g->n[0] : BINS;
    for (int b = 0; b < bins; b++) {
        all[b] = all[2 * b] > 0 ? all[2 * b + 1] / all[2 * b] : 1;
        densest = all[b] > all[densest] ? b : densest;
    }
    int steepest = densest;
    for (int b = densest; b < bins - 1; b++)
        steepest = all[b] - all[b + 1] > all[steepest] - all[steepest + 1] ? b : steepest;
    if (steepest < 1 || steepest + 2 >= bins)
        return NAN;
    double before = all[steepest - 1] - all[steepest], at = all[steepest] - all[steepest + 1], after = all[steepest + 1] - all[steepest + 2];
    return h->cell * (steepest + 1 + 0.5 * (after - before) / (2 * at - before - after));
}

static int check_explosion(const struct app *app)
{
    /* Sedov's radius is (E t^2 / (alpha rho))^(1/5); alpha is 0.851072 for gamma 1.4. */
    static const double ALPHA = 0.851072, RADIUS = 0.8, KEPT = 1e-11;
    struct problem p = {.start = SEDOV, .cells = {32, 32, 32}, .border = {REFLECTING, REFLECTING, REFLECTING}, .gamma = 1.4, .cfl = 0.8};
    struct hydro h;
    if (!hydro_split(&h, MPI_COMM_WORLD, &p))
        return app_judge(app, 0, "the explosion cannot be split");
    hydro_start(&h);
    struct totals before = hydro_totals(&h);
    run_to(&h, sqrt(ALPHA * pow(RADIUS, 5)));
    struct totals after = hydro_totals(&h);
    double radius = shock_radius(&h), lost = fmax(fabs(after.mass / before.mass - 1), fabs(after.energy / before.energy - 1));
    double cell = h.cell;
    hydro_free(&h);
    int good = app_judge(app, fabs(radius - RADIUS) < cell,
                         "explosion in 32 x 32 x 32 cells: shock at %.4f, Sedov's at %.4f, allowed one cell, %.4f", radius, RADIUS, cell);
    return app_judge(app, lost < KEPT, "its mass and energy: changed by %.1e, allowed %g", lost, KEPT) & good;
}

/* The smallest boxes of these checks. */
static const int64_t BOXES[2][3] = {{100, 1, 1}, {16, 16, 16}};

int hydro_check(const struct app *app)
{
    for (int b = 0; b < 2; b++)
        if (!grid_fits(BOXES[b], app->ranks, GHOSTS))
            return grid_refuse(app, BOXES[b], app->ranks, GHOSTS);
    int good = check_tube(app);
    good &= check_wave(app);
    good &= check_explosion(app);
    return app_verdict(app, good);
}
