/* Solves -laplace(u) = f on the unit cube, u = 0 on its faces, with the 7-point stencil and
 * conjugate gradients, and compares with the solution that f was made from:
 *
 *     u(x, y, z) = g(x) g(y) g(z),   g(t) = t (1 - t) exp(t)
 *
 * The stencil's truncation error is at most h^2/12 * 3 * max|g''''| * max|g|^2 < 2.1 h^2, and
 * the inverse of the discrete operator is bounded by 1/8: the error stays below 0.27 h^2
 * whatever the grid, if stencil, faces and sums are right.
 *
 * Usage: mpirun -n RANKS poisson [--n GRID] [--tol T] [--max-iter N] [--quiet] [--check]
 */
#include "poisson.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double ERROR_BOUND = 0.27;
/* In one iteration: the stencil 8, two dots and three updates 2 each. */
static const double FLOPS_PER_POINT = 18;
enum { PROGRESS_STEP = 25, LARGEST_N = 2000 };
/* Of --check: the second grid has half the spacing of the first. */
enum { COARSE_N = 31, FINE_N = 2 * COARSE_N + 1 };
/* The error is a h^2 + b h^4, so half the spacing leaves a quarter, but for a few thousandths here. */
static const double RATIO_TOLERANCE = 0.02;

struct outcome {
    int iterations, converged;
    double residual, seconds, error;
};

static const char usage[] = "usage: mpirun -n RANKS poisson [options]\n"
                            "  --n GRID       inner grid points per direction (64)\n"
                            "  --tol T        residual to reach, relative (1e-8)\n"
                            "  --max-iter N   give up after so many iterations (20 * GRID)\n"
                            "  --quiet        no progress lines\n"
                            "  --check        two grids, of which the finer has a quarter of the error; seconds\n";

static double shape(double t)
{
    return t * (1 - t) * exp(t);
}

static double shape_second(double t)
{
    return -(3 * t + t * t) * exp(t);
}

static double exact(double x, double y, double z)
{
    return shape(x) * shape(y) * shape(z);
}

static double right_side(double x, double y, double z)
{
    return -(shape_second(x) * shape(y) * shape(z) + shape(x) * shape_second(y) * shape(z) +
             shape(x) * shape(y) * shape_second(z));
}

/* Returns 0, or complains about `value` and returns 2. */
static int parse_number(const char *name, const char *value, double least, double most, double *out)
{
    const char *kind = least >= 1 ? "whole number" : "number";
    char *end = NULL;
    errno = 0;
    *out = value ? strtod(value, &end) : 0;
    if (!value) {
        fprintf(stderr, "poisson: no value after '%s'\n%s", name, usage);
        return 2;
    }
    if (errno != 0 || end == value || *end != '\0' || !(*out >= least && *out <= most) ||
        (least >= 1 && *out != floor(*out))) {
        fprintf(stderr, "poisson: '%s' is no good as %s: a %s from %g to %g is needed\n", value, name,
                kind, least, most);
        return 2;
    }
    return 0;
}

/* Reads the arguments; 0: go on, 1: help was given, 2: an error was printed. */
static int parse(int argc, char **argv, struct settings *s)
{
    double value = 0;
    int bad = 0;
    for (int i = 1; i < argc && !bad; i++) {
        const char *next = i + 1 < argc ? argv[i + 1] : NULL;
        if (strcmp(argv[i], "--help") == 0) {
            fputs(usage, stdout);
            return 1;
        } else if (strcmp(argv[i], "--quiet") == 0) {
            s->quiet = 1;
        } else if (strcmp(argv[i], "--check") == 0) {
            s->check = 1;
        } else if (strcmp(argv[i], "--n") == 0) {
            bad = parse_number(argv[i++], next, 1, LARGEST_N, &value);
            s->n = (int)value;
        } else if (strcmp(argv[i], "--max-iter") == 0) {
            bad = parse_number(argv[i++], next, 1, INT_MAX, &value);
            s->max_iter = (int)value;
        } else if (strcmp(argv[i], "--tol") == 0) {
            bad = parse_number(argv[i++], next, 1e-15, 1, &s->tol);
        } else {
            fprintf(stderr, "poisson: unknown argument '%s'\n%s", argv[i], usage);
            return 2;
        }
    }
    if (s->check)
        s->n = COARSE_N;
    if (s->max_iter == 0)
        s->max_iter = 20 * (s->check ? FINE_N : s->n);
    return bad;
}

