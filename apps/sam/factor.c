/* The factorisation: each rank updates its blocks with those that are done, and finishes them.
 *
 * A finished block is a value, which its owner pushes to the ranks that read it. Each of them uses it once, for all
 * it has to do with it, and the owner once until all is over; then the value goes. All updates of a block are made in
 * the order of their panels, so the factor has the same bits on any number of ranks. */
#include "cholesky.h"
#include "common/among.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Operations after which a rank looks at its first blocks again: others wait for these. A tenth of a millisecond. */
static const double ENOUGH = 2e6;

static sam_name name_of(const struct factor *f, int block)
{
    return sam_name_of(f->run, (uint64_t)f->s.blocks[block].owner << OWNER_SHIFT | (uint64_t)block);
}

static const double *values_of(struct factor *f, int block)
{
    struct block *b = &f->s.blocks[block];
    if (!b->values)
        b->values = b->owner == f->rank ? NULL : sam_try_use(name_of(f, block), NULL);
    return b->values;
}

/* Something of this rank has been done with the block. */
static void has_read(struct factor *f, int block)
{
    struct block *b = &f->s.blocks[block];
    if (--b->reads == 0 && b->owner != f->rank) {
        sam_end_use(name_of(f, block));
        b->values = NULL;
    }
}

/* Where the rows of a source are among those of the target. */
static void match(const struct structure *s, const struct block *source, const struct block *target, int *where)
{
    const int *rows = s->rows + s->rows_begin[source->j] + source->first;
    const int *among = s->rows + s->rows_begin[target->j] + target->first;
    for (int k = 0, at = 0; k < source->count; k++) {
        while (among[at] != rows[k])
            at++;
        where[k] = at;
    }
}

/* Takes the product off the target. Its columns are rows of block b. */
static void take_off(const struct structure *s, struct block *target, const struct block *a, const struct block *b,
                     const double *product)
{
    const int *columns = s->rows + s->rows_begin[b->j] + b->first;
    int where[MOST_WIDTH];
    match(s, a, target, where);
    for (int j = 0; j < b->count; j++) {
        double *to = target->written + (columns[j] - s->first[target->j]) * target->stride;
        const double *from = product + j * a->stride;
        if (where[a->count - 1] - where[0] == a->count - 1)
            for (int i = 0; i < a->count; i++)
                to[where[0] + i] -= from[i];
        else
            for (int i = 0; i < a->count; i++)
                to[where[i]] -= from[i];
    }
}

/* Returns the operations done. */
static double update(struct factor *f, struct block *target, const struct update *u)
{
    static double product[MOST_WIDTH * MOST_WIDTH] __attribute__((aligned(64)));
    const struct block *a = &f->s.blocks[u->a], *b = &f->s.blocks[u->b];
    int depth = structure_width(&f->s, a->j);
    kernel_product(product, a->stride, a->values, a->stride, b->values, b->stride, a->count, b->count, depth);
    take_off(&f->s, target, a, b, product);
    has_read(f, u->a);
    has_read(f, u->b);
    return 2.0 * a->stride * b->stride * depth;
}

static void not_definite(const struct factor *f, int column)
{
    fprintf(stderr, "%s: the matrix is not positive definite, as row %d shows; it has no Cholesky factor\n", f->app->name,
            f->s.order[column] + 1);
    MPI_Abort(MPI_COMM_WORLD, APP_FILE);
}

/* The block is a value from now on; those who will read it get it. */
static void publish(struct factor *f, int block)
{
    struct block *b = &f->s.blocks[block];
    const uint64_t *readers = f->readers + (size_t)block * (size_t)f->reader_words;
    sam_name name = name_of(f, block);
    uint64_t uses = 1;
    for (int r = 0; r < f->ranks; r++)
        uses += r != f->rank && readers[r / 64] >> r % 64 & 1;
    sam_value_end(name, uses);
    for (int r = 0; r < f->ranks; r++)
        if (r != f->rank && readers[r / 64] >> r % 64 & 1)
            sam_push(name, r);
    b->values = sam_use(name, NULL);
    b->written = NULL;
}

/* All updates are done. Returns 0 while the diagonal block that it needs is not. */
static int finish(struct factor *f, int block)
{
    struct block *b = &f->s.blocks[block];
    int diagonal = f->s.blocks_begin[b->j], width = structure_width(&f->s, b->j);
    if (block == diagonal) {
        int column = kernel_factor(b->written, b->stride, width);
        if (column >= 0)
            not_definite(f, f->s.first[b->j] + column);
    } else {
        const double *l = values_of(f, diagonal);
        if (!l)
            return 0;
        kernel_solve(b->written, b->stride, l, f->s.blocks[diagonal].stride, width);
        has_read(f, diagonal);
    }
    publish(f, block);
    return 1;
}

