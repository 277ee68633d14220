/* Neutral particles in matter: Kobayashi's benchmark of a source, a void and a shield, or a manufactured solution. */
#include "sweep.h"

#include <math.h>
#include <stdio.h>

struct run {
    struct app app;
    struct problem p;
    char which[APP_TEXT_SIZE], shape[APP_TEXT_SIZE], partition[APP_TEXT_SIZE];
    long bricks, seed, steps, print;
    int no_rays;
    struct sweep s;
};

static int step(void *with)
{
    struct run *run = with;
    sweep_iterate(&run->s);
    return 0;
}

static int is_over(const void *with)
{
    const struct run *run = with;
    return sweep_is_over(&run->s);
}

/* Returns 0, or the exit code when there is nothing to go on with. */
static int print_line(void *with)
{
    const struct run *run = with;
    const struct sweep *s = &run->s;
    struct balance b = sweep_balance(s);
    if (!isfinite(s->change))
        return app_refuse(&run->app, APP_WRONG, "iteration %lld: the flux is no number any more; take a smaller --jitter or --twist",
                          (long long)s->iteration);
    if (run->app.rank == 0) {
        printf("%8lld %14.6e", (long long)s->iteration, s->change);
        if (s->p.which == KOBAYASHI)
            printf(" %14.8f %14.8f %10.1e", b.absorbed, b.leaked, b.off);
        printf("\n");
        fflush(stdout);
    }
    return 0;
}

static int keep(void *with)
{
    const struct run *run = with;
    return sweep_write(&run->app, &run->s);
}

static void print_speed(const struct sweep *s, int64_t iterations)
{
    double seconds = app_slowest(s->comm, s->sweep_seconds);
    if (s->rank == 0 && iterations > 0)
        printf("%lld sweeps in %.3f s: %.2f ns per cell, angle and group, times %d ranks\n", (long long)iterations, seconds,
               1e9 * seconds / ((double)iterations * s->mesh.cells * ORDINATES * GROUPS), s->ranks);
}

/* Bricks come in tens: the seconds are those of as many times more cells as were asked for. */
static double timed(MPI_Comm comm, int times, void *with)
{
    struct run *run = with;
    struct problem p = run->p;
    struct sweep s;
    if (times > 1)
        p.bricks = 10 * lround((double)p.bricks * cbrt(times) / 10);
    sweep_start(&s, comm, &p);
    MPI_Barrier(comm);
    for (long n = 0; n < run->steps; n++)
        sweep_iterate(&s);
    double seconds = app_slowest(comm, s.sweep_seconds) * times * pow((double)run->p.bricks / (double)p.bricks, 3);
    sweep_free(&s);
    return seconds;
}

static int begin(struct run *run)
{
    if (*run->app.restart)
        return sweep_read(&run->app, &run->s, run->p.metis);
    sweep_start(&run->s, MPI_COMM_WORLD, &run->p);
    return 0;
}

static int simulate(void *with)
{
    struct run *run = with;
    struct sweep *s = &run->s;
    const struct app_steps steps = {
        .done = &s->iteration, .last = run->steps, .print = run->print, .step = step, .line = print_line, .keep = keep, .is_over = is_over};
    int status = begin(run);
    if (status != 0)
        return status;
    if (run->app.rank == 0)
        printf("%d cells, %d faces on %d ranks; %d cycles broken\n%8s %14s %14s %14s %10s\n", s->mesh.cells, s->mesh.faces, s->ranks, s->all_breaks,
               "step", "change", "absorbed", "leaked", "balance");
    int64_t from = s->iteration;
    if (from > 0 && (from >= run->steps || sweep_is_over(s)))
        status = print_line(run);
    if (status == 0)
        status = app_advance(&run->app, &steps, run);
    print_speed(s, s->iteration - from);
    if (status == 0 && *run->app.image)
        status = sweep_picture(&run->app, s);
    sweep_free(s);
    return status;
}

static int make_problem(void *with)
{
    static const char *const cases[CASES] = {"kobayashi", "manufactured"}, *const shapes[SHAPES] = {"hexahedra", "tetrahedra"};
    static const char *const partitions[2] = {"bisection", "metis"};
    struct run *run = with;
    int which = app_find(run->which, cases, CASES), shape = app_find(run->shape, shapes, SHAPES);
    int metis = app_find(run->partition, partitions, 2);
    if (which < 0)
        return app_refuse(&run->app, APP_USAGE, "'%s' is no good as --case: kobayashi or manufactured is needed", run->which);
    if (shape < 0)
        return app_refuse(&run->app, APP_USAGE, "'%s' is no good as --shape: hexahedra or tetrahedra is needed", run->shape);
    if (metis < 0)
        return app_refuse(&run->app, APP_USAGE, "'%s' is no good as --partition: bisection or metis is needed", run->partition);
    if (metis && !metis_is_there())
        return app_refuse(&run->app, APP_USAGE, "this sweep was compiled without METIS; install libmetis-dev and compile it again, or leave out --partition");
    run->p.metis = metis;
    run->p.which = which, run->p.shape = shape, run->p.bricks = run->bricks, run->p.seed = run->seed;
    run->p.rays = which == KOBAYASHI && !run->no_rays;
    return sweep_refuse(&run->app, &run->p);
}

static int check(void *with)
{
    const struct run *run = with;
    return sweep_check(&run->app);
}

int main(int argc, char **argv)
{
    static const struct app_parts parts = {.problem = make_problem, .check = check, .simulate = simulate, .timed = timed};
    static struct run run = {.p = {.tolerance = 1e-6}, .which = "kobayashi", .shape = "hexahedra", .partition = "bisection",
                             .bricks = 20, .seed = 1, .steps = 100, .print = 1};
    const struct app_flag flags[] = {
        {"--case", APP_TEXT, run.which, 0, 0, "NAME", "kobayashi (the default: source, void, shield) or manufactured"},
        {"--shape", APP_TEXT, run.shape, 0, 0, "NAME", "hexahedra (the default) or tetrahedra, six per brick"},
        {"--bricks", APP_WHOLE, &run.bricks, 1, 270, "N", "per direction (20)"},
        {"--partition", APP_TEXT, run.partition, 0, 0, "NAME", "which cells a rank has: bisection (the default), or metis where that is installed"},
        {"--no-rays", APP_SWITCH, &run.no_rays, 0, 0, NULL, "kobayashi: sweeps for particles that have not collided, too, with ray effects"},
        {"--jitter", APP_REAL, &run.p.jitter, 0, 0.3, "J", "how far corners are moved at random, in bricks (0)"},
        {"--seed", APP_WHOLE, &run.seed, 0, 2147483647, "N", "of the moves (1)"},
        {"--twist", APP_REAL, &run.p.twist, -6, 6, "A", "manufactured: angle by which the top is turned against the bottom (0)"},
        {"--tolerance", APP_REAL, &run.p.tolerance, 0, 0.1, "T", "largest relative change of an iteration that ends the run (1e-6)"},
        {"--steps", APP_WHOLE, &run.steps, 0, 1e6, "N", "most iterations (100)"},
        {"--print", APP_WHOLE, &run.print, 0, 1e9, "N", "iterations between lines of output (1), 0: none"},
        {NULL, APP_SWITCH, NULL, 0, 0, NULL, NULL},
    };
    return app_run(argc, argv, &run.app, "sweep", "neutral particles in matter, by discrete ordinates on unstructured meshes", flags, &parts,
                   &run);
}
