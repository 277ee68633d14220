/* Gröbner bases on shared objects: the application of SAM's paper on PVM clusters. */
#include "grobner.h"
#include "../common/among.h"

#include <stdio.h>
#include <string.h>

/* Other systems' default. */
enum { USUAL_PRIME = 32003 };

struct run {
    struct app app;
    char system[APP_TEXT_SIZE];
    long size, prime;
    int print, every;
    uint64_t sum; /* of --scaling: the basis that one rank has found */
};

/* A number that changes with any coefficient of the basis: FNV. */
static uint64_t sum_of(const struct basis *b)
{
    uint64_t hash = 0xcbf29ce484222325;
    for (int n = 0; n < b->count; n++)
        for (int t = 0; t < b->of[n].count; t++) {
            mono m = b->of[n].m[t];
            uint64_t words[3] = {(uint64_t)m, (uint64_t)(m >> 64), b->of[n].c[t]};
            for (int w = 0; w < 3; w++)
                hash = (hash ^ words[w]) * 0x100000001b3;
        }
    return hash;
}

static long dimension_of(const struct system *s, const struct basis *b)
{
    mono lead[b->count + 1];
    for (int n = 0; n < b->count; n++)
        lead[n] = b->of[n].m[0];
    return mono_standard(lead, b->count, s->variables);
}

static int judge(const struct run *run, const char *what, long got, long expected)
{
    return app_judge(&run->app, got == expected, "%s: %ld, expected %ld", what, got, expected);
}

