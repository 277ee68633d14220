/* Data with gaps: MPI_Pack and MPI_Unpack beside memcpy of as many bytes, and the one-way time
 * of a message whose data have gaps at the sender, or at both ends. */
#include "hpvmbench.h"
#include "shapes.h"

#include <stdio.h>
#include <string.h>

enum { LEAST = 512, MOST = 4 << 20 };

static const char GAP = 0x5a;

enum op { COPY, PACK, UNPACK, TO_CONTIGUOUS, TO_TYPED };

static const char *const op_names[] = {"memcpy", "pack", "unpack", "to contiguous", "to typed"};

/* Buffers of one shape; those of the point are the typed ones. */
struct work {
    struct shape shape;
    enum op op;
    char *dense; /* the data without gaps */
    char *packed;
    int packed_size;
};

/* Through a pointer that may change: no compiler can leave out a copy nobody looks at. */
static void *(*volatile copy)(void *, const void *, size_t) = memcpy;

/* The few bytes that tell the batches apart; after the first batch every byte and gap. */
static void check(const struct point *p, int typed, long seed)
{
    const struct work *w = p->extra;
    const char *buffer = typed ? p->recv : w->dense;
    long wrong = -1;
    if (!has_marks(&w->shape, typed, seed, buffer))
        die("wrong data: %s, %s, %ld bytes, batch %ld, rank %d", op_names[w->op], w->shape.name,
            p->size, p->batch_no, p->opt->rank);
    if (p->batch_no == 1)
        wrong = first_wrong(&w->shape, typed, seed, GAP, buffer);
    if (wrong >= 0)
        die("wrong data: %s, %s, %ld bytes: byte %ld of the receiver's buffer, rank %d",
            op_names[w->op], w->shape.name, p->size, wrong, p->opt->rank);
}

static double run_copy(struct point *p, long iters)
{
    struct work *w = p->extra;
    mark_data(&w->shape, 0, p->batch_no, w->dense);
    double start = MPI_Wtime();
    for (long i = 0; i < iters; i++)
        copy(w->packed, w->dense, (size_t)p->size);
    double seconds = MPI_Wtime() - start;
    if (!has_marks(&w->shape, 0, p->batch_no, w->packed))
        die("wrong data: memcpy of %ld bytes", p->size);
    return seconds;
}

static void pack(struct point *p, int *position)
{
    struct work *w = p->extra;
    *position = 0;
    MPI_Pack(p->send, w->shape.count, w->shape.type, w->packed, w->packed_size, position,
             MPI_COMM_WORLD);
}

/* What is packed may look as the library likes; unpacked without gaps it is known. */
static double run_pack(struct point *p, long iters)
{
    struct work *w = p->extra;
    int position = 0, length;
    mark_data(&w->shape, 1, p->batch_no, p->send);
    double start = MPI_Wtime();
    for (long i = 0; i < iters; i++)
        pack(p, &position);
    double seconds = MPI_Wtime() - start;
    length = position;
    position = 0;
    MPI_Unpack(w->packed, length, &position, w->dense, w->shape.dense_count, w->shape.dense,
               MPI_COMM_WORLD);
    check(p, 0, p->batch_no);
    return seconds;
}

static double run_unpack(struct point *p, long iters)
{
    struct work *w = p->extra;
    int length = 0, position;
    mark_data(&w->shape, 1, p->batch_no, p->send);
    pack(p, &length);
    double start = MPI_Wtime();
    for (long i = 0; i < iters; i++) {
        position = 0;
        MPI_Unpack(w->packed, length, &position, p->recv, w->shape.count, w->shape.type,
                   MPI_COMM_WORLD);
    }
    double seconds = MPI_Wtime() - start;
    check(p, 1, p->batch_no);
    return seconds;
}

static double run_message(struct point *p, long iters)
{
    const struct work *w = p->extra;
    const struct shape *s = &w->shape;
    int typed = w->op == TO_TYPED, rank = p->opt->rank, other = 1 - rank;
    char *recv = typed ? p->recv : w->dense;
    int count = typed ? s->count : s->dense_count;
    MPI_Datatype type = typed ? s->type : s->dense;
    mark_data(s, 1, p->batch_no + rank, p->send);
    double start = MPI_Wtime();
    for (long i = 0; i < iters; i++) {
        if (rank == 0)
            MPI_Send(p->send, s->count, s->type, other, TAG_DATA, MPI_COMM_WORLD);
        MPI_Recv(recv, count, type, other, TAG_DATA, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank == 1)
            MPI_Send(p->send, s->count, s->type, other, TAG_DATA, MPI_COMM_WORLD);
    }
    double seconds = 0.5 * (MPI_Wtime() - start);
    check(p, typed, p->batch_no + other);
    return seconds;
}

