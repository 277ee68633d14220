/* Gravity of N bodies with a tree: Plummer's sphere, or a ball of the universe. */
#include "treecode.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum start { PLUMMER, SPHERE };

/* The problem; part of a checkpoint. */
struct problem {
    int64_t start, bodies, seed;
    double softening, accuracy, redshift;
    double dt;    /* of a step, or */
    double ratio; /* of the time after a step to that before it */
};

struct clock {
    int64_t step;
    double first_energy, first_potential;
};

struct run {
    struct app app;
    struct problem p;
    char start[APP_TEXT_SIZE];
    long bodies, seed, steps, sample, every_line;
    struct universe u;
    struct clock c;
};

struct head {
    struct problem p;
    int64_t step;
    double time, first_energy, first_potential;
};

static void kick(struct universe *u, double dt)
{
    for (int i = 0; i < u->count; i++)
        for (int d = 0; d < 3; d++)
            u->bodies[i].v[d] += dt * u->bodies[i].a[d];
}

static void drift(struct universe *u, double dt)
{
    for (int i = 0; i < u->count; i++)
        for (int d = 0; d < 3; d++)
            u->bodies[i].x[d] += dt * u->bodies[i].v[d];
}

static void step(const struct problem *p, struct universe *u)
{
    double dt = p->start == SPHERE ? u->time * (p->ratio - 1) : p->dt;
    kick(u, dt / 2);
    drift(u, dt);
    find_forces(u, 1);
    kick(u, dt / 2);
    u->time += dt;
}

static void open_universe(const struct problem *p, MPI_Comm comm, struct universe *u)
{
    memset(u, 0, sizeof *u);
    MPI_Comm_dup(comm, &u->tree.comm);
    MPI_Comm_rank(comm, &u->tree.rank);
    MPI_Comm_size(comm, &u->tree.ranks);
    u->total = p->bodies;
    u->accuracy = p->accuracy;
    u->softening = p->softening;
}

static void close_universe(struct universe *u)
{
    tree_free(&u->tree);
    free(u->bodies);
}

/* The first forces, twice: the bounds of the second need the accelerations of the first. */
static void start(struct problem *p, MPI_Comm comm, struct universe *u)
{
    open_universe(p, comm, u);
    if (p->start == SPHERE)
        start_sphere(u, p->seed, p->redshift);
    else
        start_plummer(u, p->seed);
    p->bodies = u->total;
    /* A part of the mean distance between bodies, which is about 1 / cbrt(N) times the radius. */
    if (p->softening == 0)
        p->softening = u->softening = (p->start == SPHERE ? 0.04 : 0.5) / cbrt((double)u->total);
    find_forces(u, 0);
    find_forces(u, 1);
}

static uint64_t all_interactions(const struct universe *u)
{
    uint64_t all;
    MPI_Allreduce(&u->tree.interactions, &all, 1, MPI_UINT64_T, MPI_SUM, u->tree.comm);
    return all;
}

static double momentum(const struct sums *s)
{
    return sqrt(s->momentum[0] * s->momentum[0] + s->momentum[1] * s->momentum[1] +
                s->momentum[2] * s->momentum[2]);
}

/* Energy relative to the potential energy of the start; momentum to that of all bodies one way. */
static double energy_change(const struct sums *s, const struct clock *c)
{
    return (s->kinetic + s->potential - c->first_energy) / fabs(c->first_potential);
}

static double momentum_part(const struct sums *s)
{
    return momentum(s) / sqrt(2 * s->kinetic * s->mass);
}

static int next(void *with)
{
    struct run *run = with;
    step(&run->p, &run->u);
    run->c.step++;
    return 0;
}

static int print_line(void *with)
{
    const struct run *run = with;
    const struct universe *u = &run->u;
    const struct clock *c = &run->c;
    struct sums s = sum_up(u);
    uint64_t interactions = all_interactions(u);
    if (run->app.rank == 0) {
        printf("%7lld %11.6f %13.8f %13.8f %13.3e %11.3e %9.0f\n", (long long)c->step, u->time,
               s.kinetic, s.potential, energy_change(&s, c), momentum_part(&s),
               (double)interactions / (double)u->total);
        fflush(stdout);
    }
    return 0;
}

static void print_errors(const struct run *run, const struct universe *u)
{
    if (run->sample == 0)
        return;
    struct errors e = compare_with_direct(u, (int)run->sample);
    if (run->app.rank == 0)
        printf("force errors, %d bodies against direct sums: rms %.4f %%, 99th percentile %.4f %%, largest %.3f %%\n",
               e.sample, 100 * e.rms, 100 * e.percentile99, 100 * e.largest);
}

