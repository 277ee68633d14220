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
};

/* Returns 0, or the exit code when there is nothing to go on with. */
static int print_line(const struct run *run, const struct hydro *h)
{
    struct totals t = hydro_totals(h);
    if (!isfinite(t.energy + h->time))
        return app_refuse(&run->app, APP_WRONG, "step %lld: the gas has no finite energy any more; take a smaller --cfl", (long long)h->step);
    if (run->app.rank == 0) {
        printf("%8lld %14.8f %16.9e %16.9e %16.9e %12.6f\n", (long long)h->step, h->time, t.mass, t.energy, t.kinetic, t.most);
        fflush(stdout);
    }
    return 0;
}

static int is_over(const struct run *run, const struct hydro *h)
{
    return h->step >= run->steps || h->time >= run->end;
}

static int advance(struct run *run, struct hydro *h)
{
    int status = 0;
    int64_t begin = h->step;
    app_progress(&run->app, begin, begin, run->steps);
    while (!is_over(run, h) && status == 0) {
        hydro_step(h, run->end);
        if (is_over(run, h) || (run->print > 0 && h->step % run->print == 0))
            status = print_line(run, h);
        if (status == 0 && run->app.every > 0 && h->step % run->app.every == 0 && !is_over(run, h))
            status = hydro_write(&run->app, h);
        app_progress(&run->app, begin, h->step, run->steps);
    }
    if (status == 0 && *run->app.checkpoint)
        status = hydro_write(&run->app, h);
    return status;
}

static void print_speed(const struct hydro *h, int64_t steps, double seconds)
{
    double exchange = app_slowest(h->g.comm, h->exchange_seconds);
    double rate = 1e-6 * (double)steps * h->g.n[0] * h->g.n[1] * h->g.n[2] / seconds;
    if (h->g.rank == 0 && steps > 0)
        printf("%lld steps in %.3f s: %.2f million cells/s, %.2f per rank; exchange %.0f %%\n", (long long)steps, seconds, rate,
               rate / h->g.ranks, 100 * exchange / seconds);
}

static double timed(MPI_Comm comm, int times, void *with)
{
    struct run *run = with;
    struct problem p = run->p;
    struct hydro h;
    int d = is_active(&p, 0) ? 0 : 1;
    p.cells[d] *= times;
    if (!hydro_split(&h, comm, &p)) {
        grid_refuse(&run->app, p.cells, times, GHOSTS);
        MPI_Abort(MPI_COMM_WORLD, APP_USAGE);
    }
    hydro_start(&h);
    MPI_Barrier(comm);
    double start = MPI_Wtime();
    for (long s = 0; s < run->steps; s++)
        hydro_step(&h, INFINITY);
    double seconds = app_slowest(comm, MPI_Wtime() - start);
    hydro_free(&h);
    return seconds;
}

static int begin(struct run *run, struct hydro *h)
{
    if (*run->app.restart)
        return hydro_read(&run->app, h);
    if (!hydro_split(h, MPI_COMM_WORLD, &run->p))
        return grid_refuse(&run->app, run->p.cells, run->app.ranks, GHOSTS);
    hydro_start(h);
    return 0;
}

static int simulate(void *with)
{
    struct run *run = with;
    struct hydro h;
    int status = begin(run, &h);
    if (status != 0)
        return status;
    if (run->app.rank == 0)
        printf("%d x %d x %d cells on %d ranks (%d x %d x %d)\n%8s %14s %16s %16s %16s %12s\n", h.g.n[0], h.g.n[1], h.g.n[2], h.g.ranks,
               h.g.dims[0], h.g.dims[1], h.g.dims[2], "step", "time", "mass", "energy", "kinetic", "most dense");
    print_line(run, &h);
    int64_t from = h.step;
    h.exchange_seconds = 0;
    double start = MPI_Wtime();
    status = advance(run, &h);
    print_speed(&h, h.step - from, app_slowest(h.g.comm, MPI_Wtime() - start));
    if (status == 0 && *run->app.image)
        status = grid_picture(&h.g, &run->app, h.u[DENSITY], 0);
    hydro_free(&h);
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
    static const struct app_parts parts = {make_problem, check, simulate, timed};
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