/* Computes, tells and judges; the basis stays. */
static int solve(struct run *run, const struct system *s, struct basis *b)
{
    struct field k = {(uint32_t)run->prime};
    sam_counters counters;
    struct team team = {&run->app, MPI_COMM_WORLD, new_series(MPI_COMM_WORLD)};
    sam_barrier();
    double seconds = MPI_Wtime();
    basis_compute(&team, k, s, b);
    seconds = app_slowest(MPI_COMM_WORLD, MPI_Wtime() - seconds);
    sam_get_counters(&counters);
    long stolen = (long)counters.stolen, terms = 0;
    MPI_Allreduce(MPI_IN_PLACE, &stolen, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    for (int n = 0; n < b->count; n++)
        terms += b->of[n].count;
    if (run->app.rank == 0) {
        printf("%s modulo %ld, %d variables: basis of %d polynomials, %ld terms, sum %016llx\n", s->name, run->prime,
               s->variables, b->count, terms, (unsigned long long)sum_of(b));
        printf("basis in %.6f s on %d ranks; %ld S-polynomials reduced, %ld of them to 0; %ld tasks stolen so far\n",
                seconds, run->app.ranks, b->reduced, b->zero, stolen);
    }
    int good = judge(run, "polynomials that do not reduce to 0", basis_wrong(&run->app, k, s, b, run->every), 0);
    long dimension = dimension_of(s, b);
    /* What is published is without a prime. Some primes, that divide numbers on the way, give other bases; this one doesn't. */
    int as_published = run->prime == USUAL_PRIME;
    if (s->dimension >= 0 && as_published)
        good &= judge(run, "dimension of the quotient", dimension, s->dimension);
    else if (run->app.rank == 0)
        printf("dimension of the quotient: %ld%s\n", dimension, dimension < 0 ? " (infinite)" : "");
    if (s->elements >= 0 && as_published)
        good &= judge(run, "polynomials of the basis", b->count, s->elements);
    return good;
}

static int compare(const struct run *run, const struct system *s, const struct basis *b)
{
    struct basis other = {0, NULL, 0, 0};
    struct field k = {(uint32_t)run->prime};
    basis_sequential(k, s, &other);
    int same = other.count == b->count;
    for (int n = 0; n < b->count && same; n++)
        same = poly_same(poly_view(&b->of[n]), poly_view(&other.of[n]));
    basis_free(&other);
    MPI_Allreduce(MPI_IN_PLACE, &same, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    return judge(run, "bases that differ from the sequential one", !same, 0);
}

static int check(void *with)
{
    struct run *run = with;
    static const struct {
        const char *name;
        long size;
    } cases[] = {{"lazard", 0}, {"katsura", 4}, {"cyclic", 4}, {"cyclic", 5}};
    struct field k = {(uint32_t)run->prime};
    int good = 1;
    run->every = 1;
    for (size_t n = 0; n < sizeof cases / sizeof *cases; n++) {
        struct system s;
        struct basis b;
        system_make(&run->app, k, cases[n].name, cases[n].size, &s);
        good &= solve(run, &s, &b);
        sam_barrier();
        good &= compare(run, &s, &b);
        basis_free(&b);
        system_free(&s);
    }
    return app_verdict(&run->app, good);
}

/* The first ranks alone, and without the checks, but that all find the same basis. */
static double timed(MPI_Comm comm, int times, void *with)
{
    struct run *run = with, some = *run;
    struct field k = {(uint32_t)run->prime};
    struct team team = {&some.app, comm, new_series(comm)};
    struct system s;
    struct basis b;
    (void)times; /* weak is refused */
    MPI_Comm_size(comm, &some.app.ranks);
    some.app.quiet = 1;
    if (system_make(&some.app, k, run->system, run->size, &s) != 0)
        MPI_Abort(MPI_COMM_WORLD, APP_USAGE);
    sam_task_ranks(some.app.ranks, team.series);
    meet(comm);
    double seconds = MPI_Wtime();
    basis_compute(&team, k, &s, &b);
    seconds = app_slowest(comm, MPI_Wtime() - seconds);
    if (some.app.ranks == 1)
        run->sum = sum_of(&b);
    else if (run->app.rank == 0 && sum_of(&b) != run->sum) {
        app_refuse(&run->app, APP_WRONG, "%d ranks find another basis than one", some.app.ranks);
        MPI_Abort(MPI_COMM_WORLD, APP_WRONG);
    }
    basis_free(&b);
    system_free(&s);
    return seconds;
}

static int is_prime(long p)
{
    for (long d = 2; d * d <= p; d++)
        if (p % d == 0)
            return 0;
    return p > 1;
}

static const char no_checkpoints[] = "no checkpoints here: these systems take seconds";

static int sensible(void *with)
{
    const struct run *run = with;
    const struct app *app = &run->app;
    sam_set_home(basis_home);
    sam_init();
    if (app->scaling == APP_WEAK)
        return app_refuse(app, APP_USAGE, "no --scaling weak here: no system has twice the work of another; strong is possible");
    if (!is_prime(run->prime))
        return app_refuse(app, APP_USAGE, "--prime %ld is no prime; 32003 is one", run->prime);
    if (run->size < 3)
        return app_refuse(app, APP_USAGE, "--size %ld; 3 or more is needed", run->size);
    return 0;
}

static int simulate(void *with)
{
    struct run *run = with;
    struct field k = {(uint32_t)run->prime};
    struct system s;
    struct basis b;
    int status = system_make(&run->app, k, run->system, run->size, &s);
    if (status != 0)
        return status;
    int good = solve(run, &s, &b);
    for (int n = 0; n < b.count && run->print && run->app.rank == 0; n++)
        poly_print(k, poly_view(&b.of[n]), s.variables);
    if (*run->app.image)
        status = basis_picture(&run->app, &s, &b);
    basis_free(&b);
    system_free(&s);
    return good ? status : APP_WRONG;
}

static void finish(void *with)
{
    (void)with;
    sam_finish();
}

int main(int argc, char **argv)
{
    static const struct app_parts parts = {.problem = sensible, .check = check, .simulate = simulate, .timed = timed, .end = finish};
    static struct run run = {.system = "lazard", .size = 6, .prime = USUAL_PRIME};
    const struct app_flag flags[] = {
        {"--system", APP_TEXT, run.system, 0, 0, "NAME", "lazard, cyclic or katsura (lazard)"},
        {"--size", APP_WHOLE, &run.size, 3, MOST_VARIABLES - 1, "N", "of cyclic and katsura (6)"},
        {"--prime", APP_WHOLE, &run.prime, 3, 2147483647, "P", "coefficients are numbers modulo P (32003)"},
        {"--every-pair", APP_SWITCH, &run.every, 0, 0, "", "check all pairs afterwards, not only those that criteria leave"},
        {"--print", APP_SWITCH, &run.print, 0, 0, "", "print the basis, as Singular reads it"},
        {"--checkpoint", APP_ABSENT, NULL, 0, 0, NULL, no_checkpoints},
        {"--every", APP_ABSENT, NULL, 0, 0, NULL, no_checkpoints},
        {"--restart", APP_ABSENT, NULL, 0, 0, NULL, no_checkpoints},
        {NULL, APP_SWITCH, NULL, 0, 0, NULL, NULL},
    };
    return app_run(argc, argv, &run.app, "sam_grobner", "Gröbner bases on shared objects", flags, &parts, &run);
}
