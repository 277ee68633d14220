/* The own part of the tree: branches, which are the largest cells that lie in this rank's interval of
 * keys, and everything below them. */
#include "treecode.h"

#include <stdlib.h>
#include <string.h>

int new_cells(struct tree *t, int count)
{
    if (t->count + count > t->room) {
        t->room = 2 * (t->count + count);
        t->cells = app_more_memory(t->cells, (size_t)t->room, sizeof *t->cells);
    }
    t->count += count;
    return t->count - count;
}

int new_points(struct tree *t, int count)
{
    if (t->point_count + count > t->point_room) {
        t->point_room = t->point_count + count + t->point_count / 2;
        t->points = app_more_memory(t->points, (size_t)t->point_room, sizeof *t->points);
    }
    t->point_count += count;
    return t->point_count - count;
}

static int level_of(uint64_t cell)
{
    return (63 - __builtin_clzll(cell)) / 3;
}

void cell_interval(uint64_t cell, uint64_t *first, uint64_t *behind)
{
    int level = level_of(cell), shift = 3 * (LEVELS - level);
    uint64_t bits = cell - ((uint64_t)1 << 3 * level);
    *first = bits << shift;
    *behind = (bits + 1) << shift;
}

/* The first body from `low` on that is not in the octants before `octant` of the cell's child level. */
static int octant_begin(const struct body *bodies, int low, int high, int shift, uint64_t octant)
{
    while (low < high) {
        int middle = low + (high - low) / 2;
        if ((bodies[middle].key >> shift & 7) < octant)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Fills cell `at`, whose bodies are low to high - 1, and makes all cells below it. */
static void build(struct tree *t, const struct body *bodies, int at, uint64_t key, int low, int high)
{
    int level = level_of(key);
    struct cell *cell = &t->cells[at];
    cell->key = key;
    cell->owner = t->rank;
    moments_of_bodies(cell, bodies + low, high - low);
    if (high - low <= LEAF_BODIES || level == LEVELS) {
        cell->kind = LEAF;
        cell->first = low;
        cell->count = high - low;
        return;
    }
    int shift = 3 * (LEVELS - level - 1), begins[9], children = 0;
    begins[0] = low;
    for (uint64_t o = 0; o < 8; o++) {
        begins[o + 1] = o == 7 ? high : octant_begin(bodies, begins[o], high, shift, o + 1);
        children += begins[o + 1] > begins[o];
    }
    int first = new_cells(t, children), child = first; /* moves the cells */
    t->cells[at].kind = INTERNAL;
    t->cells[at].first = first;
    t->cells[at].count = children;
    for (uint64_t o = 0; o < 8; o++)
        if (begins[o + 1] > begins[o])
            build(t, bodies, child++, key << 3 | o, begins[o], begins[o + 1]);
}

static void add_branch(struct tree *t, int cell)
{
    if (t->branch_count == t->branch_room) {
        t->branch_room = 2 * t->branch_room + 64;
        t->branches = app_more_memory(t->branches, (size_t)t->branch_room, sizeof *t->branches);
    }
    t->branches[t->branch_count++] = cell;
}

/* Goes down from a cell that may reach into other ranks' intervals to those that do not. */
static void find_branches(struct tree *t, const struct body *bodies, uint64_t key, int low, int high)
{
    uint64_t first, behind;
    if (low == high)
        return;
    cell_interval(key, &first, &behind);
    if (first >= t->borders[t->rank] && behind <= t->borders[t->rank + 1]) {
        int root = new_cells(t, 1);
        build(t, bodies, root, key, low, high);
        add_branch(t, root);
        return;
    }
    int shift = 3 * (LEVELS - level_of(key) - 1);
    for (uint64_t o = 0; o < 8; o++) {
        int end = o == 7 ? high : octant_begin(bodies, low, high, shift, o + 1);
        find_branches(t, bodies, key << 3 | o, low, end);
        low = end;
    }
}

static size_t hash(uint64_t key)
{
    return (size_t)((key * 0x9e3779b97f4a7c15u) >> 20);
}

static void fill_table(struct tree *t)
{
    size_t size = 64;
    while (size < 2 * (size_t)t->count)
        size *= 2;
    if (size > t->table.mask + 1 || !t->table.keys) {
        t->table.keys = app_more_memory(t->table.keys, size, sizeof *t->table.keys);
        t->table.cells = app_more_memory(t->table.cells, size, sizeof *t->table.cells);
        t->table.mask = size - 1;
    }
    memset(t->table.keys, 0, (t->table.mask + 1) * sizeof *t->table.keys);
    for (int c = 0; c < t->count; c++) {
        size_t at = hash(t->cells[c].key) & t->table.mask;
        while (t->table.keys[at] != 0)
            at = (at + 1) & t->table.mask;
        t->table.keys[at] = t->cells[c].key;
        t->table.cells[at] = c;
    }
}

/* The own cell with that key, or -1. */
int find_cell(const struct tree *t, uint64_t key)
{
    size_t at = hash(key) & t->table.mask;
    while (t->table.keys[at] != 0) {
        if (t->table.keys[at] == key)
            return t->table.cells[at];
        at = (at + 1) & t->table.mask;
    }
    return -1;
}

void build_tree(struct universe *u)
{
    struct tree *t = &u->tree;
    t->count = t->point_count = t->branch_count = 0;
    new_points(t, u->count);
    for (int i = 0; i < u->count; i++) {
        memcpy(t->points[i].x, u->bodies[i].x, sizeof t->points[i].x);
        t->points[i].mass = u->bodies[i].mass;
    }
    find_branches(t, u->bodies, 1, 0, u->count);
    t->own_count = t->count;
    if (t->ranks > 1)
        fill_table(t); /* of others' questions */
    join_branches(t);
}
