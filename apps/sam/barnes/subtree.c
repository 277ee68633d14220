/* The own subtrees: built, written as values, and their roots made known to all. */
#include "barnes.h"

#include <stdlib.h>
#include <string.h>

const struct cell *cells_of(const struct tree *t)
{
    return (const struct cell *)(t + 1);
}

const struct point *points_of(const struct tree *t)
{
    return (const struct point *)(cells_of(t) + t->cells);
}

static int new_cells(struct universe *u, int count)
{
    if (u->cell_count + count > u->cell_room) {
        u->cell_room = 2 * (u->cell_count + count) + 256;
        u->cells = app_more_memory(u->cells, (size_t)u->cell_room, sizeof *u->cells);
    }
    memset(u->cells + u->cell_count, 0, (size_t)count * sizeof *u->cells);
    u->cell_count += count;
    return u->cell_count - count;
}

static void add_group(struct universe *u, int first, int count)
{
    if (u->group_count == u->group_room) {
        u->group_room = 2 * u->group_room + 256;
        u->groups = app_more_memory(u->groups, (size_t)u->group_room, sizeof *u->groups);
    }
    struct group *g = &u->groups[u->group_count++];
    g->first = first, g->count = count, g->done = 0;
    double least = box_of(u->bodies + first, count, g->low, g->high);
    g->tolerance = u->bounded ? allowed_error(u->accuracy, least) : 0;
}

/* Builds the cell `at` of level `level` over bodies first to first + count, of which `base` is the subtree's first. */
static void build(struct universe *u, int at, int level, int base, int first, int count, int grouped)
{
    int begins[9], some = 0, child = 0;
    struct cell children[8];
    if (!grouped && (count <= GROUP_BODIES || level == LEVELS)) {
        add_group(u, first, count);
        grouped = 1;
    }
    if (count <= LEAF_BODIES || level == LEVELS) {
        moments_of_bodies(&u->cells[at], u->bodies + first, count);
        u->cells[at].kind = LEAF, u->cells[at].first = first - base, u->cells[at].count = count;
        return;
    }
    int shift = 3 * (LEVELS - level - 1), end = first;
    for (int o = 0; o < 8; o++) {
        begins[o] = end;
        while (end < first + count && (int)(u->bodies[end].key >> shift & 7) == o)
            end++;
        some += end > begins[o];
    }
    begins[8] = end;
    int cells = new_cells(u, some);
    for (int o = 0; o < 8; o++)
        if (begins[o + 1] > begins[o])
            build(u, cells + child++, level + 1, base, begins[o], begins[o + 1] - begins[o], grouped);
    memcpy(children, u->cells + cells, (size_t)some * sizeof *children);
    moments_of_cells(&u->cells[at], children, some);
    u->cells[at].kind = INTERNAL, u->cells[at].first = cells, u->cells[at].count = some;
}

static void write_subtree(struct universe *u, int number)
{
    struct subtree *s = &u->subtrees[number];
    u->cell_count = 0;
    build(u, new_cells(u, 1), u->tops[s->top].level, s->first, s->first, s->count, 0);
    s->root = u->cells[0];
    sam_name name = name_with_home(u->step, SUBTREE, u->app->rank, number);
    size_t cells = (size_t)u->cell_count * sizeof *u->cells;
    struct tree *t = sam_value_begin(name, sizeof *t + cells + (size_t)s->count * sizeof(struct point));
    t->cells = u->cell_count, t->points = s->count;
    memcpy(t + 1, u->cells, cells);
    struct point *points = (struct point *)((char *)(t + 1) + cells);
    for (int i = 0; i < s->count; i++) {
        memcpy(points[i].x, u->bodies[s->first + i].x, sizeof points[i].x);
        points[i].mass = u->bodies[s->first + i].mass;
    }
    sam_value_end(name, SAM_STAYS);
    s->here = sam_use(name, NULL);
}

/* A rank's roots are one value, pushed to all. */
static void tell_roots(struct universe *u, int first, int count)
{
    int rank = u->app->rank, ranks = u->app->ranks;
    sam_name name = name_with_home(u->step, ROOTS, rank, 0);
    struct cell *roots = sam_value_begin(name, ((size_t)count + 1) * sizeof *roots);
    for (int n = 0; n < count; n++)
        roots[n] = u->subtrees[first + n].root;
    sam_value_end(name, (uint64_t)ranks);
    for (int other = 1; other < ranks; other++)
        sam_push(name, (rank + other) % ranks);
}

/* In the top a root is a cell of which its owner and its number are known. */
static void learn_roots(struct universe *u)
{
    int number = 0;
    for (int rank = 0; rank < u->app->ranks; rank++) {
        const struct cell *roots = sam_use(name_with_home(u->step, ROOTS, rank, 0), NULL);
        for (; number < u->subtree_count && u->subtrees[number].owner == rank; number++) {
            struct cell *to = &u->tops[u->subtrees[number].top].cell;
            uint64_t key = to->key;
            *to = *roots++;
            to->key = key, to->first = 0, to->count = 0, to->kind = REMOTE, to->owner = rank;
        }
        sam_end_use(name_with_home(u->step, ROOTS, rank, 0));
    }
}

void build_subtrees(struct universe *u)
{
    int at = 0, first = u->subtree_count, own = 0;
    u->group_count = 0;
    for (int n = 0; n < u->subtree_count; n++) {
        struct subtree *s = &u->subtrees[n];
        if (s->owner != u->app->rank)
            continue;
        s->first = at, s->count = (int)u->tops[s->top].count;
        at += s->count;
        write_subtree(u, n);
        first = n < first ? n : first;
        own++;
    }
    tell_roots(u, first, own);
    learn_roots(u);
}

/* All ranks are done with all of them. */
void free_subtrees(struct universe *u)
{
    for (int n = 0; n < u->subtree_count; n++)
        if (u->subtrees[n].here)
            sam_end_use(name_with_home(u->step, SUBTREE, u->subtrees[n].owner, n));
    meet_together();
    for (int n = 0; n < u->subtree_count; n++)
        if (u->subtrees[n].owner == u->app->rank)
            sam_free(name_with_home(u->step, SUBTREE, u->app->rank, n));
}
