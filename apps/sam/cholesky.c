/* Sparse block Cholesky factorisation on shared objects: the application of SAM's paper on PVM clusters. */
#include "cholesky.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What the paper's program reaches, and what is allowed here. */
static const double MOST_RESIDUAL = 3e-10;
/* Between the factor and a sequential program's, of the largest entry: sums in another order. */
static const double MOST_AWAY = 1e-11;

struct run {
    struct app app;
    char file[APP_TEXT_SIZE];
    long dense, nx, ny, nz, width, repeat;
    struct matrix a; /* from a file; otherwise made when needed */
};

/* Names have their owner in the upper part of the key. */
static int home_of(sam_name name, int ranks)
{
    return (int)(name.key >> OWNER_SHIFT) % ranks;
}

/* The matrix of the flags, `times` as large, and an order for it. The caller frees both. */
static struct matrix problem(const struct run *run, int times, int **order)
{
    struct matrix a;
    if (*run->file)
        a = matrix_copy(&run->a);
    else if (run->dense > 0)
        a = matrix_dense((int)(run->dense * times));
    else
        a = matrix_beam((int)(run->nx * times), (int)run->ny, (int)run->nz);
    *order = app_memory((size_t)a.n, sizeof **order);
    if (a.begin[a.n] == (int64_t)a.n * a.n)
        order_natural(&a, *order);
    else
        order_dissect(&a, *order);
    return a;
}

/* A solution that is known, and its right-hand side. Returns the residual of the one that the factor gives. */
static double solve_known(const struct factor *f, double *error)
{
    size_t n = (size_t)f->s.n;
    double *known = app_memory(n, sizeof *known), *b = app_memory(n, sizeof *b), *x = app_memory(n, sizeof *x);
    for (size_t k = 0; k < n; k++)
        known[k] = 1 + (double)(f->s.order[k] % 7) / 8;
    matrix_times(&f->a, known, b);
    memcpy(x, b, n * sizeof *x);
    factor_solve(f, x);
    *error = 0;
    for (size_t k = 0; k < n; k++)
        *error = !(fabs(x[k] - known[k]) <= *error) ? fabs(x[k] - known[k]) : *error;
    double r = residual(&f->a, x, b);
    free(known);
    free(b);
    free(x);
    return r;
}

static void print_structure(const struct factor *f)
{
    if (f->rank == 0)
        printf("%d rows, %lld entries; factor: %.0f entries, %.1f million operations, %d blocks in %d panels, %d ranks\n",
               f->s.n, (long long)(f->a.begin[f->s.n] + f->s.n) / 2, f->s.entries, 1e-6 * f->s.work,
               f->s.blocks_begin[f->s.panels], f->s.panels, f->ranks);
}

/* The factorisation, `repeat` times; the last factor stays. Returns the shortest time. */
static double compute(struct factor *f, long repeat)
{
    double shortest = 0;
    for (long r = 0; r < repeat; r++) {
        if (r > 0) {
            factor_forget(f);
            factor_again(f);
        }
        double seconds = app_slowest(f->comm, factor_compute(f));
        shortest = r == 0 || seconds < shortest ? seconds : shortest;
    }
    return shortest;
}

static double timed(MPI_Comm comm, int times, void *with)
{
    struct run *run = with;
    struct factor f;
    int *order;
    struct matrix a = problem(run, times, &order);
    factor_make(&f, &run->app, comm, &a, order, (int)run->width);
    double seconds = compute(&f, run->repeat);
    factor_forget(&f);
    factor_free(&f);
    matrix_free(&a);
    return seconds;
}

static int judge(const struct run *run, const char *what, double got, double allowed)
{
    return app_judge(&run->app, got <= allowed, "%s %.2e, allowed %g", what, got, allowed);
}

static int simulate(void *with)
{
    struct run *run = with;
    struct factor f;
    int *order, status = 0;
    struct matrix a = problem(run, 1, &order);
    factor_make(&f, &run->app, MPI_COMM_WORLD, &a, order, (int)run->width);
    matrix_free(&a);
    print_structure(&f);
    double seconds = compute(&f, run->repeat), error;
    if (f.rank == 0)
        printf("factorisation in %.4f s: %.2f Gflop/s%s\n", seconds, 1e-9 * f.s.work / seconds,
               run->repeat > 1 ? ", the fastest" : "");
    double r = solve_known(&f, &error);
    if (f.rank == 0)
        printf("largest error of the solution %.2e\n", error);
    int good = judge(run, "residual", r, MOST_RESIDUAL);
    if (*run->app.image)
        status = factor_picture(&f, run->app.image);
    factor_forget(&f);
    factor_free(&f);
    return status != 0 ? status : good ? 0 : APP_WRONG;
}

