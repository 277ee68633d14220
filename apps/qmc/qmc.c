/* Energies of the helium atom and the hydrogen molecule by quantum Monte Carlo. */
#include "qmc.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct run {
    struct app app;
    struct problem p;
    char system[APP_TEXT_SIZE], method[APP_TEXT_SIZE];
    long walkers, seed, block, branch, steps;
    struct qmc q;
};

static int step(void *with)
{
    struct run *run = with;
    qmc_step(&run->q);
    return 0;
}

static int print_line(void *with)
{
    const struct run *run = with;
    const struct qmc *q = &run->q;
    double mean, error;
    const struct averages *a = q->a;
    const struct block *last = &a->done[a->blocks - 1];
    averages_energy(a, &mean, &error);
    if (run->app.rank != 0)
        return 0;
    printf("%10lld %12.4f %12.6f %10.4f", (long long)q->step, (double)q->step * q->p.tau, last->energy / last->weight,
           last->accepted);
    if (a->blocks - a->skipped > 1)
        printf(" %12.6f %10.6f", mean, error);
    printf("\n");
    fflush(stdout);
    return 0;
}

static int keep(void *with)
{
    const struct run *run = with;
    return qmc_write(&run->app, &run->q);
}

/* A checkpoint has whole blocks. */
static int may_keep(const void *with)
{
    const struct run *run = with;
    return run->q.step % run->q.p.block == 0;
}

static void print_speed(const struct qmc *q, int64_t steps, double seconds)
{
    double exchange = app_slowest(q->comm, q->exchange_seconds), rate = 1e-6 * (double)q->p.walkers * (double)steps / seconds;
    if (q->rank == 0 && steps > 0)
        printf("%lld steps in %.3f s: %.3f million walker-steps/s, %.3f per rank; exchange %.0f %%\n", (long long)steps, seconds,
               rate, rate / q->ranks, 100 * exchange / seconds);
}

static double timed(MPI_Comm comm, int times, void *with)
{
    struct run *run = with;
    struct problem p = run->p;
    p.walkers *= times;
    walkers_share(&run->q, comm, &p);
    qmc_begin(&run->q);
    double seconds = app_time(comm, run->steps, step, run);
    walkers_free(&run->q);
    return seconds;
}

int qmc_refuse(const struct app *app, const struct problem *p)
{
    if (p->walkers < app->ranks)
        return app_refuse(app, APP_USAGE, "%lld walkers are fewer than %d ranks; take more --walkers or fewer ranks",
                          (long long)p->walkers, app->ranks);
    if (p->block % p->branch != 0)
        return app_refuse(app, APP_USAGE, "--block %lld is no multiple of --branch %lld", (long long)p->block, (long long)p->branch);
    if (p->memory / (p->tau * (double)p->branch) > MOST_MEMORY)
        return app_refuse(app, APP_USAGE, "--memory %g is more than %d times --tau %g times --branch %lld", p->memory, MOST_MEMORY,
                          p->tau, (long long)p->branch);
    return 0;
}

/* Whether the run ends with a block, and there is room for all of them. */
static int refuse_steps(const struct run *run, const struct problem *p)
{
    if (run->steps % p->block != 0)
        return app_refuse(&run->app, APP_USAGE, "--steps %ld is no multiple of --block %lld", run->steps, (long long)p->block);
    if (run->steps / p->block > MOST_BLOCKS)
        return app_refuse(&run->app, APP_USAGE, "%ld steps are more than %d blocks of %lld; take a larger --block", run->steps,
                          MOST_BLOCKS, (long long)p->block);
    return 0;
}

static int begin(struct run *run)
{
    if (*run->app.restart) {
        int status = qmc_read(&run->app, &run->q);
        if (status != 0)
            return status;
    } else {
        walkers_share(&run->q, MPI_COMM_WORLD, &run->p);
        qmc_begin(&run->q);
    }
    return refuse_steps(run, &run->q.p);
}

