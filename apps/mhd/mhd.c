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
};

/* Returns 0, or the exit code when there is nothing to go on with. */
static int print_line(const struct run *run, const struct mhd *m)
{
    struct totals t = mhd_totals(m);
    if (!isfinite(t.energy + m->time))
        return app_refuse(&run->app, APP_WRONG, "step %lld: the gas has no finite energy any more; take a smaller --cfl", (long long)m->step);
    if (run->app.rank == 0) {
        printf("%8lld %14.8f %16.9e %16.9e %16.9e %12.2e\n", (long long)m->step, m->time, t.mass, t.energy, t.magnetic, t.divergence);
        fflush(stdout);
    }
    return 0;
}

static int is_over(const struct run *run, const struct mhd *m)
{
    return m->step >= run->steps || m->time >= run->end;
}

static int advance(struct run *run, struct mhd *m)
{
    int status = 0;
    int64_t begin = m->step;
    app_progress(&run->app, begin, begin, run->steps);
    while (!is_over(run, m) && status == 0) {
        mhd_step(m, run->end);
        if (is_over(run, m) || (run->print > 0 && m->step % run->print == 0))
            status = print_line(run, m);
        if (status == 0 && run->app.every > 0 && m->step % run->app.every == 0 && !is_over(run, m))
            status = mhd_write(&run->app, m);
        app_progress(&run->app, begin, m->step, run->steps);
    }
    if (status == 0 && *run->app.checkpoint)
        status = mhd_write(&run->app, m);
    return status;
}

static void print_speed(const struct mhd *m, int64_t steps, double seconds)
{
    double exchange = app_slowest(m->g.comm, m->exchange_seconds);
    double rate = 1e-6 * (double)steps * m->g.n[0] * m->g.n[1] * m->g.n[2] / seconds;
    if (m->g.rank == 0 && steps > 0)
        printf("%lld steps in %.3f s: %.2f million cells/s, %.2f per rank; exchange %.0f %%\n", (long long)steps, seconds, rate,
               rate / m->g.ranks, 100 * exchange / seconds);
}

static double timed(MPI_Comm comm, int times, void *with)
{
    struct run *run = with;
    struct problem p = run->p;
    struct mhd m;
    int d = is_active(&p, 0) ? 0 : 1;
    p.cells[d] *= times;
    if (!mhd_split(&m, comm, &p)) {
        grid_refuse(&run->app, p.cells, times, GHOSTS);
        MPI_Abort(MPI_COMM_WORLD, APP_USAGE);
    }
    mhd_start(&m);
    MPI_Barrier(comm);
    double start = MPI_Wtime();
    for (long s = 0; s < run->steps; s++)
        mhd_step(&m, INFINITY);
    double seconds = app_slowest(comm, MPI_Wtime() - start);
    mhd_free(&m);
    return seconds;
}

static int begin(struct run *run, struct mhd *m)
{
    if (*run->app.restart)
        return mhd_read(&run->app, m);
    if (!mhd_split(m, MPI_COMM_WORLD, &run->p))
        return grid_refuse(&run->app, run->p.cells, run->app.ranks, GHOSTS);
    mhd_start(m);
    return 0;
}

static int simulate(void *with)
{
    struct run *run = with;
    struct mhd m;
    int status = begin(run, &m);
    if (status != 0)
        return status;
    if (run->app.rank == 0)
        printf("%d x %d x %d cells on %d ranks (%d x %d x %d)\n%8s %14s %16s %16s %16s %12s\n", m.g.n[0], m.g.n[1], m.g.n[2], m.g.ranks,
               m.g.dims[0], m.g.dims[1], m.g.dims[2], "step", "time", "mass", "energy", "magnetic", "divergence");
    print_line(run, &m);
    int64_t from = m.step;
    m.exchange_seconds = 0;
    double start = MPI_Wtime();
    status = advance(run, &m);
    print_speed(&m, m.step - from, app_slowest(m.g.comm, MPI_Wtime() - start));
    if (status == 0 && *run->app.image)
        status = grid_picture(&m.g, &run->app, m.u[DENSITY], 1);
    mhd_free(&m);
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
    static const struct app_parts parts = {make_problem, check, simulate, timed};
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
