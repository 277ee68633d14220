/* C = A B on Global Arrays. The blocks of C are tasks; who is free takes the next one from a shared counter, so that fast
 * processes do more. A task fetches strips of A and B, the next ones while it multiplies, and adds its block to C.
 *
 * The elements of A and B are small whole numbers, so all sums are exact: the check compares every element of C with
 * a sum of its own.
 *
 * Usage: mpirun -n RANKS ga_matmul [--n N] [--block B] [--depth K] [--check] [--quiet]
 */
#include <ga.h>
#include <macdecls.h>
#include <stdio.h>
#include <stdlib.h>

#include "../common/app.h"

/* BLAS, of which Global Arrays need one anyway. */
void dgemm_(const char *ta, const char *tb, const int *m, const int *n, const int *k, const double *alpha,
            const double *a, const int *lda, const double *b, const int *ldb, const double *beta, double *c,
            const int *ldc);

struct problem {
    long n, block, depth;
    int a, b, c, counter;
    long blocks; /* in a row of C */
};

static double element_a(long i, long k)
{
    return (double)((i * 3 + k * 5) % 11 - 5);
}

static double element_b(long k, long j)
{
    return (double)((k * 7 + j * 2) % 13 - 6);
}

static int array(const char *name, int type, int dimensions, long n)
{
    int dims[2] = { (int)n, (int)n };
    int handle = NGA_Create(type, dimensions, dims, (char *)name, NULL);
    if (!handle)
        GA_Error("no memory for an array", (int)n);
    return handle;
}

/* Each process writes the part that it has. */
static void fill(int handle, double (*element)(long, long))
{
    int lo[2], hi[2], ld[1];
    double *part;
    NGA_Distribution(handle, GA_Nodeid(), lo, hi);
    if (lo[0] < 0 || hi[0] < lo[0])
        return;
    NGA_Access(handle, lo, hi, &part, ld);
    for (long i = lo[0]; i <= hi[0]; i++)
        for (long j = lo[1]; j <= hi[1]; j++)
            part[(i - lo[0]) * ld[0] + j - lo[1]] = element(i, j);
    NGA_Release_update(handle, lo, hi);
}

static long least(long a, long b)
{
    return a < b ? a : b;
}

/* A strip of A or B on its way. */
struct strip {
    double *data;
    ga_nbhdl_t handle;
};

static void fetch(int handle, long i, long j, long rows, long columns, struct strip *strip)
{
    int lo[2] = { (int)i, (int)j }, hi[2] = { (int)(i + rows - 1), (int)(j + columns - 1) };
    int ld[1] = { (int)columns };
    NGA_NbGet(handle, lo, hi, strip->data, ld, &strip->handle);
}

/* One block of C. */
static void task(const struct problem *p, long number, struct strip a[2], struct strip b[2], double *sum)
{
    long i = number / p->blocks * p->block, j = number % p->blocks * p->block;
    int rows = (int)least(p->block, p->n - i), columns = (int)least(p->block, p->n - j);
    int now = 0;
    double one = 1, beta = 0;
    fetch(p->a, i, 0, rows, least(p->depth, p->n), &a[0]);
    fetch(p->b, 0, j, least(p->depth, p->n), columns, &b[0]);
    for (long k = 0; k < p->n; k += p->depth, now = !now) {
        int depth = (int)least(p->depth, p->n - k);
        long next = k + p->depth;
        NGA_NbWait(&a[now].handle);
        NGA_NbWait(&b[now].handle);
        if (next < p->n) {
            fetch(p->a, i, next, rows, least(p->depth, p->n - next), &a[!now]);
            fetch(p->b, next, j, least(p->depth, p->n - next), columns, &b[!now]);
        }
        /* Rows here are columns there: (A B) turned is B turned times A turned. */
        dgemm_("n", "n", &columns, &rows, &depth, &one, b[now].data, &columns, a[now].data, &depth, &beta, sum,
               &columns);
        beta = 1;
    }
    int lo[2] = { (int)i, (int)j }, hi[2] = { (int)(i + rows - 1), (int)(j + columns - 1) }, ld[1] = { columns };
    NGA_Acc(p->c, lo, hi, sum, ld, &one);
}