static int keep(void *with)
{
    const struct run *run = with;
    const struct universe *u = &run->u;
    const struct clock *c = &run->c;
    struct head head;
    memset(&head, 0, sizeof head);
    head.p = run->p;
    head.step = c->step;
    head.time = u->time;
    head.first_energy = c->first_energy;
    head.first_potential = c->first_potential;
    struct app_state state = {&head, sizeof head, u->bodies, sizeof *u->bodies, u->count};
    return app_checkpoint_write(&run->app, u->tree.comm, run->app.checkpoint, &state);
}

static int begin(struct run *run)
{
    struct universe *u = &run->u;
    struct clock *c = &run->c;
    struct head head;
    struct app_state state = {&head, sizeof head, NULL, sizeof(struct body), 0};
    if (*run->app.restart == '\0') {
        start(&run->p, MPI_COMM_WORLD, u);
        struct sums s = sum_up(u);
        *c = (struct clock){0, s.kinetic + s.potential, s.potential};
        return 0;
    }
    int status = app_checkpoint_read(&run->app, MPI_COMM_WORLD, run->app.restart, &state);
    if (status != 0)
        return status;
    run->p = head.p;
    open_universe(&run->p, MPI_COMM_WORLD, u);
    u->bodies = state.records;
    u->count = (int)state.count;
    u->time = head.time;
    *c = (struct clock){head.step, head.first_energy, head.first_potential};
    return 0;
}

/* Bodies and interactions per second over `steps` forces. */
static void print_speed(const struct run *run, const struct universe *u, int64_t steps)
{
    double seconds = app_slowest(u->tree.comm, u->force_seconds);
    double newtons = (double)all_interactions(u) * (double)steps / seconds;
    double rate = (double)u->total * (double)steps / seconds;
    if (run->app.rank == 0 && steps > 0)
        printf("%lld forces in %.3f s: %.0f bodies/s, %.0f per rank; about %.0f million interactions/s\n",
               (long long)steps, seconds, rate, rate / u->tree.ranks, 1e-6 * newtons);
}

static int simulate(void *with)
{
    struct run *run = with;
    struct universe *u = &run->u;
    const struct app_steps steps = {
        .done = &run->c.step, .last = run->steps, .print = run->every_line, .step = next, .line = print_line, .keep = keep};
    int status = begin(run);
    if (status != 0)
        return status;
    if (run->app.rank == 0)
        printf("%lld bodies on %d ranks, softening %.3g\n%7s %11s %13s %13s %13s %11s %9s\n",
               (long long)u->total, run->app.ranks, u->softening, "step", "time", "kinetic", "potential",
               "energy change", "momentum", "work/body");
    print_line(run);
    print_errors(run, u);
    u->force_seconds = 0;
    int64_t from = run->c.step;
    status = app_advance(&run->app, &steps, run);
    print_speed(run, u, run->c.step - from);
    if (run->c.step > from)
        print_errors(run, u);
    if (status == 0 && *run->app.image)
        status = picture(&run->app, u, run->p.start == SPHERE ? 1.05 : 2, run->app.image);
    close_universe(u);
    return status;
}

static double timed(MPI_Comm comm, int times, void *with)
{
    struct run *run = with;
    struct problem p = run->p;
    run->p.bodies *= times;
    start(&run->p, comm, &run->u);
    double seconds = app_time(comm, run->steps, next, run);
    close_universe(&run->u);
    run->p = p;
    return seconds;
}

/* Limits of --check. Energy and momentum: some times what is seen. */
static const double RMS = 1e-3, ENERGY = 2e-4, MOMENTUM = 2e-4;
enum { CHECK_BODIES = 10000, SPHERE_STEPS = 200, CHECK_STEPS = 10, CHECK_SAMPLE = 500 };

static int judge(const struct run *run, const char *what, double got, double limit)
{
    return app_judge(&run->app, fabs(got) <= limit, "  %-38s %10.2e, allowed %g", what, got, limit);
}

