/* Molecular dynamics of water on shared objects: the application of SAM's paper on PVM clusters. */
#include "water.h"
#include "../common/among.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct clock {
    int64_t step;
    double first_energy; /* when the temperature was let go */
};

struct run {
    struct app app;
    long molecules, steps, settle, seed, lines;
    double dt, cutoff, density, temperature;
    struct water w;
    struct clock c;
};

/* What a checkpoint has beside the molecules. */
struct head {
    int64_t total, step, settle;
    double box, cutoff, dt, temperature, first_energy;
};

/* Steps that no run comes to: a run's names have the number of its series in front of that of the step. */
enum { STEP_BITS = 40 };

static void open_water(struct run *run, MPI_Comm comm, struct water *w, double box)
{
    memset(w, 0, sizeof *w);
    w->app = &run->app;
    w->total = run->molecules;
    w->box = box;
    w->cutoff = run->cutoff;
    w->dt = run->dt;
    w->step = new_series(comm) << STEP_BITS;
    make_cells(w);
}

static void close_water(struct water *w)
{
    free_cells(w);
    around_free(&w->around);
    free(w->own);
    free(w->force);
    free(w->settled);
    free(w->found);
}

static void start(struct run *run, MPI_Comm comm, struct water *w)
{
    open_water(run, comm, w, box_of(run->molecules, run->density));
    start_lattice(w, run->seed, run->temperature);
    fill_cells(w);
    find_forces(w);
    w->seconds = 0;
}

static void kick(struct water *w)
{
    for (int i = 0; i < w->count; i++)
        for (int k = 0; k < NUMBERS; k++)
            w->own[i].v[k] += 0.5 * w->dt * ACCELERATION / MASS[k / 3] * w->force[i * NUMBERS + k];
}

/* Velocity Verlet with bonds: RATTLE. */
int step(struct water *w)
{
    double old[NUMBERS];
    kick(w);
    for (int i = 0; i < w->count; i++) {
        struct molecule *m = &w->own[i];
        memcpy(old, m->x, sizeof old);
        for (int k = 0; k < NUMBERS; k++)
            m->x[k] += w->dt * m->v[k];
        if (!constrain_positions(m->x, old, m->v, w->dt))
            w->fault = 1;
    }
    if (fill_cells_if_needed(w))
        return 1;
    find_forces(w);
    kick(w);
    for (int i = 0; i < w->count; i++)
        constrain_velocities(w->own[i].x, w->own[i].v);
    return 0;
}

static double drift(const struct sums *s, const struct clock *c)
{
    return (s->kinetic + s->potential - c->first_energy) / s->kinetic;
}

static int print_line(void *with)
{
    struct run *run = with;
    struct water *w = &run->w;
    const struct clock *c = &run->c;
    struct sums s = sum_up(w);
    double each = 1 / (double)w->total;
    if (run->app.rank == 0)
        printf("%7lld %9.3f %9.2f %11.5f %11.5f %13.3e %11.3e %11.1e %8.0f\n", (long long)c->step,
               1e-3 * w->dt * (double)c->step, temperature_of(w, s.kinetic), s.kinetic * each, s.potential * each,
               c->step < run->settle ? 0 : drift(&s, c), s.momentum, s.bonds, s.pairs * each);
    fflush(stdout);
    return 0;
}

static void print_bits(const struct run *run, const struct sums *s)
{
    if (run->app.rank == 0)
        printf("sum of the molecules' bits %016llx, the same on any number of ranks\n", (unsigned long long)s->bits);
}

static int keep(void *with)
{
    const struct run *run = with;
    const struct water *w = &run->w;
    const struct clock *c = &run->c;
    struct head head = {w->total, c->step, run->settle, w->box, w->cutoff, w->dt, run->temperature, c->first_energy};
    struct app_state state = {&head, sizeof head, w->own, sizeof *w->own, w->count};
    sam_barrier();
    return app_checkpoint_write(&run->app, MPI_COMM_WORLD, run->app.checkpoint, &state);
}

/* Molecules as a checkpoint has them; where their ranks were does not matter. */
static int read_checkpoint(struct run *run, struct water *w, struct clock *c)
{
    struct head head;
    struct app_state state = {&head, sizeof head, NULL, sizeof *w->own, 0};
    int status = app_checkpoint_read(&run->app, MPI_COMM_WORLD, run->app.restart, &state);
    if (status != 0)
        return status;
    run->molecules = head.total, run->settle = head.settle;
    run->cutoff = head.cutoff, run->dt = head.dt, run->temperature = head.temperature;
    open_water(run, MPI_COMM_WORLD, w, head.box);
    w->own = state.records;
    w->count = (int)state.count;
    fill_cells(w);
    find_forces(w);
    *c = (struct clock){head.step, head.first_energy};
    return 0;
}

