/* Windows: the time of operations that rank 0 starts and completes by itself, while rank 1 waits in a barrier or
 * computes or calls MPI_Test, and of epochs in which both take part; on memory of MPI_Win_allocate and of MPI_Win_create. */
#include "hpvmbench.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { ORIGIN = 0, TARGET = 1, ELEMENT = sizeof(int64_t) };

/* Seconds for which a target that computes calls no MPI: short beside the budget of a point, long beside any
 * operation that does not wait for the target. */
static const double COMPUTES = 0.001;

enum kind { ALLOCATED, CREATED, KINDS };
static const char *const kind_names[KINDS] = {"allocate", "create"};

/* What the window holds after a batch: a stamp that was put, a stamp to get, or the number of repetitions. */
enum leaves { LEAVES_STAMP, GETS_STAMP, LEAVES_COUNT };

struct operation {
    const char *name;
    void (*origin)(struct point *p);
    void (*target)(struct point *p); /* NULL: it waits */
    enum leaves leaves;
    int sized;    /* of every size, else of one element */
    int lock_all; /* inside of MPI_Win_lock_all */
    int fences;   /* between MPI_Win_fence */
    int computes; /* the target does not wait, it computes */
    int tests;    /* the target waits by MPI_Test, again and again */
};

struct work {
    const struct operation *op;
    enum kind kind;
    MPI_Comm pair;
    MPI_Group other;
    MPI_Win win;
    char *memory; /* of the window */
    int64_t next, one, before;
};

static void put(struct point *p)
{
    struct work *w = p->extra;
    int count = (int)p->size;
    MPI_Put(p->send, count, MPI_BYTE, TARGET, 0, count, MPI_BYTE, w->win);
}

static void put_flush(struct point *p)
{
    struct work *w = p->extra;
    put(p);
    MPI_Win_flush(TARGET, w->win);
}

static void get_flush(struct point *p)
{
    struct work *w = p->extra;
    int count = (int)p->size;
    MPI_Get(p->recv, count, MPI_BYTE, TARGET, 0, count, MPI_BYTE, w->win);
    MPI_Win_flush(TARGET, w->win);
}

static void accumulate_flush(struct point *p)
{
    struct work *w = p->extra;
    int count = (int)(p->size / ELEMENT);
    MPI_Accumulate(p->send, count, MPI_INT64_T, TARGET, 0, count, MPI_INT64_T, MPI_SUM, w->win);
    MPI_Win_flush(TARGET, w->win);
}

static void fetch_and_op_flush(struct point *p)
{
    struct work *w = p->extra;
    MPI_Fetch_and_op(&w->one, &w->before, MPI_INT64_T, TARGET, 0, MPI_SUM, w->win);
    MPI_Win_flush(TARGET, w->win);
}

static void compare_and_swap_flush(struct point *p)
{
    struct work *w = p->extra;
    int64_t compare = w->next++;
    MPI_Compare_and_swap(&w->next, &compare, &w->before, MPI_INT64_T, TARGET, 0, w->win);
    MPI_Win_flush(TARGET, w->win);
}

static void lock_put_unlock(struct point *p)
{
    struct work *w = p->extra;
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, TARGET, 0, w->win);
    put(p);
    MPI_Win_unlock(TARGET, w->win);
}

static void fence(struct point *p)
{
    struct work *w = p->extra;
    MPI_Win_fence(0, w->win);
}

static void put_fence(struct point *p)
{
    put(p);
    fence(p);
}

static void start_put_complete(struct point *p)
{
    struct work *w = p->extra;
    MPI_Win_start(w->other, 0, w->win);
    put(p);
    MPI_Win_complete(w->win);
}

static void post_wait(struct point *p)
{
    struct work *w = p->extra;
    MPI_Win_post(w->other, 0, w->win);
    MPI_Win_wait(w->win);
}