/* All tasks; how many this process did. */
static long multiply(struct app *app, const struct problem *p)
{
    size_t strip = (size_t)(p->block * p->depth), block = (size_t)(p->block * p->block);
    struct strip a[2], b[2];
    for (int i = 0; i < 2; i++) {
        a[i].data = app_memory(strip, sizeof(double));
        b[i].data = app_memory(strip, sizeof(double));
    }
    double *sum = app_memory(block, sizeof(double));
    long tasks = p->blocks * p->blocks, done = 0;
    int first[1] = { 0 };
    for (long next; (next = NGA_Read_inc(p->counter, first, 1)) < tasks; done++) {
        task(p, next, a, b, sum);
        app_progress(app, 0, next + 1, tasks);
    }
    for (int i = 0; i < 2; i++) {
        free(a[i].data);
        free(b[i].data);
    }
    free(sum);
    return done;
}

/* Elements of this process's part of C that differ from their own sums. */
static long wrong(const struct problem *p)
{
    int lo[2], hi[2], ld[1];
    double *part;
    long errors = 0;
    NGA_Distribution(p->c, GA_Nodeid(), lo, hi);
    if (lo[0] < 0 || hi[0] < lo[0])
        return 0;
    NGA_Access(p->c, lo, hi, &part, ld);
    for (long i = lo[0]; i <= hi[0]; i++)
        for (long j = lo[1]; j <= hi[1]; j++) {
            double sum = 0;
            for (long k = 0; k < p->n; k++)
                sum += element_a(i, k) * element_b(k, j);
            errors += sum != part[(i - lo[0]) * ld[0] + j - lo[1]];
        }
    NGA_Release(p->c, lo, hi);
    return errors;
}

static int run(struct app *app, struct problem *p)
{
    p->blocks = (p->n + p->block - 1) / p->block;
    p->a = array("A", C_DBL, 2, p->n);
    p->b = array("B", C_DBL, 2, p->n);
    p->c = array("C", C_DBL, 2, p->n);
    p->counter = array("next task", C_LONG, 1, 1);
    fill(p->a, element_a);
    fill(p->b, element_b);
    GA_Zero(p->c);
    GA_Zero(p->counter);
    GA_Sync();
    app->started = app->said = MPI_Wtime();
    long done = multiply(app, p);
    GA_Sync();
    double seconds = MPI_Wtime() - app->started;

    long most = done, few = done, errors = app->check ? wrong(p) : 0;
    GA_Lgop(&most, 1, "max");
    GA_Lgop(&few, 1, "min");
    GA_Lgop(&errors, 1, "+");
    if (app->rank == 0)
        printf("%ld x %ld, blocks of %ld: %.3f s, %.2f Gflop/s; %ld tasks, %ld to %ld of a process\n", p->n, p->n,
               p->block, seconds, 2e-9 * (double)p->n * (double)p->n * (double)p->n / seconds, p->blocks * p->blocks,
               few, most);
    GA_Destroy(p->counter);
    GA_Destroy(p->c);
    GA_Destroy(p->b);
    GA_Destroy(p->a);
    if (!app->check)
        return 0;
    if (app->rank == 0)
        printf("%ld elements are wrong\n", errors);
    return app_verdict(app, errors == 0);
}

static const char only[] = "no checkpoints, pictures or scaling tables here; --help lists the flags";

int main(int argc, char **argv)
{
    struct app app;
    struct problem p = { .n = 2000, .block = 250, .depth = 250 };
    const struct app_flag flags[] = {
        { "--n", APP_WHOLE, &p.n, 1, 40000, "N", "rows and columns of the matrices (2000; 300 with --check)" },
        { "--block", APP_WHOLE, &p.block, 1, 10000, "B", "rows and columns of a task's block (250; 32 with --check)" },
        { "--depth", APP_WHOLE, &p.depth, 1, 10000, "K", "of A's columns at a time (250)" },
        { "--checkpoint", APP_ABSENT, NULL, 0, 0, NULL, only },
        { "--every", APP_ABSENT, NULL, 0, 0, NULL, only },
        { "--restart", APP_ABSENT, NULL, 0, 0, NULL, only },
        { "--image", APP_ABSENT, NULL, 0, 0, NULL, only },
        { "--scaling", APP_ABSENT, NULL, 0, 0, NULL, only },
        { NULL, APP_SWITCH, NULL, 0, 0, NULL, NULL },
    };
    int code = app_begin(&argc, &argv, &app, "ga_matmul", "Multiplies matrices on Global Arrays.", flags);
    if (code >= 0)
        return code;
    if (app.check && p.n == 2000)
        p.n = 300;
    if (app.check && p.block == 250)
        p.block = 32;
    GA_Initialize();
    if (!MA_init(C_DBL, 1 << 16, 1 << 20))
        GA_Error("no memory for Global Arrays' own buffers", 1);
    code = run(&app, &p);
    GA_Terminate();
    return app_end(code);
}
