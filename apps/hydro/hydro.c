/* Compressible gas: shock tube, explosion, sound wave, shear layers. */
#include "hydro.h"

#include <math.h>
#include <stdio.h>

struct run {
    struct app app;
    struct problem p;
    char start[APP_TEXT_SIZE], axis[APP_TEXT_SIZE], border[3][APP_TEXT_SIZE];
    long cells, n[3], steps, print;
    double end;
    struct hydro h;
};

static int step(void *with)
{
    struct run *run = with;
    hydro_step(&run->h, run->end);
    return 0;
}

static int is_over(const void *with)
{
    const struct run *run = with;
    return run->h.time >= run->end;
}

/* Returns 0, or the exit code when there is nothing to go on with. */
static int print_line(void *with)
{
    const struct run *run = with;
    const struct hydro *h = &run->h;
    struct totals t = hydro_totals(h);
    if (!isfinite(t.energy + h->time))
        return app_refuse(&run->app, APP_WRONG, "step %lld: the gas has no finite energy any more; take a smaller --cfl", (long long)h->step);
    if (run->app.rank == 0) {
        printf("%8lld %14.8f %16.9e %16.9e %16.9e %12.6f\n", (long long)h->step, h->time, t.mass, t.energy, t.kinetic, t.most);
        fflush(stdout);
    }
    return 0;
}

static int keep(void *with)
{
    const struct run *run = with;
    return hydro_write(&run->app, &run->h);
}

static double timed(MPI_Comm comm, int times, void *with)
{
    struct run *run = with;
    struct problem p = run->p;
    int d = is_active(&p, 0) ? 0 : 1;
    p.cells[d] *= times;
    if (!hydro_split(&run->h, comm, &p)) {
        grid_refuse(&run->app, p.cells, times, GHOSTS);
        MPI_Abort(MPI_COMM_WORLD, APP_USAGE);
    }
    hydro_start(&run->h);
    run->end = INFINITY;
    double seconds = app_time(comm, run->steps, step, run);
    hydro_free(&run->h);
    return seconds;
}

static int begin(struct run *run)
{
    if (*run->app.restart)
        return hydro_read(&run->app, &run->h);
    if (!hydro_split(&run->h, MPI_COMM_WORLD, &run->p))
        return grid_refuse(&run->app, run->p.cells, run->app.ranks, GHOSTS);
    hydro_start(&run->h);
    return 0;
}

static int simulate(void *with)
{
    struct run *run = with;
    struct hydro *h = &run->h;
    const struct app_steps steps = {
        .done = &h->step, .last = run->steps, .print = run->print, .step = step, .line = print_line, .keep = keep, .is_over = is_over};
    int status = begin(run);
    if (status != 0)
        return status;
    grid_print_size(&h->g);
    if (h->g.rank == 0)
        printf("\n%8s %14s %16s %16s %16s %12s\n", "step", "time", "mass", "energy", "kinetic", "most dense");
    print_line(run);
    int64_t from = h->step;
    h->exchange_seconds = 0;
    double start = MPI_Wtime();
    status = app_advance(&run->app, &steps, run);
    grid_print_speed(&h->g, h->step - from, app_slowest(h->g.comm, MPI_Wtime() - start), h->exchange_seconds);
    if (status == 0 && *run->app.image)
        status = grid_picture(&h->g, &run->app, h->u[DENSITY], 0);
    hydro_free(h);
    return status;
}

/* Cells that were not given: a tube is thin, shear layers are flat. */
static void choose_cells(struct run *run)
{
    for (int d = 0; d < 3; d++) {
        int thin = (run->p.start == SOD && d != run->p.axis) || (run->p.start == SHEAR && d == 0);
        run->p.cells[d] = run->n[d] > 0 ? run->n[d] : thin ? 1 : run->cells;
    }
}

static int make_problem(void *with)
{
    struct run *run = with;
    static const char *const starts[STARTS] = {"sod", "sedov", "wave", "shear"}, *const axes[3] = {"x", "y", "z"};
    static const char *const borders[BORDERS] = {"periodic", "outflow", "reflecting"};
    static const enum border usual[STARTS] = {OUTFLOW, REFLECTING, PERIODIC, PERIODIC};
    int start = app_find(run->start, starts, STARTS), axis = app_find(run->axis, axes, 3);
    if (start < 0)
        return app_refuse(&run->app, APP_USAGE, "'%s' is no good as --start: sod, sedov, wave or shear is needed", run->start);
    if (axis < 0)
        return app_refuse(&run->app, APP_USAGE, "'%s' is no good as --axis: x, y or z is needed", run->axis);
    run->p.start = start, run->p.axis = axis;
    for (int d = 0; d < 3; d++) {
        int border = *run->border[d] ? app_find(run->border[d], borders, BORDERS) : (int)usual[start];
        if (border < 0)
            return app_refuse(&run->app, APP_USAGE, "'%s' is no good as --border-%s: periodic, outflow or reflecting is needed",
                              run->border[d], axes[d]);
        run->p.border[d] = border;
    }
    choose_cells(run);
    return hydro_refuse(&run->app, &run->p);
}

static int check(void *with)
{
    const struct run *run = with;
    return hydro_check(&run->app);
}

int main(int argc, char **argv)
{
    static const struct app_parts parts = {.problem = make_problem, .check = check, .simulate = simulate, .timed = timed};
    static struct run run = {
        .p = {.gamma = 1.4, .cfl = 0.8, .wave = 1e-4},
        .start = "sedov", .axis = "x", .cells = 64, .steps = 100, .print = 50, .end = 1e9};
    const struct app_flag flags[] = {
        {"--start", APP_TEXT, run.start, 0, 0, "NAME", "sedov (the default: an explosion), sod, wave or shear"},
        {"--cells", APP_WHOLE, &run.cells, 4, 100000, "N", "cells per direction (64)"},
        {"--nx", APP_WHOLE, &run.n[0], 1, 100000, "N", "cells in x, if not --cells; so --ny and --nz"},
        {"--ny", APP_WHOLE, &run.n[1], 1, 100000, "N", "cells in y"},
        {"--nz", APP_WHOLE, &run.n[2], 1, 100000, "N", "cells in z"},
        {"--steps", APP_WHOLE, &run.steps, 0, 1e9, "N", "number of the last step (100)"},
        {"--end", APP_REAL, &run.end, 0, 1e9, "T", "or time of the end"},
        {"--cfl", APP_REAL, &run.p.cfl, 1e-3, 1, "C", "time step: how far waves of all directions together go, in cells (0.8)"},
        {"--gamma", APP_REAL, &run.p.gamma, 1.01, 10, "G", "ratio of specific heats (1.4)"},
        {"--border-x", APP_TEXT, run.border[0], 0, 0, "KIND", "periodic, outflow or reflecting; so --border-y and --border-z"},
        {"--border-y", APP_TEXT, run.border[1], 0, 0, "KIND", "ends in y"},
        {"--border-z", APP_TEXT, run.border[2], 0, 0, "KIND", "ends in z"},
        {"--axis", APP_TEXT, run.axis, 0, 0, "D", "sod: direction of the tube (x)"},
        {"--wave", APP_REAL, &run.p.wave, 1e-12, 0.5, "A", "wave: amplitude (1e-4)"},
        {"--print", APP_WHOLE, &run.print, 0, 1e9, "N", "steps between lines of output (50), 0: none"},
        {NULL, APP_SWITCH, NULL, 0, 0, NULL, NULL},
    };
    return app_run(argc, argv, &run.app, "hydro", "compressible gas: shocks, explosions, waves", flags, &parts, &run);
}