static const struct operation operations[] = {
    {"put", put_flush, NULL, LEAVES_STAMP, .sized = 1, .lock_all = 1},
    {"get", get_flush, NULL, GETS_STAMP, .sized = 1, .lock_all = 1},
    {"accumulate", accumulate_flush, NULL, LEAVES_COUNT, .sized = 1, .lock_all = 1},
    {"fetch_and_op", fetch_and_op_flush, NULL, LEAVES_COUNT, .lock_all = 1},
    {"compare_and_swap", compare_and_swap_flush, NULL, LEAVES_COUNT, .lock_all = 1},
    {"lock", lock_put_unlock, NULL, LEAVES_STAMP, .sized = 0},
    {"fence", put_fence, fence, LEAVES_STAMP, .fences = 1},
    {"pscw", start_put_complete, post_wait, LEAVES_STAMP, .sized = 0},
    {"put_busy", put_flush, NULL, LEAVES_STAMP, .lock_all = 1, .computes = 1},
    {"fetch_and_op_busy", fetch_and_op_flush, NULL, LEAVES_COUNT, .lock_all = 1, .computes = 1},
    {"lock_busy", lock_put_unlock, NULL, LEAVES_STAMP, .computes = 1},
    {"put_test", put_flush, NULL, LEAVES_STAMP, .lock_all = 1, .tests = 1},
    {"fetch_and_op_test", fetch_and_op_flush, NULL, LEAVES_COUNT, .lock_all = 1, .tests = 1},
};

enum { OPERATIONS = sizeof operations / sizeof *operations };

static double clock_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* As a program whose work, of `seconds` each time, now and then calls MPI, until rank 0 says that it is done. */
static void compute(double seconds)
{
    MPI_Request done;
    int there = 0;
    MPI_Irecv(NULL, 0, MPI_BYTE, ORIGIN, TAG_DATA, MPI_COMM_WORLD, &done);
    while (!there) {
        double end = seconds > 0 ? clock_seconds() + seconds : 0;
        while (end > 0 && clock_seconds() < end)
            ;
        MPI_Test(&done, &there, MPI_STATUS_IGNORE);
    }
}

static double at_origin(struct point *p, long iters)
{
    struct work *w = p->extra;
    if (w->op->lock_all)
        MPI_Win_lock_all(0, w->win);
    double start = MPI_Wtime();
    for (long i = 0; i < iters; i++)
        w->op->origin(p);
    double seconds = MPI_Wtime() - start;
    if (w->op->lock_all)
        MPI_Win_unlock_all(w->win);
    if (w->op->computes || w->op->tests)
        MPI_Send(NULL, 0, MPI_BYTE, TARGET, TAG_DATA, MPI_COMM_WORLD);
    return seconds;
}

static void at_target(struct point *p, long iters)
{
    struct work *w = p->extra;
    if (w->op->computes || w->op->tests)
        compute(w->op->computes ? COMPUTES : 0);
    for (long i = 0; w->op->target && i < iters; i++)
        w->op->target(p);
}

static void prepare(struct point *p)
{
    struct work *w = p->extra;
    int64_t *first = (int64_t *)p->send;
    w->next = 0;
    w->one = 1;
    if (w->op->leaves == LEAVES_STAMP)
        stamp(p->send, p->size, p->batch_no);
    for (long i = 0; w->op->leaves == LEAVES_COUNT && i < p->size / ELEMENT; i++)
        first[i] = 1;
    if (p->opt->rank == ORIGIN)
        return;
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, TARGET, 0, w->win);
    if (w->op->leaves == GETS_STAMP)
        stamp(w->memory, p->size, p->batch_no);
    else
        memset(w->memory, 0, (size_t)p->size);
    MPI_Win_unlock(TARGET, w->win);
}

