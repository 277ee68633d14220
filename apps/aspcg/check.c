/* Answers against PETSc's, exact ones, and a published flow. */
#include "aspcg.h"
#include "history.h"

#include <math.h>
#include <stdlib.h>

static const struct problem SOLVER_BOX = {
    .which = CAVITY, .cells = {48, 48}, .block = 4, .overlap = 2, .sweeps = 10, .relaxation = 0.9, .tolerance = 1e-8, .reynolds = 100, .cfl = 0.8};

/* A source of all wavelengths, whose mean is 0. */
static void make_source(struct flow *f)
{
    const struct grid *g = &f->g;
    double mean, sum = 0;
    for (int turn = 0; turn < 2; turn++) {
        MPI_Allreduce(&sum, &mean, 1, MPI_DOUBLE, MPI_SUM, g->comm);
        mean /= (double)g->n[X] * g->n[Y];
        for (int y = 0; y < g->size[Y]; y++)
            for (int x = 0; x < g->size[X]; x++) {
                double value = sin(0.37 * (g->first[X] + x + 1) * (g->first[Y] + y + 2));
                f->source[grid_at(g, 0, y, x)] = value - mean;
                sum += value;
            }
    }
}

static int check_solver(const struct app *app)
{
    static const double ALLOWED = 1e-7;
    double history[PETSC_ITERATIONS + 1] = {0}, off = 0;
    struct flow f;
    if (!flow_split(&f, MPI_COMM_WORLD, &SOLVER_BOX))
        return app_judge(app, 0, "the box of the solver cannot be split");
    make_source(&f);
    int iterations = solver_solve(&f.solver, f.source, f.pressure, history, PETSC_ITERATIONS + 1);
    flow_free(&f);
    for (int k = 0; k <= PETSC_ITERATIONS; k++)
        off = fmax(off, fabs(history[k] / PETSC_HISTORY[k] - 1));
    return app_judge(app, iterations == PETSC_ITERATIONS && off < ALLOWED,
                     "pressure in 48 x 48 cells: %d iterations, PETSc's additive Schwarz %d; residuals differ by %.1e, allowed %g",
                     iterations, PETSC_ITERATIONS, off, ALLOWED);
}

/* Steps until a time; 0 when the pressure does not converge. */
static int run_to(struct flow *f, double end)
{
    while (f->time < end - 0.5 * f->dt)
        if (!flow_step(f))
            return 0;
    return 1;
}

static const struct problem VORTEX_BOX = {
    .which = VORTICES, .cells = {24, 24}, .block = 2, .overlap = 1, .sweeps = 4, .relaxation = 0.9, .tolerance = 1e-9, .reynolds = 20, .cfl = 0.5};

/* Root mean square of how far u is off; vortices fade with the time and the square of their wave number. */
static double vortex_error(int times)
{
    static const double END = 0.25;
    struct problem p = VORTEX_BOX;
    struct flow f;
    double sum = 0, all, pi = acos(-1);
    p.cells[0] *= times, p.cells[1] *= times, p.block *= times;
    if (!flow_split(&f, MPI_COMM_WORLD, &p))
        return NAN;
    const struct grid *g = &f.g;
    flow_start(&f);
    int good = run_to(&f, END);
    double fade = exp(-8 * pi * pi * f.time / p.reynolds);
    for (int y = 0; y < g->size[Y]; y++)
        for (int x = 0; x < g->size[X]; x++) {
            double wanted = fade * flow_initial(&f, 0, (g->first[X] + x) * f.cell, (g->first[Y] + y + 0.5) * f.cell);
            sum += pow(f.velocity[0][grid_at(g, 0, y, x)] - wanted, 2);
        }
    MPI_Allreduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, g->comm);
    double error = good ? sqrt(all / ((double)g->n[X] * g->n[Y])) : NAN;
    flow_free(&f);
    return error;
}

static int check_vortices(const struct app *app)
{
    static const double ALLOWED = 4e-3, LEAST = 1.9;
    double coarse = vortex_error(1), fine = vortex_error(2), order = log2(coarse / fine);
    return app_judge(app, coarse < ALLOWED && order > LEAST,
                     "vortices in 24 x 24 cells: velocity off by %.2e, allowed %g; in 48 x 48 %.2e, order %.2f, allowed %g", coarse,
                     ALLOWED, fine, order, LEAST);
}

