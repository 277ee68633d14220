/* Barnes and Hut's tree code on shared objects: the application of SAM's paper on PVM clusters. */
#include "barnes.h"
#include "../common/among.h"
#include "../../common/plummer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct clock {
    int64_t step;
    double first_energy, first_potential;
};

struct run {
    struct app app;
    long bodies, steps, seed, sample, lines;
    double dt, accuracy, softening;
    struct universe u;
    struct clock c;
};

/* What a checkpoint has beside the bodies. */
struct head {
    int64_t total, step;
    double dt, softening, accuracy, first_energy, first_potential;
};

/* Steps that no run comes to: a run's names have the number of its series in front of that of the step. */
enum { STEP_BITS = 40 };

static void open_universe(struct run *run, MPI_Comm comm, struct universe *u)
{
    memset(u, 0, sizeof *u);
    u->app = &run->app;
    u->total = run->bodies;
    u->accuracy = run->accuracy;
    u->softening = run->softening;
    u->step = new_series(comm) << STEP_BITS;
}

static void close_universe(struct universe *u)
{
    free_top(u);
    free(u->bodies);
    free(u->groups);
    free(u->cells);
    lists_free(&u->lists);
}

/* This rank's share of the start. The first forces twice: the bounds of the second need the accelerations of the first. */
static void start(struct run *run, MPI_Comm comm, struct universe *u)
{
    open_universe(run, comm, u);
    int64_t first = u->total * run->app.rank / run->app.ranks, behind = u->total * (run->app.rank + 1) / run->app.ranks;
    u->count = (int)(behind - first);
    u->bodies = app_memory((size_t)u->count + 1, sizeof *u->bodies);
    memset(u->bodies, 0, (size_t)u->count * sizeof *u->bodies);
    for (int i = 0; i < u->count; i++) {
        struct body *b = &u->bodies[i];
        plummer_body(run->seed, first + i, b->x, b->v);
        b->mass = 1.0 / (double)u->total;
        b->id = first + i;
        b->work = 1;
    }
    centre(u);
    /* A part of the mean distance between bodies. */
    if (u->softening == 0)
        u->softening = 0.5 / cbrt((double)u->total);
    find_forces(u);
    u->bounded = 1;
    find_forces(u);
    u->seconds = 0;
}

static void kick(const struct run *run, struct universe *u)
{
    for (int i = 0; i < u->count; i++)
        for (int d = 0; d < 3; d++)
            u->bodies[i].v[d] += 0.5 * run->dt * u->bodies[i].a[d];
}

/* Leap-frog. */
static void step(const struct run *run, struct universe *u)
{
    kick(run, u);
    for (int i = 0; i < u->count; i++)
        for (int d = 0; d < 3; d++)
            u->bodies[i].x[d] += run->dt * u->bodies[i].v[d];
    find_forces(u);
    kick(run, u);
}

static double energy_change(const struct sums *s, const struct clock *c)
{
    return (s->kinetic + s->potential - c->first_energy) / fabs(c->first_potential);
}

static int next(void *with)
{
    struct run *run = with;
    step(run, &run->u);
    run->c.step++;
    return 0;
}

static int print_line(void *with)
{
    struct run *run = with;
    struct universe *u = &run->u;
    const struct clock *c = &run->c;
    struct sums s = sum_up(u);
    if (run->app.rank == 0)
        printf("%7lld %11.6f %13.8f %13.8f %13.3e %11.3e %9.0f\n", (long long)c->step,
               (double)c->step * run->dt, s.kinetic, s.potential, energy_change(&s, c), s.momentum / s.speed,
               (double)s.interactions / (double)u->total);
    fflush(stdout);
    return 0;
}

static void print_bits(const struct run *run, const struct sums *s)
{
    if (run->app.rank == 0)
        printf("sum of the bodies' bits %016llx, the same on any number of ranks\n", (unsigned long long)s->bits);
}