static void print(const struct point *p, const struct summary *s, double copied)
{
    const struct work *w = p->extra;
    int message = w->op == TO_CONTIGUOUS || w->op == TO_TYPED;
    double bytes = (double)p->size;
    double median = message ? 1e6 * s->median : 1e-6 * bytes / s->median;
    double least = message ? 1e6 * s->min : 1e-6 * bytes / s->max;
    double most = message ? 1e6 * s->max : 1e-6 * bytes / s->min;
    printf("{\"mode\":\"datatype\",\"op\":\"%s\",\"type\":\"%s\",\"ranks\":%d,\"size\":%ld,"
           "\"unit\":\"%s\",\"median\":%.6g,\"min\":%.6g,\"max\":%.6g,\"iters\":%ld,\"batches\":%d",
           op_names[w->op], w->shape.name, p->opt->ranks, p->size, message ? "us" : "MB/s", median,
           least, most, s->iters, s->batches);
    if (!message)
        printf(",\"memcpy_share\":%.4f", copied / s->median);
    printf("}\n");
    fflush(stdout);
}

/* All operations on one shape; the messages need rank 1 too. */
static void measure_shape(struct point *p)
{
    static double (*const runs[])(struct point *, long) = {run_copy, run_pack, run_unpack,
                                                           run_message, run_message};
    struct work *w = p->extra;
    const struct shape *s = &w->shape;
    double copied = 0;
    write_data(s, 1, 0, p->send);
    for (w->op = COPY; w->op <= TO_TYPED; w->op++) {
        struct summary out = {0};
        p->run = runs[w->op];
        p->scope = w->op < TO_CONTIGUOUS ? SCOPE_SELF : SCOPE_PAIR;
        p->batch_no = 0;
        if (p->scope == SCOPE_SELF && p->opt->rank != 0)
            continue;
        memset(p->recv, GAP, (size_t)(s->span + SHAPE_GUARD));
        memset(w->dense, GAP, (size_t)(s->size + SHAPE_GUARD));
        measure(p, &out);
        if (w->op == COPY)
            copied = out.median;
        else if (p->opt->rank == 0)
            print(p, &out, copied);
    }
}

static void measure_size(const struct options *opt, int which, long bytes)
{
    struct work w = {0};
    struct point p = {.opt = opt, .extra = &w};
    make_shape(&w.shape, which, bytes);
    p.size = w.shape.size;
    MPI_Pack_size(w.shape.count, w.shape.type, MPI_COMM_WORLD, &w.packed_size);
    if (w.packed_size < p.size)
        die("MPI_Pack_size: %d for %ld bytes of data, %s", w.packed_size, p.size, w.shape.name);
    p.send = bench_alloc(opt, (size_t)(w.shape.span + SHAPE_GUARD));
    p.recv = bench_alloc(opt, (size_t)(w.shape.span + SHAPE_GUARD));
    w.dense = bench_alloc(opt, (size_t)(p.size + SHAPE_GUARD));
    w.packed = bench_alloc(opt, (size_t)w.packed_size);
    measure_shape(&p);
    bench_free(opt, p.send);
    bench_free(opt, p.recv);
    bench_free(opt, w.dense);
    bench_free(opt, w.packed);
    free_shape(&w.shape);
}

/* Unless --sizes says otherwise three sizes: doubling would take minutes. Sizes below LEAST
 * are left out, some shapes having no room in them. */
int run_datatype(const struct options *opt)
{
    static const long usual[] = {4096, 65536, 1048576};
    long sizes[MAX_SIZES];
    int count = 0;
    if (opt->rank > 1)
        return 0;
    if (opt->size_count > 0)
        count = list_sizes(opt, LEAST, sizes);
    else
        for (int i = 0; i < 3; i++)
            if (usual[i] >= opt->min_size && usual[i] <= opt->max_size)
                sizes[count++] = usual[i];
    for (int i = 0; i < count; i++)
        if (sizes[i] > MOST)
            die("datatypes of %ld bytes would take gigabytes with their gaps; at most %d",
                sizes[i], (int)MOST);
    for (int which = 0; which < SHAPES; which++)
        for (int i = 0; i < count; i++)
            measure_size(opt, which, sizes[i]);
    return 0;
}
