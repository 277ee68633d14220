/* Incompressible flow in a plane: a cavity with a lid that moves, vortices that fade, shear layers that roll up. */
#include "aspcg.h"

#include <math.h>
#include <stdio.h>

struct run {
    struct app app;
    struct problem p;
    char which[APP_TEXT_SIZE];
    long cells, n[2], block, overlap, sweeps, steps, print;
    struct flow f;
};

static int step(void *with)
{
    struct run *run = with;
    if (flow_step(&run->f))
        return 0;
    return app_refuse(&run->app, APP_WRONG, "step %lld: the pressure does not converge to %g; take a larger --tolerance or a smaller --cfl",
                      (long long)run->f.step + 1, run->f.p.tolerance);
}

/* Returns 0, or the exit code when there is nothing to go on with. */
static int print_line(void *with)
{
    struct run *run = with;
    struct flow *f = &run->f;
    struct totals t = flow_totals(f);
    if (!isfinite(t.kinetic))
        return app_refuse(&run->app, APP_WRONG, "step %lld: the flow has no finite energy any more; take a smaller --cfl", (long long)f->step);
    if (run->app.rank == 0) {
        printf("%8lld %14.8f %16.9e %12.3e %10d\n", (long long)f->step, f->time, t.kinetic, t.divergence, f->iterations);
        fflush(stdout);
    }
    return 0;
}

static int keep(void *with)
{
    const struct run *run = with;
    return flow_write(&run->app, &run->f);
}

/* Operations of an iteration for a cell, as they stand in solver.c and schwarz.c: two products of vectors, the operator, three vectors that
 * go on; a first sweep, the others, and the sum, on blocks that overlap. */
static double operations(const struct solver *s)
{
    double side = s->block + 2 * s->overlap, more = side * side / ((double)s->block * s->block);
    return 17 + more * (1 + 7 * (s->sweeps - 1) + 1);
}

static void print_speed(const struct flow *f, int64_t steps, double seconds)
{
    double solving = app_slowest(f->g.comm, f->solver.seconds);
    double rate = 1e-6 * (double)f->solver.iterations * f->g.n[X] * f->g.n[Y] / solving;
    if (f->g.rank == 0 && steps > 0)
        printf("%lld steps in %.3f s, %.0f %% of it in %ld iterations: %.2f million cells/s and iteration, %.2f per rank; %.2f Gflop/s\n", (long long)steps,
               seconds, 100 * solving / seconds, f->solver.iterations, rate, rate / f->g.ranks, 1e-3 * rate * operations(&f->solver));
}

static double timed(MPI_Comm comm, int times, void *with)
{
    struct run *run = with;
    struct problem p = run->p;
    p.cells[1] *= times;
    if (!flow_split(&run->f, comm, &p)) {
        flow_refuse_ranks(&run->app, &p, times);
        MPI_Abort(MPI_COMM_WORLD, APP_USAGE);
    }
    flow_start(&run->f);
    double seconds = app_time(comm, run->steps, step, run);
    flow_free(&run->f);
    return seconds;
}

static int begin(struct run *run)
{
    if (*run->app.restart)
        return flow_read(&run->app, &run->f);
    if (!flow_split(&run->f, MPI_COMM_WORLD, &run->p))
        return flow_refuse_ranks(&run->app, &run->p, run->app.ranks);
    flow_start(&run->f);
    return 0;
}

static int simulate(void *with)
{
    struct run *run = with;
    struct flow *f = &run->f;
    const struct app_steps steps = {
        .done = &f->step, .last = run->steps, .print = run->print, .step = step, .line = print_line, .keep = keep};
    int status = begin(run);
    if (status != 0)
        return status;
    if (run->app.rank == 0)
        printf("%d x %d cells in blocks of %d on %d ranks (%d x %d)\n%8s %14s %16s %12s %10s\n", f->g.n[X], f->g.n[Y], f->solver.block,
               f->g.ranks, f->g.dims[X], f->g.dims[Y], "step", "time", "kinetic", "divergence", "iterations");
    print_line(run);
    int64_t from = f->step;
    double start = MPI_Wtime();
    status = app_advance(&run->app, &steps, run);
    print_speed(f, f->step - from, app_slowest(f->g.comm, MPI_Wtime() - start));
    if (status == 0 && *run->app.image)
        status = flow_picture(&run->app, f);
    flow_free(f);
    return status;
}

static int make_problem(void *with)
{
    struct run *run = with;
    static const char *const cases[CASES] = {"cavity", "vortices", "shear"};
    int which = app_find(run->which, cases, CASES);
    if (which < 0)
        return app_refuse(&run->app, APP_USAGE, "'%s' is no good as --case: cavity, vortices or shear is needed", run->which);
    run->p.which = which;
    for (int d = 0; d < 2; d++)
        run->p.cells[d] = run->n[d] > 0 ? run->n[d] : run->cells;
    run->p.block = run->block, run->p.overlap = run->overlap, run->p.sweeps = run->sweeps;
    return flow_refuse(&run->app, &run->p);
}

static int check(void *with)
{
    const struct run *run = with;
    return flow_check(&run->app);
}

int main(int argc, char **argv)
{
    static const struct app_parts parts = {.problem = make_problem, .check = check, .simulate = simulate, .timed = timed};
    static struct run run = {
        .p = {.relaxation = 0.9, .tolerance = 1e-6, .reynolds = 1000, .cfl = 0.8},
        .which = "cavity", .cells = 128, .block = 16, .overlap = 1, .sweeps = 4, .steps = 1000, .print = 100};
    const struct app_flag flags[] = {
        {"--case", APP_TEXT, run.which, 0, 0, "NAME", "cavity (the default), vortices or shear"},
        {"--cells", APP_WHOLE, &run.cells, 4, 100000, "N", "cells per direction (128)"},
        {"--nx", APP_WHOLE, &run.n[0], 4, 100000, "N", "cells in x, if not --cells; so --ny"},
        {"--ny", APP_WHOLE, &run.n[1], 4, 100000, "N", "cells in y"},
        {"--reynolds", APP_REAL, &run.p.reynolds, 1e-3, 1e9, "R", "1 / viscosity, where velocity and width of the box are 1 (1000)"},
        {"--steps", APP_WHOLE, &run.steps, 0, 1e9, "N", "number of the last step (1000)"},
        {"--cfl", APP_REAL, &run.p.cfl, 1e-3, 1, "C", "time step, of what a quarter of a cell and friction allow (0.8)"},
        {"--tolerance", APP_REAL, &run.p.tolerance, 1e-12, 0.1, "T", "residual of the pressure, relative to its source (1e-6)"},
        {"--block", APP_WHOLE, &run.block, 1, 4096, "N", "cells of a block in each direction (16)"},
        {"--overlap", APP_WHOLE, &run.overlap, 0, MOST_OVERLAP, "N", "cells around a block that belong to its subdomain (1)"},
        {"--sweeps", APP_WHOLE, &run.sweeps, 1, 1000, "N", "of Richardson's iteration on a subdomain (4)"},
        {"--relaxation", APP_REAL, &run.p.relaxation, 1e-3, 1, "W", "of a sweep (0.9)"},
        {"--print", APP_WHOLE, &run.print, 0, 1e9, "N", "steps between lines of output (100), 0: none"},
        {NULL, APP_SWITCH, NULL, 0, 0, NULL, NULL},
    };
    return app_run(argc, argv, &run.app, "aspcg", "incompressible flow, its pressure by preconditioned conjugate gradients", flags, &parts, &run);
}