static void let_go(struct water *w, struct clock *c)
{
    struct sums s = sum_up(w);
    c->first_energy = s.kinetic + s.potential;
}

/* The temperature is set after each of the first steps; then the energy stays. */
static int one_step(const struct run *run, struct water *w, struct clock *c)
{
    if (step(w))
        return app_refuse(&run->app, APP_WRONG, "step %lld: molecules lie in each other or break; take a smaller --dt",
                          (long long)c->step + 1);
    c->step++;
    if (c->step > run->settle)
        return 0;
    struct sums s = sum_up(w);
    scale_velocities(w, sqrt(run->temperature / temperature_of(w, s.kinetic)));
    if (c->step == run->settle)
        let_go(w, c);
    return 0;
}

static int next(void *with)
{
    struct run *run = with;
    return one_step(run, &run->w, &run->c);
}

static void print_speed(const struct run *run, const struct water *w, int64_t steps, double seconds)
{
    sam_barrier();
    seconds = app_slowest(MPI_COMM_WORLD, seconds);
    double forces = app_slowest(MPI_COMM_WORLD, w->seconds);
    if (run->app.rank == 0 && steps > 0)
        printf("%lld steps in %.4f s on %d ranks, forces %.4f s: %.0f molecule steps/s\n", (long long)steps, seconds,
                run->app.ranks, forces, (double)w->total * (double)steps / seconds);
}

static int begin(struct run *run, struct water *w, struct clock *c)
{
    if (*run->app.restart)
        return read_checkpoint(run, w, c);
    start(run, MPI_COMM_WORLD, w);
    c->step = 0;
    let_go(w, c);
    return 0;
}

static int simulate(void *with)
{
    struct run *run = with;
    struct water *w = &run->w;
    const struct app_steps steps = {
        .done = &run->c.step, .last = run->steps, .print = run->lines, .step = next, .line = print_line, .keep = keep};
    int status = begin(run, w, &run->c);
    if (status != 0)
        return status;
    if (run->app.rank == 0)
        printf("%lld molecules in a box of %.3f angstrom, cutoff %.2f\n%7s %9s %9s %11s %11s %13s %11s %11s %8s\n",
               (long long)w->total, w->box, w->cutoff, "step", "ps", "kelvin", "kinetic", "potential", "energy change", "momentum",
               "bonds", "pairs");
    print_line(run);
    int64_t from = run->c.step;
    w->seconds = 0;
    double began = MPI_Wtime();
    status = app_advance(&run->app, &steps, run);
    print_speed(run, w, run->c.step - from, MPI_Wtime() - began);
    if (status == 0) {
        struct sums s = sum_up(w);
        print_bits(run, &s);
        if (*run->app.image)
            status = picture(w, run->app.image);
    }
    close_water(w);
    return status;
}

/* The first ranks alone; what belongs to the others' runs stays as it is. */
static double timed(MPI_Comm comm, int times, void *with)
{
    struct run some = *(const struct run *)with;
    MPI_Comm_size(comm, &some.app.ranks);
    some.molecules *= times;
    some.c.step = 0;
    together_among(comm);
    start(&some, comm, &some.w);
    let_go(&some.w, &some.c);
    double seconds = time_among(comm, some.steps, next, &some);
    close_water(&some.w);
    return seconds;
}

static int judge(const struct run *run, const char *what, double got, double least, double most)
{
    return app_judge(&run->app, got >= least && got <= most, "  %-46s %12.5g, allowed %g to %g", what, got, least, most);
}

/* A state of this rank's molecules, to start from again. */
static struct molecule *copy_of(const struct water *w)
{
    struct molecule *copy = app_memory((size_t)w->count + 1, sizeof *copy);
    memcpy(copy, w->own, (size_t)w->count * sizeof *copy);
    return copy;
}

/* The scatter of the energy over some steps, relative to the kinetic energy. -1: a fault. */
static double scatter(struct water *w, double dt, int steps)
{
    double first = 0, sum = 0, squares = 0, kinetic = 1;
    w->dt = dt;
    for (int n = 0; n < steps; n++) {
        if (step(w))
            return -1;
        struct sums s = sum_up(w);
        first = n == 0 ? s.kinetic + s.potential : first;
        double off = s.kinetic + s.potential - first;
        sum += off, squares += off * off;
        kinetic = s.kinetic;
    }
    return sqrt(squares / steps - sum / steps * (sum / steps)) / kinetic;
}