static int simulate(void *with)
{
    struct run *run = with;
    struct qmc *q = &run->q;
    int status = begin(run);
    if (status != 0)
        return status;
    const struct app_steps steps = {
        .done = &q->step, .last = run->steps, .print = q->p.block, .step = step, .line = print_line, .keep = keep, .may_keep = may_keep};
    if (run->app.rank == 0)
        printf("%lld walkers on %d ranks, %s, energy of the trial function about %.4f\n%10s %12s %12s %10s %12s %10s\n",
               (long long)q->p.walkers, q->ranks, q->p.diffusion ? "diffusion" : "variational", q->p.trial_energy, "step", "time",
               "block", "accepted", "energy", "error");
    if (*run->app.image)
        picture_begin(q);
    int64_t from = q->step;
    double start = MPI_Wtime();
    status = app_advance(&run->app, &steps, run);
    print_speed(q, q->step - from, app_slowest(q->comm, MPI_Wtime() - start));
    if (status == 0 && *run->app.image)
        status = picture_write(&run->app, q);
    walkers_free(q);
    return status;
}

/* What the names of system and method say; values that were not given are the system's. */
static int make_problem(void *with)
{
    struct run *run = with;
    struct problem *p = &run->p;
    if (strcmp(run->system, "he") != 0 && strcmp(run->system, "h2") != 0)
        return app_refuse(&run->app, APP_USAGE, "'%s' is no good as --system: he or h2 is needed", run->system);
    if (strcmp(run->method, "vmc") != 0 && strcmp(run->method, "dmc") != 0)
        return app_refuse(&run->app, APP_USAGE, "'%s' is no good as --method: vmc or dmc is needed", run->method);
    p->system = strcmp(run->system, "he") == 0 ? HELIUM : HYDROGEN;
    p->diffusion = strcmp(run->method, "dmc") == 0;
    p->zeta = p->zeta > 0 ? p->zeta : p->system == HELIUM ? 2 : 1.2;
    p->jastrow = p->jastrow != 0 ? p->jastrow : p->system == HELIUM ? 0.2 : 0.6;
    p->walkers = run->walkers, p->seed = run->seed, p->block = run->block, p->branch = run->branch;
    int status = qmc_refuse(&run->app, p);
    return status != 0 || *run->app.restart || run->app.scaling != APP_NO_SCALING ? status : refuse_steps(run, p);
}

static int check(void *with)
{
    const struct run *run = with;
    return qmc_check(&run->app, &run->p);
}

int main(int argc, char **argv)
{
    static const struct app_parts parts = {.problem = make_problem, .check = check, .simulate = simulate, .timed = timed};
    static struct run run = {
        .p = {.distance = 1.4, .tau = 0.01, .settle = 5, .memory = 5},
        .system = "h2", .method = "dmc", .walkers = 1000, .seed = 1, .block = 500, .branch = 5, .steps = 10000};
    const struct app_flag flags[] = {
        {"--system", APP_TEXT, run.system, 0, 0, "NAME", "h2 (the default) or he"},
        {"--method", APP_TEXT, run.method, 0, 0, "NAME", "dmc: diffusion (the default), or vmc: variational"},
        {"--walkers", APP_WHOLE, &run.walkers, 2, 1048576, "N", "on all ranks together (1000)"},
        {"--steps", APP_WHOLE, &run.steps, 0, 1e9, "N", "number of the last step (10000)"},
        {"--tau", APP_REAL, &run.p.tau, 1e-6, 1, "T", "time of a step (0.01)"},
        {"--distance", APP_REAL, &run.p.distance, 0.1, 100, "R", "of the protons of h2, in bohr (1.4)"},
        {"--zeta", APP_REAL, &run.p.zeta, 0.1, 10, "Z", "decay of the trial function's orbitals (he: 2, h2: 1.2)"},
        {"--jastrow", APP_REAL, &run.p.jastrow, -1, 100, "B", "correlation u = s / 2 / (1 + B s) (he: 0.2, h2: 0.6); below 0: none"},
        {"--settle", APP_REAL, &run.p.settle, 0, 1e6, "T", "time at the start that is not averaged (5)"},
        {"--branch", APP_WHOLE, &run.branch, 1, 1000, "N", "steps between reconfigurations (5)"},
        {"--memory", APP_REAL, &run.p.memory, 0, 1000, "T", "time over which growth is remembered (5), against bias"},
        {"--block", APP_WHOLE, &run.block, 1, 1e6, "N", "steps of a line of output and of the error bar (500)"},
        {"--seed", APP_WHOLE, &run.seed, 0, 4294967295.0, "N", "of the random numbers (1)"},
        {NULL, APP_SWITCH, NULL, 0, 0, NULL, NULL},
    };
    return app_run(argc, argv, &run.app, "qmc", "quantum Monte Carlo of two electrons", flags, &parts, &run);
}