static int check_one(struct run *run, enum start kind, const char *name)
{
    struct problem p = run->p;
    struct universe u;
    p.start = kind;
    p.bodies = CHECK_BODIES;
    p.accuracy = RMS;
    p.ratio = pow(1 + p.redshift, 1.5 / SPHERE_STEPS);
    start(&p, MPI_COMM_WORLD, &u);
    struct sums s = sum_up(&u);
    struct clock c = {0, s.kinetic + s.potential, s.potential};
    struct errors before = compare_with_direct(&u, CHECK_SAMPLE);
    for (int i = 0; i < CHECK_STEPS; i++)
        step(&p, &u);
    struct errors after = compare_with_direct(&u, CHECK_SAMPLE);
    s = sum_up(&u);
    if (run->app.rank == 0)
        printf("%s, %lld bodies, %d steps\n", name, (long long)u.total, CHECK_STEPS);
    int good = judge(run, "rms force error at the start", before.rms, RMS);
    good &= judge(run, "rms force error at the end", after.rms, RMS);
    good &= judge(run, "energy change / potential energy", energy_change(&s, &c), ENERGY);
    good &= judge(run, "momentum / (mass x rms speed)", momentum_part(&s), MOMENTUM);
    /* Plummer's model in these units has -1/4; a sample of N bodies scatters by about 1 / sqrt(N). */
    if (kind == PLUMMER)
        good &= judge(run, "energy + 1/4", c.first_energy + 0.25, 1 / sqrt((double)u.total));
    close_universe(&u);
    return good;
}

static int check(void *with)
{
    struct run *run = with;
    int good = check_one(run, PLUMMER, "Plummer's sphere");
    good &= check_one(run, SPHERE, "ball of an Einstein-de Sitter universe");
    return app_verdict(&run->app, good);
}

/* Turns what the flags say into the problem; 0, or an exit code. */
static int settle(void *with)
{
    struct run *run = with;
    if (strcmp(run->start, "plummer") == 0)
        run->p.start = PLUMMER;
    else if (strcmp(run->start, "sphere") == 0)
        run->p.start = SPHERE;
    else
        return app_refuse(&run->app, APP_USAGE, "'%s' is no good as --start: plummer or sphere is needed",
                          run->start);
    if (run->bodies / run->app.ranks > 100000000)
        return app_refuse(&run->app, APP_USAGE,
                          "%ld bodies on %d ranks are more than 100 million per rank; take more ranks",
                          run->bodies, run->app.ranks);
    run->p.bodies = run->bodies;
    run->p.seed = run->seed;
    /* The universe grows to today, expansion factor 1, in so many steps; its time goes as a^1.5. */
    if (run->p.start == SPHERE)
        run->p.ratio = pow(1 + run->p.redshift, 1.5 / (double)(run->steps > 0 ? run->steps : 1));
    return 0;
}

int main(int argc, char **argv)
{
    static const struct app_parts parts = {.problem = settle, .check = check, .simulate = simulate, .timed = timed};
    static struct run run = {
        .p = {.accuracy = 1e-3, .redshift = 24, .dt = 0.01},
        .start = "plummer", .bodies = 25000, .seed = 1, .steps = 10, .sample = 500, .every_line = 10};
    const struct app_flag flags[] = {
        {"--bodies", APP_WHOLE, &run.bodies, 2, 1e12, "N", "how many (25000)"},
        {"--start", APP_TEXT, run.start, 0, 0, "KIND", "plummer or sphere, a ball of the universe (plummer)"},
        {"--steps", APP_WHOLE, &run.steps, 0, 1e9, "N", "number of the last step (10); the sphere's steps go to today"},
        {"--dt", APP_REAL, &run.p.dt, 1e-9, 10, "T", "time of a step of Plummer's sphere (0.01)"},
        {"--accuracy", APP_REAL, &run.p.accuracy, 1e-9, 0.1, "A", "rms relative force error that is wanted (0.001)"},
        {"--softening", APP_REAL, &run.p.softening, 0, 10, "R", "softening length, 0: by the number of bodies (0)"},
        {"--redshift", APP_REAL, &run.p.redshift, 0.1, 1000, "Z", "at which the sphere starts (24)"},
        {"--seed", APP_WHOLE, &run.seed, 0, 2147483647, "N", "of the start (1)"},
        {"--sample", APP_WHOLE, &run.sample, 0, 100000, "N", "bodies whose forces are checked by direct sums (500)"},
        {"--lines", APP_WHOLE, &run.every_line, 0, 1e9, "N", "steps between lines of output (10)"},
        {NULL, APP_SWITCH, NULL, 0, 0, NULL, NULL},
    };
    return app_run(argc, argv, &run.app, "treecode", "gravity of N bodies by a hashed oct-tree", flags, &parts, &run);
}
