/* The top of the tree: cells of more than so many bodies, from the root down. All ranks count theirs into accumulators, three
 * levels at a time, and make the same cells of the sums. */
#include "barnes.h"

#include <stdlib.h>
#include <string.h>

/* Bodies, and interactions of their last forces, of the cells three levels below one. */
struct block {
    int64_t ranks; /* that have added theirs */
    int64_t count[BLOCK_CELLS];
    uint64_t work[BLOCK_CELLS];
};

static uint64_t behind_level(int level)
{
    return (uint64_t)1 << 3 * (LEVELS - level);
}

uint64_t first_key(const struct top *t)
{
    return (t->cell.key - ((uint64_t)1 << 3 * t->level)) * behind_level(t->level);
}

static int new_tops(struct universe *u, int count)
{
    if (u->top_count + count > u->top_room) {
        u->top_room = 2 * (u->top_count + count) + 256;
        u->tops = app_more_memory(u->tops, (size_t)u->top_room, sizeof *u->tops);
    }
    memset(u->tops + u->top_count, 0, (size_t)count * sizeof *u->tops);
    u->top_count += count;
    return u->top_count - count;
}

static void add_own(const struct universe *u, int at, struct block *b)
{
    const struct top *t = &u->tops[at];
    uint64_t first = first_key(t), size = behind_level(t->level + BLOCK_LEVELS);
    int from = lower_bound(u->bodies, u->count, first);
    int behind = lower_bound(u->bodies, u->count, first + behind_level(t->level));
    for (int i = from; i < behind; i++) {
        uint64_t cell = (u->bodies[i].key - first) / size;
        b->count[cell]++;
        b->work[cell] += u->bodies[i].work;
    }
    b->ranks++;
}

/* Blocks in progress: cells of the top, whose number in this list is the name's. */
struct round {
    int *at, count, room, named;
};

static void add_to_round(struct round *r, int at)
{
    if (r->count == r->room) {
        r->room = 2 * r->room + 64;
        r->at = app_more_memory(r->at, (size_t)r->room, sizeof *r->at);
    }
    r->at[r->count++] = at;
}

static sam_name block_name(const struct universe *u, const struct round *r, int n)
{
    return name_with_home(u->step, COUNTS, n % u->app->ranks, r->named + n);
}

static void count_one(struct universe *u, const struct round *r, int n, int make)
{
    sam_name name = block_name(u, r, n);
    struct block *b = make ? sam_accumulator_begin(name, sizeof *b) : sam_update(name, NULL);
    add_own(u, r->at[n], b);
    if (b->ranks == u->app->ranks)
        sam_end_update_to_value(name, (uint64_t)u->app->ranks);
    else
        sam_end_update(name);
}

/* The own ones first, which others wait for; then those behind them, so that ranks do not meet at one. */
static void count_all(struct universe *u, const struct round *r)
{
    int rank = u->app->rank, ranks = u->app->ranks;
    for (int n = rank; n < r->count; n += ranks)
        count_one(u, r, n, 1);
    for (int other = 1; other < ranks; other++)
        for (int n = (rank + other) % ranks; n < r->count; n += ranks)
            count_one(u, r, n, 0);
}

/* Divides a cell by the counts of its part of a block. */
static void divide(struct universe *u, int at, const struct block *b, int from, int cells, struct round *next)
{
    int64_t counts[8] = {0};
    uint64_t works[8] = {0};
    int some = 0, part = cells / 8, level = u->tops[at].level + 1;
    for (int o = 0; o < 8; o++) {
        for (int n = from + o * part; n < from + (o + 1) * part; n++)
            counts[o] += b->count[n], works[o] += b->work[n];
        some += counts[o] > 0;
    }
    int first = new_tops(u, some), child = first;
    u->tops[at].subtree = -1;
    u->tops[at].cell.first = first;
    u->tops[at].cell.count = some;
    for (int o = 0; o < 8; o++) {
        if (counts[o] == 0)
            continue;
        struct top *t = &u->tops[child];
        t->cell.key = u->tops[at].cell.key * 8 + (uint64_t)o;
        t->level = level, t->count = counts[o], t->work = works[o];
        if (t->count > SUBTREE_BODIES && level < LEVELS) {
            if (part == 1)
                add_to_round(next, child);
            else
                divide(u, child, b, from + o * part, part, next);
        }
        child++;
    }
}

/* Numbers the cells that are not divided, in the order of their keys, and gives them to ranks by the work before them. */
static void number_subtrees(struct universe *u, int at, uint64_t all, uint64_t *before)
{
    struct top *t = &u->tops[at];
    for (int c = 0; c < t->cell.count; c++)
        number_subtrees(u, t->cell.first + c, all, before);
    if (t->cell.count > 0)
        return;
    if (u->subtree_count == u->subtree_room) {
        u->subtree_room = 2 * u->subtree_room + 256;
        u->subtrees = app_more_memory(u->subtrees, (size_t)u->subtree_room, sizeof *u->subtrees);
    }
    unsigned __int128 middle = (unsigned __int128)(*before + t->work / 2) * (unsigned)u->app->ranks;
    t->subtree = u->subtree_count;
    u->subtrees[u->subtree_count++] = (struct subtree){.top = at, .owner = (int)(middle / all)};
    *before += t->work;
}

void make_top(struct universe *u)
{
    struct round now = {NULL, 0, 0, 0}, next = {NULL, 0, 0, 0};
    uint64_t before = 0, all = 0;
    u->top_count = u->subtree_count = 0;
    int root = new_tops(u, 1);
    u->tops[root] = (struct top){.cell.key = 1, .count = u->total};
    add_to_round(&now, root);
    while (now.count > 0) {
        count_all(u, &now);
        for (int n = 0; n < now.count; n++) {
            const struct block *b = sam_use(block_name(u, &now, n), NULL);
            divide(u, now.at[n], b, 0, BLOCK_CELLS, &next);
            sam_end_use(block_name(u, &now, n));
        }
        next.named = now.named + now.count;
        struct round old = now;
        now = next;
        next = (struct round){old.at, 0, old.room, 0};
    }
    for (int c = 0; c < u->tops[0].cell.count; c++)
        all += u->tops[u->tops[0].cell.first + c].work;
    number_subtrees(u, 0, all > 0 ? all : 1, &before);
    free(now.at);
    free(next.at);
}

static void moments_below(struct universe *u, int at)
{
    struct cell *cell = &u->tops[at].cell, children[8];
    if (cell->count == 0)
        return;
    for (int c = 0; c < cell->count; c++) {
        moments_below(u, cell->first + c);
        children[c] = u->tops[cell->first + c].cell;
    }
    moments_of_cells(cell, children, cell->count);
}

void finish_top(struct universe *u)
{
    moments_below(u, 0);
}

void free_top(struct universe *u)
{
    free(u->tops);
    free(u->subtrees);
    u->tops = NULL;
    u->subtrees = NULL;
    u->top_room = u->subtree_room = 0;
}
