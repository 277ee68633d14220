/* Conjugate gradients on a grid whose rows are spread over the ranks, again and again for some
 * time. The right answer is known, and every solution must come after the same number of steps and
 * have the same bits: a value that is lost, repeated or late on its way does not stay hidden.
 *
 *   solve SECONDS
 *
 * Rank 0 prints "right" and the number of solutions. */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WIDE = 192, ROWS = 48, STEPS = 2000 };

/* Rows 1 to ROWS are ours; rows 0 and ROWS + 1 those of the neighbours, or zero. */
typedef double field[ROWS + 2][WIDE + 2];
static field x, b, r, p, q, truth, first;
static int rank, ranks;

static void fail(const char *what, double value)
{
    fprintf(stderr, "solve: rank %d: %s: %g\n", rank, what, value);
    MPI_Abort(MPI_COMM_WORLD, 3);
}

static double sum(double own)
{
    double all;
    MPI_Allreduce(&own, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return all;
}

static double dot(field u, field v)
{
    double own = 0;
    for (int i = 1; i <= ROWS; i++)
        for (int j = 1; j <= WIDE; j++)
            own += u[i][j] * v[i][j];
    return sum(own);
}

static void swap(field u)
{
    int up = rank > 0 ? rank - 1 : MPI_PROC_NULL, down = rank < ranks - 1 ? rank + 1 : MPI_PROC_NULL;
    MPI_Sendrecv(u[1], WIDE + 2, MPI_DOUBLE, up, 0, u[ROWS + 1], WIDE + 2, MPI_DOUBLE, down, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Sendrecv(u[ROWS], WIDE + 2, MPI_DOUBLE, down, 1, u[0], WIDE + 2, MPI_DOUBLE, up, 1,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* v = A u: the five-point stencil, and a little more on the diagonal so that it ends soon. */
static void apply(field u, field v)
{
    swap(u);
    for (int i = 1; i <= ROWS; i++)
        for (int j = 1; j <= WIDE; j++)
            v[i][j] = 4.01 * u[i][j] - u[i - 1][j] - u[i + 1][j] - u[i][j - 1] - u[i][j + 1];
}

static int solve(void)
{
    memset(x, 0, sizeof x);
    memcpy(r, b, sizeof r);
    memcpy(p, b, sizeof p);
    double old = dot(r, r), end = old * 1e-24;
    int step = 0;
    for (; step < STEPS && old > end; step++) {
        apply(p, q);
        double alpha = old / dot(p, q), fresh = 0;
        for (int i = 1; i <= ROWS; i++)
            for (int j = 1; j <= WIDE; j++) {
                x[i][j] += alpha * p[i][j];
                r[i][j] -= alpha * q[i][j];
            }
        fresh = dot(r, r);
        for (int i = 1; i <= ROWS; i++)
            for (int j = 1; j <= WIDE; j++)
                p[i][j] = r[i][j] + fresh / old * p[i][j];
        old = fresh;
    }
    if (old > end)
        fail("does not converge, residual", old);
    return step;
}

int main(int argc, char **argv)
{
    int more = 1, count = 0, steps = 0;
    double seconds = argc > 1 ? atof(argv[1]) : 1;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (int i = 1; i <= ROWS; i++)
        for (int j = 1; j <= WIDE; j++)
            truth[i][j] = sin(0.1 * (rank * ROWS + i)) * cos(0.07 * j) + 0.01 * (j % 7);
    apply(truth, b);
    double start = MPI_Wtime();
    for (; more; count++) {
        int took = solve();
        double worst = 0;
        for (int i = 1; i <= ROWS; i++)
            for (int j = 1; j <= WIDE; j++)
                worst = fmax(worst, fabs(x[i][j] - truth[i][j]));
        if (!(worst < 1e-8))
            fail("wrong by", worst);
        if (count == 0) {
            steps = took;
            memcpy(first, x, sizeof x);
        }
        if (took != steps)
            fail("other number of steps", took);
        if (memcmp(first, x, sizeof x) != 0)
            fail("other bits than the first time, solution", count);
        more = MPI_Wtime() - start < seconds;
        MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    if (rank == 0)
        printf("right %d solutions of %d steps\n", count, steps);
    MPI_Finalize();
    return 0;
}