static int check_one(const struct run *run)
{
    struct factor f;
    double error;
    int *order;
    struct matrix a = problem(run, 1, &order);
    factor_make(&f, &((struct run *)run)->app, MPI_COMM_WORLD, &a, order, (int)run->width);
    matrix_free(&a);
    print_structure(&f);
    compute(&f, 2);
    int good = judge(run, "residual", solve_known(&f, &error), MOST_RESIDUAL);
    good &= judge(run, "from a sequential factor", compare_with_sequential(&f), MOST_AWAY);
    uint64_t sum = factor_sum(&f);
    if (f.rank == 0)
        printf("sum of the factor's bits %016llx, the same on any number of ranks\n", (unsigned long long)sum);
    factor_forget(&f);
    factor_free(&f);
    return good;
}

/* A beam and a full matrix; or what the flags say. */
static int check(void *with)
{
    struct run *run = with;
    int good;
    if (*run->file) {
        good = check_one(run);
    } else {
        run->nx = 12, run->ny = run->nz = 3;
        run->width = 16;
        run->dense = 0;
        good = check_one(run);
        run->dense = 203;
        good &= check_one(run);
    }
    return app_verdict(&run->app, good);
}

/* Rows that a problem without file may have: the matrix is on every rank. And those that --check makes full. */
enum { MOST_ROWS = 300000, MOST_DENSE = 6000, MOST_CHECKED = 3000 };

static const char no_checkpoints[] = "no checkpoints here: a factorisation takes seconds";

static int sensible(const struct run *run)
{
    const struct app *app = &run->app;
    double times = app->scaling == APP_WEAK ? app->ranks : 1;
    double rows = 3.0 * (double)run->nx * times * (double)(run->ny + 1) * (double)(run->nz + 1);
    if (*run->file && run->dense > 0)
        return app_refuse(app, APP_USAGE, "--matrix and --dense are two matrices; one is needed");
    if (*run->file && app->scaling == APP_WEAK)
        return app_refuse(app, APP_USAGE, "--scaling weak needs a matrix that grows; one from a file does not");
    if (run->dense * times > MOST_DENSE)
        return app_refuse(app, APP_USAGE, "%.0f rows of a full matrix are more than %d", (double)run->dense * times,
                          MOST_DENSE);
    if (run->dense == 0 && !*run->file && rows > MOST_ROWS)
        return app_refuse(app, APP_USAGE, "a beam of %.0f unknowns has more than %d", rows, MOST_ROWS);
    return 0;
}

static int make_problem(void *with)
{
    struct run *run = with;
    sam_set_home(home_of);
    sam_init();
    int status = sensible(run);
    if (status == 0 && *run->file)
        status = matrix_read(&run->app, run->file, &run->a);
    if (status != 0)
        return status;
    if (run->app.check && run->a.n > MOST_CHECKED)
        return app_refuse(&run->app, APP_USAGE, "--check compares with a full matrix: %d rows are more than %d", run->a.n, MOST_CHECKED);
    run->app.quiet |= run->app.scaling != APP_NO_SCALING;
    return 0;
}

static void finish(void *with)
{
    struct run *run = with;
    matrix_free(&run->a);
    sam_finish();
}

int main(int argc, char **argv)
{
    static const struct app_parts parts = {.problem = make_problem, .check = check, .simulate = simulate, .timed = timed, .end = finish};
    static struct run run = {.nx = 36, .ny = 5, .nz = 5, .width = 48, .repeat = 1};
    const struct app_flag flags[] = {
        {"--matrix", APP_TEXT, run.file, 0, 0, "FILE", "symmetric, in the Matrix Market's coordinate form"},
        {"--dense", APP_WHOLE, &run.dense, 1, MOST_DENSE, "N", "a full matrix of N rows; the paper has 1000"},
        {"--nx", APP_WHOLE, &run.nx, 1, 100000, "N", "otherwise a beam: cubes along it (36)"},
        {"--ny", APP_WHOLE, &run.ny, 1, 500, "N", "and across (5)"},
        {"--nz", APP_WHOLE, &run.nz, 1, 500, "N", "and across (5)"},
        {"--block", APP_WHOLE, &run.width, 1, MOST_WIDTH, "N", "most rows and columns of a block (48)"},
        {"--repeat", APP_WHOLE, &run.repeat, 1, 10000, "N", "factorisations, of which the fastest is told (1)"},
        {"--checkpoint", APP_ABSENT, NULL, 0, 0, NULL, no_checkpoints},
        {"--every", APP_ABSENT, NULL, 0, 0, NULL, no_checkpoints},
        {"--restart", APP_ABSENT, NULL, 0, 0, NULL, no_checkpoints},
        {NULL, APP_SWITCH, NULL, 0, 0, NULL, NULL},
    };
    return app_run(argc, argv, &run.app, "sam_cholesky", "sparse block Cholesky factorisation on shared objects", flags, &parts, &run);
}