static void print_errors(const struct run *run, struct universe *u)
{
    if (run->sample == 0)
        return;
    struct errors e = compare_with_direct(u, (int)run->sample);
    if (run->app.rank == 0)
        printf("force errors, %d bodies against direct sums: rms %.4f %%, wanted %.4f %%; 99th percentile %.4f %%, largest %.3f %%\n",
               e.sample, 100 * e.rms, 100 * u->accuracy, 100 * e.percentile99, 100 * e.largest);
}

static int keep(void *with)
{
    const struct run *run = with;
    const struct universe *u = &run->u;
    const struct clock *c = &run->c;
    struct head head = {u->total, c->step, run->dt, u->softening, u->accuracy, c->first_energy, c->first_potential};
    struct app_state state = {&head, sizeof head, u->bodies, sizeof *u->bodies, u->count};
    sam_barrier();
    return app_checkpoint_write(&run->app, MPI_COMM_WORLD, run->app.checkpoint, &state);
}

/* Bodies as a checkpoint has them, with accelerations; where their ranks were does not matter. */
static int read_checkpoint(struct run *run, struct universe *u, struct clock *c)
{
    struct head head;
    struct app_state state = {&head, sizeof head, NULL, sizeof *u->bodies, 0};
    int status = app_checkpoint_read(&run->app, MPI_COMM_WORLD, run->app.restart, &state);
    if (status != 0)
        return status;
    run->bodies = head.total, run->dt = head.dt;
    run->softening = head.softening, run->accuracy = head.accuracy;
    open_universe(run, MPI_COMM_WORLD, u);
    u->bounded = 1;
    u->bodies = state.records;
    u->count = (int)state.count;
    for (int i = 0; i < u->count; i++)
        u->interactions += u->bodies[i].work;
    *c = (struct clock){head.step, head.first_energy, head.first_potential};
    return 0;
}

static int begin(struct run *run, struct universe *u, struct clock *c)
{
    if (*run->app.restart)
        return read_checkpoint(run, u, c);
    start(run, MPI_COMM_WORLD, u);
    struct sums s = sum_up(u);
    *c = (struct clock){0, s.kinetic + s.potential, s.potential};
    return 0;
}