/* Rank 0 reads the arguments for all, so that one message is printed and all leave alike. */
static int settle(int argc, char **argv, struct box *box, struct settings *s)
{
    int status = 0, numbers[5];
    if (box->rank == 0) {
        status = parse(argc, argv, s);
        if (status == 0 && !box_split(s->n, 0, box->ranks, box)) {
            fprintf(stderr,
                    "poisson: a grid of %d points per direction cannot be split over %d ranks; "
                    "take a larger --n or fewer ranks\n",
                    s->n, box->ranks);
            status = 2;
        }
    }
    numbers[0] = status, numbers[1] = s->n, numbers[2] = s->max_iter, numbers[3] = s->quiet;
    numbers[4] = s->check;
    MPI_Bcast(numbers, 5, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Bcast(&s->tol, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    s->n = numbers[1], s->max_iter = numbers[2], s->quiet = numbers[3], s->check = numbers[4];
    return numbers[0];
}

/* Calls `body` with the index `at` of every own point (i, j, k). */
#define FOR_POINTS(box, body)                                                                      \
    for (int i = 1; i <= (box)->size[0]; i++)                                                      \
        for (int j = 1; j <= (box)->size[1]; j++) {                                                \
            long row = ((long)i * ((box)->size[1] + 2) + j) * ((box)->size[2] + 2);                \
            for (int k = 1; k <= (box)->size[2]; k++) {                                            \
                long at = row + k;                                                                 \
                body;                                                                              \
            }                                                                                      \
        }

static double all_sum(double value)
{
    double sum = 0;
    MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return sum;
}

static double all_max(double value)
{
    double most = 0;
    MPI_Allreduce(&value, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return most;
}

/* out = A p; returns this rank's part of p . A p. */
static double apply(const struct box *b, const double *restrict p, double *restrict out)
{
    long dy = b->size[2] + 2, dx = (b->size[1] + 2) * dy;
    double dot = 0;
    FOR_POINTS(b, {
        out[at] = 6 * p[at] - p[at - 1] - p[at + 1] - p[at - dy] - p[at + dy] - p[at - dx] -
                  p[at + dx];
        dot += p[at] * out[at];
    })
    return dot;
}

static void say_progress(const struct box *b, const struct settings *s, int iteration,
                         double residual)
{
    if (b->rank != 0 || s->quiet)
        return;
    printf("  iteration %5d   residual %.3e\n", iteration, residual);
    fflush(stdout);
}

/* Conjugate gradients from x = 0; r holds h^2 f on entry. */
static void solve(const struct box *b, const struct settings *s, double *restrict x,
                  double *restrict r, double *restrict p, double *restrict q, struct outcome *out)
{
    double mine = 0;
    FOR_POINTS(b, p[at] = r[at]; mine += r[at] * r[at])
    double rho = all_sum(mine), norm = sqrt(rho);
    out->residual = 1;
    while (out->iterations < s->max_iter) {
        box_exchange(b, p);
        double curvature = all_sum(apply(b, p, q));
        /* Positive by theory: anything else, NaN included, is a fault that must not go on. */
        if (!(curvature > 0) || !isfinite(curvature))
            return;
        double alpha = rho / curvature;
        mine = 0;
        FOR_POINTS(b, x[at] += alpha * p[at]; r[at] -= alpha * q[at]; mine += r[at] * r[at])
        double next = all_sum(mine), beta = next / rho;
        rho = next;
        out->iterations++;
        out->residual = sqrt(rho) / norm;
        if (out->residual <= s->tol) {
            out->converged = 1;
            return;
        }
        if (out->iterations % PROGRESS_STEP == 0)
            say_progress(b, s, out->iterations, out->residual);
        FOR_POINTS(b, p[at] = r[at] + beta * p[at])
    }
}

/* Runs the problem on this rank's box; ends the job when memory is short. */
static void run(struct box *b, const struct settings *s, struct outcome *out)
{
    double h = 1.0 / (s->n + 1), worst = 0, *fields[4];
    int short_of_memory = !box_init(b);
    for (int f = 0; f < 4; f++) {
        fields[f] = calloc((size_t)b->points, BYTES_PER_VALUE);
        short_of_memory |= !fields[f];
    }
    if (short_of_memory) {
        fprintf(stderr, "poisson: rank %d has no memory for %ld points; take a smaller --n\n",
                b->rank, b->points);
        MPI_Abort(MPI_COMM_WORLD, 4);
    }
    double *x = fields[0], *r = fields[1];
    FOR_POINTS(b, r[at] = h * h * right_side((b->first[0] + i) * h, (b->first[1] + j) * h,
                                             (b->first[2] + k) * h))
    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime();
    solve(b, s, x, r, fields[2], fields[3], out);
    out->seconds = all_max(MPI_Wtime() - start);
    FOR_POINTS(b, {
        double e = fabs(x[at] - exact((b->first[0] + i) * h, (b->first[1] + j) * h,
                                      (b->first[2] + k) * h));
        worst = e > worst || isnan(e) ? e : worst;
    })
    out->error = all_max(worst);
    for (int f = 0; f < 4; f++)
        free(fields[f]);
    box_free(b);
}

static int judge(const struct box *b, const struct settings *s, const struct outcome *out)
{
    double h = 1.0 / (s->n + 1), bound = ERROR_BOUND * h * h;
    double points = (double)s->n * s->n * s->n;
    int passed = out->converged && out->error <= bound;
    if (b->rank != 0)
        return passed;
    printf("iterations %d, residual %.3e%s\n", out->iterations, out->residual,
           out->converged ? "" : " (not converged)");
    printf("time %.3f s, %.1f MFLOP/s\n", out->seconds,
           1e-6 * FLOPS_PER_POINT * points * out->iterations / out->seconds);
    printf("largest error %.3e, allowed %.3e (%.3f and %.2f times h^2)\n", out->error, bound,
           out->error / (h * h), ERROR_BOUND);
    return passed;
}

/* Solves on a grid of `s->n` points per direction; says whether the answer is right. */
static int solve_and_judge(struct box *b, const struct settings *s, struct outcome *out)
{
    *out = (struct outcome){0};
    box_split(s->n, b->rank, b->ranks, b);
    if (b->rank == 0)
        printf("Poisson, %d x %d x %d points on %d ranks (%d x %d x %d)\n", s->n, s->n, s->n,
               b->ranks, b->dims[0], b->dims[1], b->dims[2]);
    run(b, s, out);
    return judge(b, s, out);
}

/* The stencil is of second order: a quarter of the error at half the spacing. */
static int check(struct box *b, struct settings s)
{
    struct outcome coarse, fine;
    int passed = solve_and_judge(b, &s, &coarse);
    s.n = FINE_N;
    passed &= solve_and_judge(b, &s, &fine);
    double ratio = coarse.error / fine.error;
    if (b->rank == 0)
        printf("error of the coarse grid over that of the fine one %.4f, expected %.2f to %.2f\n",
               ratio, 4 - RATIO_TOLERANCE, 4 + RATIO_TOLERANCE);
    return passed && fabs(ratio - 4) <= RATIO_TOLERANCE;
}

int main(int argc, char **argv)
{
    struct settings s = {.n = 64, .tol = 1e-8};
    struct box box = {0};
    struct outcome out = {0};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &box.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &box.ranks);
    int status = settle(argc, argv, &box, &s);
    if (status != 0) {
        MPI_Finalize();
        return status == 1 ? 0 : status;
    }
    int passed = s.check ? check(&box, s) : solve_and_judge(&box, &s, &out);
    if (box.rank == 0)
        puts(passed ? "PASSED" : "FAILED");
    MPI_Finalize();
    return passed ? 0 : 1;
}
