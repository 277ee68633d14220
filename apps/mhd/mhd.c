/* A gas that conducts, in its magnetic field: shock tubes, waves, vortices, an explosion. */
#include "mhd.h"

#include <math.h>
#include <stdio.h>

struct run {
    struct app app;
    struct problem p;
    char start[APP_TEXT_SIZE], axis[APP_TEXT_SIZE], border[3][APP_TEXT_SIZE];
    long cells, n[3], steps, print;
    double end;
    struct mhd m;
};

static int step(void *with)
{
    struct run *run = with;
    mhd_step(&run->m, run->end);
    return 0;
}

static int is_over(const void *with)
{
    const struct run *run = with;
    return run->m.time >= run->end;
}

/* Returns 0, or the exit code when there is nothing to go on with. */
static int print_line(void *with)
{
    const struct run *run = with;
    const struct mhd *m = &run->m;
    struct totals t = mhd_totals(m);
    if (!isfinite(t.energy + m->time))
        return app_refuse(&run->app, APP_WRONG, "step %lld: the gas has no finite energy any more; take a smaller --cfl", (long long)m->step);
    if (run->app.rank == 0) {
        printf("%8lld %14.8f %16.9e %16.9e %16.9e %12.2e\n", (long long)m->step, m->time, t.mass, t.energy, t.magnetic, t.divergence);
        fflush(stdout);
    }
    return 0;
}

static int keep(void *with)
{
    const struct run *run = with;
    return mhd_write(&run->app, &run->m);
}

static double timed(MPI_Comm comm, int times, void *with)
{
    struct run *run = with;
    struct problem p = run->p;
    int d = is_active(&p, 0) ? 0 : 1;
    p.cells[d] *= times;
    if (!mhd_split(&run->m, comm, &p)) {
        grid_refuse(&run->app, p.cells, times, GHOSTS);
        MPI_Abort(MPI_COMM_WORLD, APP_USAGE);
    }
    mhd_start(&run->m);
    run->end = INFINITY;
    double seconds = app_time(comm, run->steps, step, run);
    mhd_free(&run->m);
    return seconds;
}

static int begin(struct run *run)
{
    if (*run->app.restart)
        return mhd_read(&run->app, &run->m);
    if (!mhd_split(&run->m, MPI_COMM_WORLD, &run->p))
        return grid_refuse(&run->app, run->p.cells, run->app.ranks, GHOSTS);
    mhd_start(&run->m);
    return 0;
}

static int simulate(void *with)
{
    struct run *run = with;
    struct mhd *m = &run->m;
    const struct app_steps steps = {
        .done = &m->step, .last = run->steps, .print = run->print, .step = step, .line = print_line, .keep = keep, .is_over = is_over};
    int status = begin(run);
    if (status != 0)
        return status;
    grid_print_size(&m->g);
    if (m->g.rank == 0)
        printf("\n%8s %14s %16s %16s %16s %12s\n", "step", "time", "mass", "energy", "magnetic", "divergence");
    print_line(run);
    int64_t from = m->step;
    m->exchange_seconds = 0;
    double start = MPI_Wtime();
    status = app_advance(&run->app, &steps, run);
    grid_print_speed(&m->g, m->step - from, app_slowest(m->g.comm, MPI_Wtime() - start), m->exchange_seconds);
    if (status == 0 && *run->app.image)
        status = grid_picture(&m->g, &run->app, m->u[DENSITY], 1);
    mhd_free(m);
    return status;
}

/* What is not given comes from the start: cells (a tube is thin, the vortices are flat), the ends of the box, gamma. */
static void complete(struct run *run)
{
    int is_tube = run->p.start == BRIO_WU || run->p.start == RYU_JONES;
    for (int d = 0; d < 3; d++) {
        int thin = (is_tube && d != run->p.axis) || (run->p.start == ORSZAG_TANG && d == 0);
        run->p.cells[d] = run->n[d] > 0 ? run->n[d] : thin ? 1 : run->cells;
    }
    if (run->p.gamma == 0)
        run->p.gamma = run->p.start == BRIO_WU ? 2 : 5.0 / 3;
}