/* Does for a block what can be done now. Returns the operations. */
static double advance(struct factor *f, struct target *t)
{
    struct block *b = &f->s.blocks[t->block];
    double done = 0;
    for (; t->next < t->end; t->next++) {
        const struct update *u = &f->updates[t->next];
        if (!values_of(f, u->a) || !values_of(f, u->b))
            return done;
        done += update(f, b, u);
    }
    if (!finish(f, t->block))
        return done;
    double width = structure_width(&f->s, b->j);
    return done + width * width * b->stride;
}

/* Waits for what the block needs next, which has a smaller number. So the owner of the smallest that ranks wait
 * for does not wait itself. */
static void wait_for(struct factor *f, const struct target *t)
{
    const struct structure *s = &f->s;
    int block = s->blocks_begin[s->blocks[t->block].j];
    if (t->next < t->end)
        block = values_of(f, f->updates[t->next].a) ? f->updates[t->next].b : f->updates[t->next].a;
    if (!values_of(f, block))
        s->blocks[block].values = sam_use(name_of(f, block), NULL);
}

/* Goes through the blocks that are not finished, the first columns first. */
static void eliminate(struct factor *f)
{
    int left = f->target_count, total = left, *open = app_memory((size_t)left, sizeof *open);
    f->app->started = 0;
    app_progress(f->app, 0, 0, total);
    for (int t = 0; t < left; t++)
        open[t] = t;
    while (left > 0) {
        double done = 0;
        int still = 0, k = 0;
        for (; k < left && done < ENOUGH; k++) {
            done += advance(f, &f->targets[open[k]]);
            if (!f->s.blocks[f->targets[open[k]].block].values)
                open[still++] = open[k];
        }
        memmove(open + still, open + k, (size_t)(left - k) * sizeof *open);
        left -= k - still;
        sam_poll();
        if (done == 0 && left > 0)
            wait_for(f, &f->targets[open[0]]);
        app_progress(f->app, 0, total - left, total);
    }
    free(open);
}

/* Memory for this rank's blocks, with the entries of the matrix. */
static void begin_blocks(struct factor *f)
{
    struct structure *s = &f->s;
    for (int t = 0; t < f->target_count; t++) {
        struct block *b = &s->blocks[f->targets[t].block];
        b->written = sam_value_begin(name_of(f, f->targets[t].block), block_bytes(s, b));
        const int *rows = s->rows + s->rows_begin[b->j] + b->first;
        for (int j = s->first[b->j]; j < s->first[b->j + 1]; j++) {
            double *to = b->written + (j - s->first[b->j]) * b->stride;
            int64_t k = f->a.begin[j], end = f->a.begin[j + 1];
            while (k < end && f->a.column[k] < rows[0])
                k++;
            for (int i = 0; i < b->count && k < end; i++)
                if (f->a.column[k] == rows[i])
                    to[i] = f->a.value[k++];
        }
    }
}

void factor_make(struct factor *f, struct app *app, MPI_Comm comm, const struct matrix *a, int *order, int width)
{
    memset(f, 0, sizeof *f);
    f->app = app;
    f->comm = comm;
    f->run = new_series(f->comm);
    MPI_Comm_rank(comm, &f->rank);
    MPI_Comm_size(comm, &f->ranks);
    f->s = structure_make(a, order, width, &f->a);
    distribute(f);
}

double factor_compute(struct factor *f)
{
    begin_blocks(f);
    meet(f->comm);
    double begin = MPI_Wtime();
    eliminate(f);
    meet(f->comm);
    return MPI_Wtime() - begin;
}

void factor_forget(struct factor *f)
{
    for (int t = 0; t < f->target_count; t++)
        sam_end_use(name_of(f, f->targets[t].block));
    meet(f->comm);
}

void factor_again(struct factor *f)
{
    f->run = new_series(f->comm);
    for (int b = 0; b < f->s.blocks_begin[f->s.panels]; b++) {
        f->s.blocks[b].values = NULL;
        f->s.blocks[b].reads = 0;
    }
    free(f->targets);
    free(f->updates);
    free(f->readers);
    distribute(f);
}

void factor_free(struct factor *f)
{
    structure_free(&f->s);
    matrix_free(&f->a);
    free(f->targets);
    free(f->updates);
    free(f->readers);
}
