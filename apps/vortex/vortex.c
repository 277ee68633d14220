/* Vortex rings in a fluid without friction and walls. */
#include "vortex.h"

#include <math.h>
#include <stdio.h>

struct run {
    struct app app;
    struct problem p;
    long around, layers, rings, steps, print;
    struct vortex v;
};

static int look(const struct run *run, const struct invariants *i)
{
    if (isfinite(i->stretched + i->centre[0] + i->centre[1] + i->centre[2]))
        return 0;
    return app_refuse(&run->app, APP_WRONG,
                      "step %lld: the vorticity has grown beyond all numbers, for it was stretched more than the particles resolve; take "
                      "more of them, a larger --smoothing, a smaller --dt or fewer --steps",
                      (long long)run->v.step);
}

/* Returns 0, or the exit code when there is nothing to go on with. */
static int step(void *with)
{
    struct run *run = with;
    vortex_step(&run->v);
    struct invariants i = vortex_invariants(&run->v);
    return look(run, &i);
}

static int print_line(void *with)
{
    const struct run *run = with;
    const struct vortex *v = &run->v;
    struct invariants i = vortex_invariants(v);
    if (run->app.rank == 0) {
        printf("%8lld %10.4f %14.8f %14.8f %14.8f %14.8f %14.8f\n", (long long)v->step, (double)v->step * v->p.dt, i.centre[2],
               i.impulse[0], i.impulse[1], i.impulse[2], i.stretched);
        fflush(stdout);
    }
    return look(run, &i);
}

static int keep(void *with)
{
    const struct run *run = with;
    return vortex_write(&run->app, &run->v);
}

static void print_speed(const struct vortex *v, int64_t steps, double seconds)
{
    double exchange = app_slowest(v->comm, v->exchange_seconds);
    double rate = 1e-6 * (double)v->all * (double)v->all * STAGES * (double)steps / seconds;
    if (v->rank == 0 && steps > 0)
        printf("%lld steps in %.3f s: %.1f million interactions/s, %.1f per rank; exchange %.0f %%\n", (long long)steps, seconds, rate,
               rate / v->ranks, 100 * exchange / seconds);
}

/* As many particles more as there are ranks more make the work grow as their square: weak scaling enlarges by the root. */
static double timed(MPI_Comm comm, int times, void *with)
{
    struct run *run = with;
    struct problem p = run->p;
    p.around = lround((double)p.around * sqrt((double)times));
    vortex_share(&run->v, comm, &p);
    vortex_start(&run->v);
    double seconds = app_time(comm, run->steps, step, run);
    vortex_free(&run->v);
    return seconds;
}

static int begin(struct run *run)
{
    if (*run->app.restart)
        return vortex_read(&run->app, &run->v);
    vortex_share(&run->v, MPI_COMM_WORLD, &run->p);
    vortex_start(&run->v);
    return 0;
}

static int simulate(void *with)
{
    struct run *run = with;
    struct vortex *v = &run->v;
    const struct app_steps steps = {
        .done = &v->step, .last = run->steps, .print = run->print, .step = step, .line = print_line, .keep = keep};
    int status = begin(run);
    if (status != 0)
        return status;
    if (run->app.rank == 0)
        printf("%lld particles on %d ranks\n%8s %10s %14s %14s %14s %14s %14s\n", (long long)v->all, v->ranks, "step", "time", "height",
               "impulse x", "y", "z", "strength");
    print_line(run);
    int64_t from = v->step;
    v->exchange_seconds = 0;
    double start = MPI_Wtime();
    status = app_advance(&run->app, &steps, run);
    print_speed(v, v->step - from, app_slowest(v->comm, MPI_Wtime() - start));
    if (status == 0 && *run->app.image)
        status = vortex_picture(&run->app, v);
    vortex_free(v);
    return status;
}

static int make_problem(void *with)
{
    struct run *run = with;
    run->p.around = run->around, run->p.layers = run->layers, run->p.rings = run->rings;
    return vortex_refuse(&run->app, &run->p);
}

static int check(void *with)
{
    const struct run *run = with;
    return vortex_check(&run->app);
}

int main(int argc, char **argv)
{
    static const struct app_parts parts = {.problem = make_problem, .check = check, .simulate = simulate, .timed = timed};
    static struct run run = {
        .p = {.core = 0.3, .smoothing = 0.15, .distance = 2.6, .tilt = 15, .dt = 0.1},
        .around = 100, .layers = 3, .rings = 2, .steps = 100, .print = 10};
    const struct app_flag flags[] = {
        {"--rings", APP_WHOLE, &run.rings, 1, 2, "N", "1 or 2 (2)"},
        {"--around", APP_WHOLE, &run.around, 3, 100000, "N", "particles around a ring (100)"},
        {"--layers", APP_WHOLE, &run.layers, 0, 50, "N", "layers of a ring's core (3), 0: one thread of particles"},
        {"--core", APP_REAL, &run.p.core, 1e-3, 0.9, "R", "radius of the core, in radii of a ring (0.3)"},
        {"--smoothing", APP_REAL, &run.p.smoothing, 1e-4, 1, "S", "radius of a particle's vorticity (0.15)"},
        {"--distance", APP_REAL, &run.p.distance, 0.1, 100, "D", "of two rings' centres (2.6)"},
        {"--tilt", APP_REAL, &run.p.tilt, -90, 90, "A", "degrees by which two rings' axes lean to each other (15)"},
        {"--dt", APP_REAL, &run.p.dt, 1e-6, 10, "T", "time of a step (0.1)"},
        {"--steps", APP_WHOLE, &run.steps, 0, 1e9, "N", "number of the last step (100)"},
        {"--print", APP_WHOLE, &run.print, 0, 1e9, "N", "steps between lines of output (10), 0: none"},
        {NULL, APP_SWITCH, NULL, 0, 0, NULL, NULL},
    };
    return app_run(argc, argv, &run.app, "vortex", "vortex rings that meet, by vortex particles", flags, &parts, &run);
}
