/* Einstein's equations in vacuum: a gauge wave, a weak gravitational wave, noise on flat space. */
#include "relativity.h"

#include <math.h>
#include <stdio.h>

struct run {
    struct app app;
    struct problem p;
    char start[APP_TEXT_SIZE];
    long cells, n[3], mode[3], steps, print;
    struct spacetime s;
};

static int step(void *with)
{
    struct run *run = with;
    relativity_step(&run->s);
    return 0;
}

/* Returns 0, or the exit code when there is nothing to go on with. */
static int print_line(void *with)
{
    const struct run *run = with;
    const struct spacetime *s = &run->s;
    struct norms n = relativity_norms(s);
    if (!isfinite(n.hamiltonian + n.momentum + n.lapse + n.k))
        return app_refuse(&run->app, APP_WRONG,
                          "step %lld: the metric has no finite curvature any more; take a smaller --courant or --amplitude, or more cells",
                          (long long)s->step);
    if (run->app.rank == 0) {
        printf("%8lld %12.6f %14.6e %14.6e %14.6e %14.6e\n", (long long)s->step, (double)s->step * s->dt, n.hamiltonian, n.momentum,
               n.lapse, n.k);
        fflush(stdout);
    }
    return 0;
}

static int keep(void *with)
{
    const struct run *run = with;
    return relativity_write(&run->app, &run->s);
}

static double timed(MPI_Comm comm, int times, void *with)
{
    struct run *run = with;
    struct problem p = run->p;
    p.cells[p.cells[0] > 1 ? 0 : p.cells[1] > 1 ? 1 : 2] *= times;
    if (!relativity_split(&run->s, comm, &p)) {
        grid_refuse(&run->app, p.cells, times, GHOSTS);
        MPI_Abort(MPI_COMM_WORLD, APP_USAGE);
    }
    relativity_start(&run->s);
    double seconds = app_time(comm, run->steps, step, run);
    relativity_free(&run->s);
    return seconds;
}

static int begin(struct run *run)
{
    if (*run->app.restart)
        return relativity_read(&run->app, &run->s);
    if (!relativity_split(&run->s, MPI_COMM_WORLD, &run->p))
        return grid_refuse(&run->app, run->p.cells, run->app.ranks, GHOSTS);
    relativity_start(&run->s);
    return 0;
}

static int simulate(void *with)
{
    struct run *run = with;
    struct spacetime *s = &run->s;
    const struct app_steps steps = {
        .done = &s->step, .last = run->steps, .print = run->print, .step = step, .line = print_line, .keep = keep};
    int status = begin(run);
    if (status != 0)
        return status;
    grid_print_size(&s->g);
    if (s->g.rank == 0)
        printf("\n%8s %12s %14s %14s %14s %14s\n", "step", "time", "Hamiltonian", "momentum", "lapse - 1", "K");
    status = print_line(run);
    int64_t from = s->step;
    s->exchange_seconds = 0;
    double start = MPI_Wtime();
    if (status == 0)
        status = app_advance(&run->app, &steps, run);
    grid_print_speed(&s->g, s->step - from, app_slowest(s->g.comm, MPI_Wtime() - start), s->exchange_seconds);
    if (status == 0 && *run->app.image)
        status = relativity_picture(&run->app, s);
    relativity_free(s);
    return status;
}

/* The flags as a problem; returns the exit code when they make none. Noise and weak waves must be weak. */
static int make_problem(void *with)
{
    static const char *const starts[STARTS] = {"gauge", "linear", "noise"};
    static const double usual[STARTS] = {0.01, 1e-8, 1e-10};
    struct run *run = with;
    int start = app_find(run->start, starts, STARTS), modes = 0;
    if (start < 0)
        return app_refuse(&run->app, APP_USAGE, "'%s' is no good as --start: gauge, linear or noise is needed", run->start);
    run->p.start = start;
    if (run->p.amplitude < 0)
        run->p.amplitude = usual[start];
    for (int d = 0; d < 3; d++) {
        run->p.cells[d] = run->n[d] > 0 ? run->n[d] : run->cells;
        modes += run->mode[d] > 0;
    }
    for (int d = 0; d < 3; d++)
        run->p.mode[d] = start == NOISE ? 0 : modes > 0 ? run->mode[d] : run->p.cells[d] > 1;
    return relativity_refuse(&run->app, &run->p);
}

static int check(void *with)
{
    const struct run *run = with;
    return relativity_check(&run->app);
}

int main(int argc, char **argv)
{
    static const struct app_parts parts = {.problem = make_problem, .check = check, .simulate = simulate, .timed = timed};
    static struct run run = {
        .p = {.amplitude = -1, .courant = 0.25, .dissipation = 0.1}, .start = "gauge", .cells = 32, .steps = 100, .print = 10};
    const struct app_flag flags[] = {
        {"--start", APP_TEXT, run.start, 0, 0, "NAME", "gauge (the default: a wave of coordinates), linear or noise"},
        {"--cells", APP_WHOLE, &run.cells, 6, 100000, "N", "cells per direction (32)"},
        {"--nx", APP_WHOLE, &run.n[0], 1, 100000, "N", "cells in x, if not --cells; so --ny and --nz"},
        {"--ny", APP_WHOLE, &run.n[1], 1, 100000, "N", "cells in y"},
        {"--nz", APP_WHOLE, &run.n[2], 1, 100000, "N", "cells in z"},
        {"--steps", APP_WHOLE, &run.steps, 0, 1e9, "N", "number of the last step (100)"},
        {"--courant", APP_REAL, &run.p.courant, 1e-3, 1, "C", "time step: how far light goes, in cells (0.25)"},
        {"--amplitude", APP_REAL, &run.p.amplitude, 0, 0.9, "A", "of wave or noise (gauge: 0.01, linear: 1e-8, noise: 1e-10)"},
        {"--mode-x", APP_WHOLE, &run.mode[0], 0, 10000, "N", "waves in x (one in each direction of several cells); so --mode-y and --mode-z"},
        {"--mode-y", APP_WHOLE, &run.mode[1], 0, 10000, "N", "waves in y"},
        {"--mode-z", APP_WHOLE, &run.mode[2], 0, 10000, "N", "waves in z"},
        {"--dissipation", APP_REAL, &run.p.dissipation, 0, 1, "S", "of Kreiss and Oliger (0.1)"},
        {"--print", APP_WHOLE, &run.print, 0, 1e9, "N", "steps between lines of output (10), 0: none"},
        {NULL, APP_SWITCH, NULL, 0, 0, NULL, NULL},
    };
    return app_run(argc, argv, &run.app, "relativity", "Einstein's equations in vacuum: waves and noise on flat space", flags, &parts,
                   &run);
}
