/* Keys, and bodies sorted by them over all ranks: a split of the key's range in which every rank has
 * the same work. */
#include "treecode.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* 21 bits, two zeros between each and the next. */
static uint64_t spread(uint64_t v)
{
    v &= 0x1fffff;
    v = (v | v << 32) & 0x1f00000000ffff;
    v = (v | v << 16) & 0x1f0000ff0000ff;
    v = (v | v << 8) & 0x100f00f00f00f00f;
    v = (v | v << 4) & 0x10c30c30c30c30c3;
    return (v | v << 2) & 0x1249249249249249;
}

static uint64_t key_of(const struct tree *t, const double x[3])
{
    const double most = (double)((1 << LEVELS) - 1);
    uint64_t at[3];
    for (int d = 0; d < 3; d++) {
        double place = (x[d] - t->corner[d]) / t->size * (double)(1 << LEVELS);
        at[d] = (uint64_t)(place < 0 ? 0 : place > most ? most : place);
    }
    return spread(at[0]) << 2 | spread(at[1]) << 1 | spread(at[2]);
}

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

struct place {
    uint64_t key;
    int body;
};

/* Least significant digit first, stable. */
static void sort_by_key(struct universe *u)
{
    int count = u->count;
    enum { BITS = 11, PASSES = 6, DIGITS = 1 << BITS };
    struct place *from = app_memory((size_t)count, sizeof *from);
    struct place *to = app_memory((size_t)count, sizeof *to), *other;
    for (int i = 0; i < count; i++)
        from[i] = (struct place){u->bodies[i].key, i};
    for (int pass = 0; pass < PASSES; pass++) {
        int begins[DIGITS + 1] = {0}, shift = BITS * pass;
        for (int i = 0; i < count; i++)
            begins[(from[i].key >> shift & (DIGITS - 1)) + 1]++;
        for (int d = 0; d < DIGITS; d++)
            begins[d + 1] += begins[d];
        for (int i = 0; i < count; i++)
            to[begins[from[i].key >> shift & (DIGITS - 1)]++] = from[i];
        other = from, from = to, to = other;
    }
    struct body *sorted = app_memory((size_t)count, sizeof *sorted);
    for (int i = 0; i < count; i++)
        sorted[i] = u->bodies[from[i].body];
    free(u->bodies);
    u->bodies = sorted;
    free(from);
    free(to);
}

/* The first body whose key is not below `key`. */
static int lower_bound(const struct body *bodies, int count, uint64_t key)
{
    int low = 0, high = count;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (bodies[middle].key < key)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
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
        u->bodies[i].key = key_of(&u->tree, u->bodies[i].x);
    sort_by_key(u);
    find_borders(u);
    if (u->tree.ranks > 1) {
        exchange(u);
        sort_by_key(u);
    }
}