/* Of --check. What was published for TIP3P: -6.50 kcal/mol, 2.74 angstrom, 27 degrees, each to its last digit. */
static const double DIMER[2] = {-6.51, -6.49}, DIMER_DISTANCE[2] = {2.73, 2.75}, DIMER_ANGLE[2] = {26, 28};
/* Slopes: some times what is seen; the forces have a kink at the cutoff, which differences of the energy smooth. */
static const double SLOPES = 1e-5, SCATTER = 5e-4, MOMENTUM = 1e-12, BONDS = 1e-13;
enum { CHECK_MOLECULES = 216, CHECK_SETTLE = 150, CHECK_STEPS = 100, CHECK_SITES = 18 };

static int check_energy(struct run *run, struct water *w)
{
    struct molecule *copy = copy_of(w);
    int count = w->count;
    double small = scatter(w, 1, CHECK_STEPS);
    struct sums s = sum_up(w);
    free(w->own);
    w->own = copy;
    w->count = count;
    fill_cells(w);
    find_forces(w);
    double large = scatter(w, 2, CHECK_STEPS / 2);
    int good = judge(run, "scatter of the energy / kinetic energy", small, 0, SCATTER);
    /* A method of second order, forces that are the slopes of the energy. */
    good &= judge(run, "the same with steps of 2 fs, times as much", large / small, 3.2, 4.8);
    good &= judge(run, "momentum", s.momentum, 0, MOMENTUM);
    good &= judge(run, "bonds, largest relative error", s.bonds, 0, BONDS);
    s = sum_up(w);
    print_bits(run, &s);
    return good;
}

static int check(void *with)
{
    struct run *run = with;
    struct water w;
    struct clock c = {0, 0};
    struct dimer dimer = best_dimer();
    run->molecules = CHECK_MOLECULES, run->settle = CHECK_SETTLE;
    run->dt = 1, run->cutoff = 7;
    int good = judge(run, "two molecules: least energy, kcal/mol", dimer.energy, DIMER[0], DIMER[1]);
    good &= judge(run, "  and between the oxygens, angstrom", dimer.distance, DIMER_DISTANCE[0], DIMER_DISTANCE[1]);
    good &= judge(run, "  and out of the line, degrees", dimer.angle, DIMER_ANGLE[0], DIMER_ANGLE[1]);
    start(run, MPI_COMM_WORLD, &w);
    int status = 0;
    while (c.step < CHECK_SETTLE && status == 0)
        status = one_step(run, &w, &c);
    if (status == 0) {
        good &= judge(run, "forces, from differences of the energy", compare_with_differences(&w, CHECK_SITES), 0, SLOPES);
        good &= check_energy(run, &w);
    }
    close_water(&w);
    return status != 0 ? status : app_verdict(&run->app, good);
}

static int sensible(void *with)
{
    struct run *run = with;
    const struct app *app = &run->app;
    double most = 0.5 * box_of(run->molecules, run->density) - 2 * REACH;
    sam_set_home(home_of);
    sam_init();
    if (*app->restart || app->check)
        return 0;
    if (run->cutoff > most)
        return app_refuse(app, APP_USAGE, "--cutoff %g: half of a box of %ld molecules less two bonds is %.2f; take more molecules",
                          run->cutoff, run->molecules, most);
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
    static struct run run = {.molecules = 343, .steps = 500, .settle = 200, .seed = 1, .lines = 50, .dt = 1,
                             .cutoff = 8.5, .density = 0.997, .temperature = 298.15};
    const struct app_flag flags[] = {
        {"--molecules", APP_WHOLE, &run.molecules, 2, 1e7, "N", "how many (343; the paper has 1728, too)"},
        {"--steps", APP_WHOLE, &run.steps, 0, 1e9, "N", "number of the last step (500)"},
        {"--settle", APP_WHOLE, &run.settle, 0, 1e9, "N", "steps after each of which the temperature is set (200)"},
        {"--dt", APP_REAL, &run.dt, 1e-6, 10, "FS", "time of a step, in femtoseconds (1)"},
        {"--cutoff", APP_REAL, &run.cutoff, 1, 100, "A", "where forces end, in angstrom (8.5)"},
        {"--density", APP_REAL, &run.density, 0.01, 2, "D", "in g/cm^3 (0.997)"},
        {"--temperature", APP_REAL, &run.temperature, 1, 2000, "K", "to which it is set (298.15)"},
        {"--seed", APP_WHOLE, &run.seed, 0, 2147483647, "N", "of the start (1)"},
        {"--lines", APP_WHOLE, &run.lines, 0, 1e9, "N", "steps between lines of output (50)"},
        {NULL, APP_SWITCH, NULL, 0, 0, NULL, NULL},
    };
    return app_run(argc, argv, &run.app, "sam_water", "molecular dynamics of water on shared objects", flags, &parts, &run);
}