static void check(struct point *p, long iters)
{
    struct work *w = p->extra;
    const int64_t *elements = (const int64_t *)w->memory;
    int64_t last = p->size / ELEMENT - 1;
    if (w->op->leaves == GETS_STAMP && p->opt->rank == ORIGIN)
        check_stamp(p, p->recv, p->batch_no, w->op->name);
    if (p->opt->rank == ORIGIN)
        return;
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, TARGET, 0, w->win);
    if (w->op->leaves == LEAVES_STAMP)
        check_stamp(p, w->memory, p->batch_no, w->op->name);
    if (w->op->leaves == LEAVES_COUNT && (elements[0] != iters || elements[last] != iters))
        die("wrong data: after %ld times %s of %ld bytes the window holds %" PRId64 " and %" PRId64, iters,
            w->op->name, p->size, elements[0], elements[last]);
    MPI_Win_unlock(TARGET, w->win);
}

static double repeat(struct point *p, long iters)
{
    struct work *w = p->extra;
    double seconds = 0;
    prepare(p);
    if (w->op->fences)
        MPI_Win_fence(MPI_MODE_NOPRECEDE, w->win);
    MPI_Barrier(w->pair);
    if (p->opt->rank == ORIGIN)
        seconds = at_origin(p, iters);
    else
        at_target(p, iters);
    if (w->op->fences)
        MPI_Win_fence(MPI_MODE_NOSUCCEED, w->win);
    MPI_Barrier(w->pair);
    check(p, iters);
    return seconds;
}

static void print(const struct point *p, const struct summary *s)
{
    const struct work *w = p->extra;
    report_of(p->opt, w->op->name, kind_names[w->kind], "us", p->size, s, 0, 1e6);
}

static void measure_size(struct work *w, const struct options *opt, long size)
{
    struct point p = {.opt = opt, .scope = SCOPE_PAIR, .size = size, .run = repeat, .extra = w};
    struct summary s = {0};
    MPI_Info info;
    MPI_Info_create(&info);
    if (opt->granularity)
        MPI_Info_set(info, "mpi_accumulate_granularity", opt->granularity);
    p.send = bench_alloc(opt, (size_t)size);
    p.recv = bench_alloc(opt, (size_t)size);
    if (w->kind == CREATED) {
        w->memory = bench_alloc(opt, (size_t)size);
        MPI_Win_create(w->memory, size, 1, info, w->pair, &w->win);
    } else {
        MPI_Win_allocate(size, 1, info, w->pair, &w->memory, &w->win);
    }
    MPI_Info_free(&info);
    measure(&p, &s);
    print(&p, &s);
    MPI_Win_free(&w->win);
    if (w->kind == CREATED)
        bench_free(opt, w->memory);
    bench_free(opt, p.send);
    bench_free(opt, p.recv);
}

static MPI_Group other_rank(const struct options *opt, MPI_Comm pair)
{
    MPI_Group both, other;
    int rank = 1 - opt->rank;
    MPI_Comm_group(pair, &both);
    MPI_Group_incl(both, 1, &rank, &other);
    MPI_Group_free(&both);
    return other;
}

int is_rma_operation(const char *name)
{
    int found = 0;
    for (int i = 0; i < OPERATIONS; i++)
        found |= strcmp(operations[i].name, name) == 0;
    return found;
}

int run_rma(const struct options *opt)
{
    long sizes[MAX_SIZES];
    int count = list_sizes(opt, ELEMENT, sizes);
    struct work w = {0};
    MPI_Comm_split(MPI_COMM_WORLD, opt->rank < 2 ? 0 : MPI_UNDEFINED, opt->rank, &w.pair);
    if (opt->rank > 1)
        return 0;
    w.other = other_rank(opt, w.pair);
    for (w.kind = ALLOCATED; w.kind < KINDS; w.kind++)
        for (int i = 0; i < OPERATIONS; i++) {
            w.op = &operations[i];
            if (opt->op && strcmp(opt->op, w.op->name) != 0)
                continue;
            for (int s = 0; s < (w.op->sized ? count : 1); s++)
                measure_size(&w, opt, w.op->sized ? sizes[s] / ELEMENT * ELEMENT : ELEMENT);
        }
    MPI_Group_free(&w.other);
    MPI_Comm_free(&w.pair);
    return 0;
}
