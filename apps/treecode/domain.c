/* Keys, and bodies sorted by them over all ranks: a split of the key's range in which every rank has
 * the same work. */
#include "treecode.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void find_cube(struct universe *u)
{
    struct tree *t = &u->tree;
    double mine[6], all[6]; /* least of x, then least of -x */
    for (int d = 0; d < 6; d++)
        mine[d] = INFINITY;
    for (int i = 0; i < u->count; i++)
        for (int d = 0; d < 3; d++) {
            mine[d] = fmin(mine[d], u->bodies[i].x[d]);
            mine[d + 3] = fmin(mine[d + 3], -u->bodies[i].x[d]);
        }
    MPI_Allreduce(mine, all, 6, MPI_DOUBLE, MPI_MIN, t->comm);
    t->size = 1e-300;
    for (int d = 0; d < 3; d++)
        t->size = fmax(t->size, -all[d + 3] - all[d]);
    t->size *= 1.0001; /* the last body inside, whatever the rounding */
    for (int d = 0; d < 3; d++)
        t->corner[d] = 0.5 * (all[d] - all[d + 3]) - 0.5 * t->size;
}

/* Borders between ranks, all found together, bit by bit: the largest keys with no more than their
 * share of the work below. Work is counted in whole numbers, so that all ranks agree. */
static void find_borders(struct universe *u)
{
    struct tree *t = &u->tree;
    size_t ranks = (size_t)t->ranks;
    uint64_t *below = app_memory((size_t)u->count + 1, sizeof *below), total;
    uint64_t *mine = app_memory(2 * ranks, sizeof *mine), *all = mine + ranks;
    below[0] = 0;
    for (int i = 0; i < u->count; i++)
        below[i + 1] = below[i] + u->bodies[i].work;
    MPI_Allreduce(&below[u->count], &total, 1, MPI_UINT64_T, MPI_SUM, t->comm);
    memset(t->borders, 0, (ranks + 1) * sizeof *t->borders);
    t->borders[ranks] = (uint64_t)1 << 3 * LEVELS;
    for (int bit = 3 * LEVELS - 1; bit >= 0 && ranks > 1; bit--) {
        for (size_t r = 1; r < ranks; r++)
            mine[r] = below[lower_bound(u->bodies, u->count, t->borders[r] | (uint64_t)1 << bit)];
        MPI_Allreduce(mine + 1, all + 1, (int)ranks - 1, MPI_UINT64_T, MPI_SUM, t->comm);
        for (size_t r = 1; r < ranks; r++)
            if (all[r] <= total / ranks * r)
                t->borders[r] |= (uint64_t)1 << bit;
    }
    free(mine);
    free(below);
}

static void exchange(struct universe *u)
{
    struct tree *t = &u->tree;
    size_t ranks = (size_t)t->ranks;
    int *out = app_memory(4 * ranks, sizeof *out), *in = out + ranks;
    int *out_begin = in + ranks, *in_begin = out_begin + ranks, count = 0;
    for (size_t r = 0; r < ranks; r++)
        out_begin[r] = lower_bound(u->bodies, u->count, t->borders[r]);
    for (size_t r = 0; r < ranks; r++)
        out[r] = (r + 1 < ranks ? out_begin[r + 1] : u->count) - out_begin[r];
    MPI_Alltoall(out, 1, MPI_INT, in, 1, MPI_INT, t->comm);
    for (size_t r = 0; r < ranks; r++) {
        in_begin[r] = count;
        count += in[r];
    }
    struct body *came = app_memory((size_t)count, sizeof *came);
    MPI_Datatype body;
    MPI_Type_contiguous(sizeof *came, MPI_BYTE, &body);
    MPI_Type_commit(&body);
    MPI_Alltoallv(u->bodies, out, out_begin, body, came, in, in_begin, body, t->comm);
    MPI_Type_free(&body);
    free(u->bodies);
    u->bodies = came;
    u->count = count;
    free(out);
}

void split_domains(struct universe *u)
{
    find_cube(u);
    for (int i = 0; i < u->count; i++)
        u->bodies[i].key = morton_key(u->tree.corner, u->tree.size, u->bodies[i].x);
    u->bodies = sort_by_key(u->bodies, u->count);
    find_borders(u);
    if (u->tree.ranks > 1) {
        exchange(u);
        u->bodies = sort_by_key(u->bodies, u->count);
    }
}