static void print_speed(const struct run *run, struct universe *u, int64_t forces)
{
    sam_counters counters;
    sam_get_counters(&counters);
    long mine[2] = {(long)counters.uses, (long)counters.misses};
    sam_barrier();
    double seconds = app_slowest(MPI_COMM_WORLD, u->seconds);
    MPI_Allreduce(MPI_IN_PLACE, mine, 2, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    if (run->app.rank == 0 && forces > 0)
        printf("%lld forces in %.4f s on %d ranks: %.0f bodies/s; %ld uses of values since the start, %ld had to wait\n",
                (long long)forces, seconds, run->app.ranks, (double)u->total * (double)forces / seconds, mine[0], mine[1]);
}

static int simulate(void *with)
{
    struct run *run = with;
    struct universe *u = &run->u;
    const struct app_steps steps = {
        .done = &run->c.step, .last = run->steps, .print = run->lines, .step = next, .line = print_line, .keep = keep};
    int status = begin(run, u, &run->c);
    if (status != 0)
        return status;
    if (run->app.rank == 0)
        printf("%lld bodies, softening %.3g\n%7s %11s %13s %13s %13s %11s %9s\n", (long long)u->total, u->softening, "step",
               "time", "kinetic", "potential", "energy change", "momentum", "work/body");
    print_line(run);
    print_errors(run, u);
    int64_t from = run->c.step;
    u->seconds = 0;
    status = app_advance(&run->app, &steps, run);
    print_speed(run, u, run->c.step - from);
    if (run->c.step > from)
        print_errors(run, u);
    struct sums end = sum_up(u);
    print_bits(run, &end);
    if (status == 0 && *run->app.image)
        status = picture(u, run->app.image);
    close_universe(u);
    return status;
}

/* The first ranks alone; what belongs to the others' runs stays as it is. */
static double timed(MPI_Comm comm, int times, void *with)
{
    struct run some = *(const struct run *)with;
    MPI_Comm_size(comm, &some.app.ranks);
    some.bodies *= times;
    together_among(comm);
    start(&some, comm, &some.u);
    double seconds = time_among(comm, some.steps, next, &some);
    close_universe(&some.u);
    return seconds;
}

static int judge(const struct run *run, const char *what, double got, double limit)
{
    return app_judge(&run->app, fabs(got) <= limit, "  %-38s %10.2e, allowed %g", what, got, limit);
}

/* Limits of --check. Energy and momentum: some times what is seen. */
static const double RMS = 1e-3, ENERGY = 2e-4, MOMENTUM = 2e-4;
enum { CHECK_BODIES = 10000, CHECK_STEPS = 10, CHECK_SAMPLE = 500 };

static int check(void *with)
{
    struct run *run = with;
    struct universe u;
    run->bodies = CHECK_BODIES;
    run->accuracy = RMS;
    start(run, MPI_COMM_WORLD, &u);
    struct sums s = sum_up(&u);
    struct clock c = {0, s.kinetic + s.potential, s.potential};
    struct errors before = compare_with_direct(&u, CHECK_SAMPLE);
    for (int i = 0; i < CHECK_STEPS; i++)
        step(run, &u);
    struct errors after = compare_with_direct(&u, CHECK_SAMPLE);
    s = sum_up(&u);
    if (run->app.rank == 0)
        printf("Plummer's sphere, %lld bodies, %d steps\n", (long long)u.total, CHECK_STEPS);
    int good = judge(run, "rms force error at the start", before.rms, RMS);
    good &= judge(run, "rms force error at the end", after.rms, RMS);
    good &= judge(run, "energy change / potential energy", energy_change(&s, &c), ENERGY);
    good &= judge(run, "momentum / (mass x rms speed)", s.momentum / s.speed, MOMENTUM);
    /* Plummer's model in these units has -1/4; a sample of N bodies scatters by about 1 / sqrt(N). */
    good &= judge(run, "energy + 1/4", c.first_energy + 0.25, 1 / sqrt((double)u.total));
    print_bits(run, &s);
    close_universe(&u);
    return app_verdict(&run->app, good);
}

static int sensible(void *with)
{
    const struct run *run = with;
    const struct app *app = &run->app;
    sam_set_home(home_of);
    sam_init();
    if (run->bodies / app->ranks > 100000000)
        return app_refuse(app, APP_USAGE, "%ld bodies on %d ranks are more than 100 million per rank; take more ranks",
                          run->bodies, app->ranks);
    return 0;
}

static void finish(void *with)
{
    (void)with;
    sam_finish();
}

int main(int argc, char **argv)
{
    static const struct app_parts parts = {.problem = sensible, .check = check, .simulate = simulate, .timed = timed, .end = finish};
    static struct run run = {.bodies = 25000, .steps = 10, .seed = 1, .sample = 500, .lines = 10, .dt = 0.01, .accuracy = 1e-3};
    const struct app_flag flags[] = {
        {"--bodies", APP_WHOLE, &run.bodies, 2, 1e12, "N", "how many (25000, the paper's)"},
        {"--steps", APP_WHOLE, &run.steps, 0, 1e9, "N", "number of the last step (10)"},
        {"--dt", APP_REAL, &run.dt, 1e-9, 10, "T", "time of a step (0.01)"},
        {"--accuracy", APP_REAL, &run.accuracy, 1e-9, 0.1, "A", "rms relative force error that is wanted (0.001)"},
        {"--softening", APP_REAL, &run.softening, 0, 10, "R", "softening length, 0: by the number of bodies (0)"},
        {"--seed", APP_WHOLE, &run.seed, 0, 2147483647, "N", "of the start (1)"},
        {"--sample", APP_WHOLE, &run.sample, 0, 100000, "N", "bodies whose forces are checked by direct sums (500)"},
        {"--lines", APP_WHOLE, &run.lines, 0, 1e9, "N", "steps between lines of output (10)"},
        {NULL, APP_SWITCH, NULL, 0, 0, NULL, NULL},
    };
    return app_run(argc, argv, &run.app, "sam_barnes", "gravity of N bodies on shared objects", flags, &parts, &run);
}