/* The largest value that `sign` times a velocity takes on the line through the middle of the box across it: the top of a parabola. */
static double extreme(const struct flow *f, int d, double sign)
{
    const struct grid *g = &f->g;
    int along = d == 0 ? Y : X, across = X + Y - along, n = g->n[along], best = 1, at[3] = {0, 0, 0};
    double *mine = app_memory(2 * (size_t)n, sizeof *mine), *all = mine + n;
    for (int k = 0; k < n; k++) {
        at[along] = k - g->first[along], at[across] = g->n[across] / 2 - g->first[across];
        int own = at[X] >= 0 && at[X] < g->size[X] && at[Y] >= 0 && at[Y] < g->size[Y];
        mine[k] = own ? sign * f->velocity[d][grid_at(g, 0, at[Y], at[X])] : 0;
    }
    MPI_Allreduce(mine, all, n, MPI_DOUBLE, MPI_SUM, g->comm);
    for (int k = 2; k < n - 1; k++) /* the top must not lie at an end, beside the lid */
        best = all[k] > all[best] && all[k] >= all[k + 1] ? k : best;
    double below = all[best - 1], here = all[best], above = all[best + 1];
    free(mine);
    return sign * (here - (above - below) * (above - below) / (8 * (above + below - 2 * here)));
}

static const struct problem CAVITY_BOX = {
    .which = CAVITY, .cells = {12, 12}, .block = 1, .overlap = 1, .sweeps = 8, .relaxation = 0.9, .tolerance = 1e-4, .reynolds = 100, .cfl = 1};

enum { EXTREMES = 3 }; /* least u, least and largest v on the centre lines */

/* Returns the largest divergence. */
static double settled_cavity(int times, double got[EXTREMES])
{
    static const double END = 12;
    struct problem p = CAVITY_BOX;
    struct flow f;
    p.cells[0] *= times, p.cells[1] *= times, p.block *= times;
    if (!flow_split(&f, MPI_COMM_WORLD, &p))
        return NAN;
    flow_start(&f);
    int good = run_to(&f, END);
    got[0] = extreme(&f, 0, -1), got[1] = extreme(&f, 1, -1), got[2] = extreme(&f, 1, 1);
    double divergence = good ? flow_totals(&f).divergence : NAN;
    flow_free(&f);
    return divergence;
}

static int check_cavity(const struct app *app)
{
    /* C. H. Marchi, R. Suero, L. K. Araki, J. Braz. Soc. Mech. Sci. Eng. 31, 2009. */
    static const double WANTED[EXTREMES] = {-0.21404, -0.25380, 0.17957}, ALLOWED = 0.005, DIVERGENCE = 0.001;
    double coarse[EXTREMES] = {0}, fine[EXTREMES] = {0}, got[EXTREMES], off = 0;
    double divergence = settled_cavity(2, coarse) + settled_cavity(3, fine);
    for (int k = 0; k < EXTREMES; k++) {
        got[k] = (9 * fine[k] - 4 * coarse[k]) / 5 /* errors are as 9 to 4 */;
        off = fmax(off, fabs(got[k] / WANTED[k] - 1));
    }
    int good = app_judge(
        app, isfinite(divergence) && divergence < DIVERGENCE,
        "cavity with a lid, Reynolds number 100, 24 x 24 cells: %.5f, %.5f, %.5f; 36 x 36: %.5f, %.5f, %.5f; divergence %.1e, allowed %g",
        coarse[0], coarse[1], coarse[2], fine[0], fine[1], fine[2], divergence, DIVERGENCE);
    return app_judge(app, off < ALLOWED, "both together, for cells of no size: %.5f, %.5f, %.5f; published %.5f, %.5f, %.5f, allowed %g %%",
                     got[0], got[1], got[2], WANTED[0], WANTED[1], WANTED[2], 100 * ALLOWED) &
           good;
}

int flow_check(const struct app *app)
{
    /* All boxes have as many blocks. */
    const int64_t blocks[3] = {1, VORTEX_BOX.cells[1] / VORTEX_BOX.block, VORTEX_BOX.cells[0] / VORTEX_BOX.block};
    if (!grid_fits(blocks, app->ranks, 1))
        return flow_refuse_ranks(app, &VORTEX_BOX, app->ranks);
    int good = check_solver(app);
    good &= check_vortices(app);
    good &= check_cavity(app);
    return app_verdict(app, good);
}