static int make_problem(void *with)
{
    struct run *run = with;
    static const char *const starts[STARTS] = {"orszag-tang", "brio-wu", "ryu-jones", "alfven", "fast", "slow", "blast"};
    static const char *const axes[3] = {"x", "y", "z"}, *const borders[BORDERS] = {"periodic", "outflow"};
    int start = app_find(run->start, starts, STARTS), axis = app_find(run->axis, axes, 3);
    if (start < 0)
        return app_refuse(&run->app, APP_USAGE, "'%s' is no good as --start: orszag-tang, brio-wu, ryu-jones, alfven, fast, slow or blast is needed",
                          run->start);
    if (axis < 0)
        return app_refuse(&run->app, APP_USAGE, "'%s' is no good as --axis: x, y or z is needed", run->axis);
    run->p.start = start, run->p.axis = axis;
    for (int d = 0; d < 3; d++) {
        int usual = start == BRIO_WU || start == RYU_JONES || start == BLAST ? OUTFLOW : PERIODIC;
        int border = *run->border[d] ? app_find(run->border[d], borders, BORDERS) : usual;
        if (border < 0)
            return app_refuse(&run->app, APP_USAGE, "'%s' is no good as --border-%s: periodic or outflow is needed", run->border[d], axes[d]);
        run->p.border[d] = border;
    }
    complete(run);
    return mhd_refuse(&run->app, &run->p);
}

static int check(void *with)
{
    const struct run *run = with;
    return mhd_check(&run->app);
}

int main(int argc, char **argv)
{
    static const struct app_parts parts = {.problem = make_problem, .check = check, .simulate = simulate, .timed = timed};
    static struct run run = {.p = {.cfl = 0.8, .wave = 0.1}, .start = "orszag-tang", .axis = "x", .cells = 64, .steps = 100, .print = 50, .end = 1e9};
    const struct app_flag flags[] = {
        {"--start", APP_TEXT, run.start, 0, 0, "NAME", "orszag-tang (the default: vortices), brio-wu, ryu-jones, alfven, fast, slow or blast"},
        {"--cells", APP_WHOLE, &run.cells, 6, 100000, "N", "cells per direction (64)"},
        {"--nx", APP_WHOLE, &run.n[0], 1, 100000, "N", "cells in x, if not --cells; so --ny and --nz"},
        {"--ny", APP_WHOLE, &run.n[1], 1, 100000, "N", "cells in y"},
        {"--nz", APP_WHOLE, &run.n[2], 1, 100000, "N", "cells in z"},
        {"--steps", APP_WHOLE, &run.steps, 0, 1e9, "N", "number of the last step (100)"},
        {"--end", APP_REAL, &run.end, 0, 1e9, "T", "or time of the end"},
        {"--cfl", APP_REAL, &run.p.cfl, 1e-3, 1, "C", "time step: how far waves of all directions together go, in cells (0.8)"},
        {"--gamma", APP_REAL, &run.p.gamma, 1.01, 10, "G", "ratio of specific heats (5/3; brio-wu: 2)"},
        {"--border-x", APP_TEXT, run.border[0], 0, 0, "KIND", "periodic or outflow; so --border-y and --border-z"},
        {"--border-y", APP_TEXT, run.border[1], 0, 0, "KIND", "ends in y"},
        {"--border-z", APP_TEXT, run.border[2], 0, 0, "KIND", "ends in z"},
        {"--axis", APP_TEXT, run.axis, 0, 0, "D", "brio-wu, ryu-jones: direction of the tube (x)"},
        {"--wave", APP_REAL, &run.p.wave, 1e-12, 0.5, "A", "alfven, fast, slow: amplitude (0.1)"},
        {"--print", APP_WHOLE, &run.print, 0, 1e9, "N", "steps between lines of output (50), 0: none"},
        {NULL, APP_SWITCH, NULL, 0, 0, NULL, NULL},
    };
    return app_run(argc, argv, &run.app, "mhd", "magnetohydrodynamics: shocks, waves, vortices in a magnetic field", flags, &parts, &run);
}
