/* The top of the tree, which every rank has: all ranks' branches and the cells above them. */
#include "treecode.h"

#include <stdlib.h>

static uint64_t begin_of(const struct cell *cell)
{
    uint64_t first, behind;
    cell_interval(cell->key, &first, &behind);
    return first;
}

/* Fills cell `at` from branches low to high - 1, which are in order and lie in it. */
static void join(struct tree *t, const struct cell *branches, int low, int high, uint64_t key, int at)
{
    uint64_t first, behind;
    if (high - low == 1 && branches[low].key == key) {
        t->cells[at] = branches[low];
        if (branches[low].owner != t->rank)
            t->cells[at].kind = REMOTE;
        return;
    }
    int begins[9] = {low}, children = 0;
    for (uint64_t o = 0; o < 8; o++) {
        cell_interval(key << 3 | o, &first, &behind);
        int end = begins[o];
        while (end < high && begin_of(&branches[end]) < behind)
            end++;
        begins[o + 1] = end;
        children += end > begins[o];
    }
    int child = new_cells(t, children);
    struct cell *cell = &t->cells[at];
    *cell = (struct cell){.key = key, .kind = INTERNAL, .owner = -1, .first = child, .count = children};
    for (uint64_t o = 0; o < 8; o++)
        if (begins[o + 1] > begins[o])
            join(t, branches, begins[o], begins[o + 1], key << 3 | o, child++);
    cell = &t->cells[at];
    moments_of_cells(cell, t->cells + cell->first, cell->count);
}

void join_branches(struct tree *t)
{
    size_t ranks = (size_t)t->ranks;
    int *counts = app_memory(2 * ranks, sizeof *counts), *begins = counts + ranks, total = 0;
    struct cell *mine = app_memory((size_t)t->branch_count, sizeof *mine);
    for (int b = 0; b < t->branch_count; b++)
        mine[b] = t->cells[t->branches[b]];
    MPI_Allgather(&t->branch_count, 1, MPI_INT, counts, 1, MPI_INT, t->comm);
    for (size_t r = 0; r < ranks; r++) {
        begins[r] = total;
        total += counts[r];
    }
    struct cell *all = app_memory((size_t)total, sizeof *all);
    MPI_Datatype cell;
    MPI_Type_contiguous(sizeof *all, MPI_BYTE, &cell);
    MPI_Type_commit(&cell);
    MPI_Allgatherv(mine, t->branch_count, cell, all, counts, begins, cell, t->comm);
    MPI_Type_free(&cell);
    t->root = new_cells(t, 1);
    join(t, all, 0, total, 1, t->root);
    free(all);
    free(mine);
    free(counts);
}
