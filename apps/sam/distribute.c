/* Who owns which block, and what it has to do for it.
 *
 * Whole subtrees of the elimination tree go to one rank each, which needs nobody for them. The panels above them
 * are spread block by block over a grid of ranks. */
#include "cholesky.h"

#include <stdlib.h>
#include <string.h>

/* By how much the rank with the most work in subtrees may exceed the mean. */
static const double IMBALANCE = 1.1;

struct subtree {
    int root; /* its last panel */
    int owner;
    double work;
};

struct forest {
    int *parent, *child, *sibling; /* of panels; -1: none */
    double *work;                  /* of the whole subtree */
    struct subtree *list;          /* that are not cut any more, so far */
    int count;
};

/* The panel of the first row below, which has all the others, too. */
static int parent_of(const struct structure *s, int panel)
{
    int second = s->blocks_begin[panel] + 1;
    return second < s->blocks_begin[panel + 1] ? s->blocks[second].i : -1;
}

static struct forest forest_of(const struct structure *s)
{
    size_t n = (size_t)s->panels;
    struct forest f = {.parent = app_memory(3 * n, sizeof(int)), .work = app_memory(n, sizeof(double)),
                       .list = app_memory(n, sizeof(struct subtree))};
    f.child = f.parent + n;
    f.sibling = f.child + n;
    memset(f.child, -1, n * sizeof *f.child);
    memset(f.work, 0, n * sizeof *f.work);
    for (int p = 0; p < s->panels; p++) {
        double rows = (double)(s->rows_begin[p + 1] - s->rows_begin[p]);
        f.work[p] += structure_width(s, p) * rows * rows;
        f.parent[p] = parent_of(s, p);
        if (f.parent[p] < 0) {
            f.list[f.count++] = (struct subtree){p, 0, f.work[p]};
            continue;
        }
        f.work[f.parent[p]] += f.work[p];
        f.sibling[p] = f.child[f.parent[p]];
        f.child[f.parent[p]] = p;
    }
    return f;
}

static int heavier(const void *a, const void *b)
{
    const struct subtree *x = a, *y = b;
    return x->work != y->work ? (x->work < y->work ? 1 : -1) : x->root - y->root;
}

/* Each subtree, the heaviest first, to the rank with the least so far. Returns whether all have about the same. */
static int deal(struct forest *f, int ranks)
{
    double *load = app_memory((size_t)ranks, sizeof *load), most = 0, all = 0;
    for (int r = 0; r < ranks; r++)
        load[r] = 0;
    qsort(f->list, (size_t)f->count, sizeof *f->list, heavier);
    for (int k = 0; k < f->count; k++) {
        int least = 0;
        for (int r = 1; r < ranks; r++)
            least = load[r] < load[least] ? r : least;
        f->list[k].owner = least;
        load[least] += f->list[k].work;
        all += f->list[k].work;
        most = load[least] > most ? load[least] : most;
    }
    free(load);
    return most <= IMBALANCE * all / ranks;
}

/* The rank of each panel's subtree, or -1 above them. */
static int *subtree_owners(const struct structure *s, int ranks)
{
    struct forest f = forest_of(s);
    int *owner = app_memory((size_t)s->panels, sizeof *owner);
    memset(owner, -1, (size_t)s->panels * sizeof *owner);
    while (!deal(&f, ranks) && f.count > 0) {
        /* The heaviest, which is the first now, gives way to its children. */
        int root = f.list[0].root;
        f.list[0] = f.list[--f.count];
        for (int c = f.child[root]; c != -1; c = f.sibling[c])
            f.list[f.count++] = (struct subtree){c, 0, f.work[c]};
    }
    for (int k = 0; k < f.count; k++)
        owner[f.list[k].root] = f.list[k].owner;
    for (int p = s->panels - 1; p >= 0; p--)
        if (f.parent[p] >= 0 && owner[f.parent[p]] >= 0)
            owner[p] = owner[f.parent[p]];
    free(f.parent);
    free(f.work);
    free(f.list);
    return owner;
}

static void assign(struct factor *f)
{
    struct structure *s = &f->s;
    int *owner = subtree_owners(s, f->ranks), grid[2] = {0, 0};
    MPI_Dims_create(f->ranks, 2, grid);
    for (int b = 0; b < s->blocks_begin[s->panels]; b++) {
        struct block *block = &s->blocks[b];
        int spread = block->i % grid[0] * grid[1] + block->j % grid[1];
        block->owner = owner[block->j] >= 0 ? owner[block->j] : spread;
    }
    free(owner);
}

static void reads(struct factor *f, int block, int owner)
{
    f->readers[(size_t)block * (size_t)f->reader_words + (size_t)owner / 64] |= (uint64_t)1 << owner % 64;
    f->s.blocks[block].reads += owner == f->rank;
}

/* Goes through all updates in the order of their panels: counts those of each block of this rank, or writes them.
 * number[b] is where block b is in the list of targets, or -1. */
static void updates(struct factor *f, const int *number, int write)
{
    const struct structure *s = &f->s;
    for (int k = 0; k < s->panels; k++)
        for (int b = s->blocks_begin[k] + 1; b < s->blocks_begin[k + 1]; b++)
            for (int a = b; a < s->blocks_begin[k + 1]; a++) {
                int target = block_find(s, s->blocks[a].i, s->blocks[b].i), owner = s->blocks[target].owner;
                if (!write) {
                    reads(f, a, owner);
                    reads(f, b, owner);
                }
                if (owner != f->rank)
                    continue;
                struct target *to = &f->targets[number[target]];
                if (write)
                    f->updates[to->end] = (struct update){a, b};
                to->end++;
            }
}

/* Room for the updates of each block: counts become beginnings. */
static void make_room(struct factor *f)
{
    int64_t count = 0;
    for (int t = 0; t < f->target_count; t++) {
        int64_t more = f->targets[t].end;
        f->targets[t].next = f->targets[t].end = count;
        count += more;
    }
    f->updates = app_memory((size_t)count, sizeof *f->updates);
}

void distribute(struct factor *f)
{
    struct structure *s = &f->s;
    int count = s->blocks_begin[s->panels], *number = app_memory((size_t)count, sizeof *number);
    assign(f);
    f->reader_words = (f->ranks + 63) / 64;
    f->readers = app_memory((size_t)count * (size_t)f->reader_words, sizeof *f->readers);
    memset(f->readers, 0, (size_t)count * (size_t)f->reader_words * sizeof *f->readers);
    f->targets = app_memory((size_t)count, sizeof *f->targets);
    f->target_count = 0;
    for (int b = 0; b < count; b++) {
        struct block *block = &s->blocks[b];
        number[b] = block->owner == f->rank ? f->target_count : -1;
        if (block->owner == f->rank)
            f->targets[f->target_count++] = (struct target){b, 0, 0};
        if (b != s->blocks_begin[block->j])
            reads(f, s->blocks_begin[block->j], block->owner);
    }
    updates(f, number, 0);
    make_room(f);
    updates(f, number, 1);
    free(number);
}
