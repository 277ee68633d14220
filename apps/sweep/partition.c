/* Which rank has which cells: recursive coordinate bisection, or METIS. Bisection cuts a box of cells across its longest side, of equal
 * ones the last (sweeps go along it), into parts as large as the numbers of ranks that they are for. */
#include "sweep.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

struct place {
    double at[3], key;
    int cell;
};

static int by_key(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    return x->key != y->key ? (x->key < y->key ? -1 : 1) : x->cell < y->cell ? -1 : x->cell > y->cell;
}

static void cut(struct place *places, int count, int first, int ranks, int *owner)
{
    if (ranks == 1) {
        for (int c = 0; c < count; c++)
            owner[places[c].cell] = first;
        return;
    }
    int longest = 0, half = ranks / 2;
    double extent[3];
    for (int d = 0; d < 3; d++) {
        double low = INFINITY, high = -INFINITY;
        for (int c = 0; c < count; c++) {
            low = fmin(low, places[c].at[d]);
            high = fmax(high, places[c].at[d]);
        }
        extent[d] = high - low;
        longest = extent[d] > 0.99 * extent[longest] ? d : longest;
    }
    for (int c = 0; c < count; c++)
        places[c].key = places[c].at[longest];
    qsort(places, (size_t)count, sizeof *places, by_key);
    int left = (int)((int64_t)count * half / ranks);
    cut(places, left, first, half, owner);
    cut(places + left, count - left, first + half, ranks - half, owner);
}

static void bisect(const struct mesh *m, int ranks, int *owner)
{
    struct place *places = app_memory((size_t)m->cells, sizeof *places);
    for (int c = 0; c < m->cells; c++) {
        places[c].cell = c;
        for (int d = 0; d < 3; d++)
            places[c].at[d] = m->cell[c].centre[d];
    }
    cut(places, m->cells, 0, ranks, owner);
    free(places);
}

void partition(struct sweep *s)
{
    const struct mesh *m = &s->mesh;
    s->owner = app_memory((size_t)m->cells, sizeof *s->owner);
    /* METIS is asked by one rank for all: on other hosts it may be another version. It does not make one part. */
    int by_metis = s->p.metis && s->ranks > 1;
    if (by_metis && s->rank == 0) {
        by_metis = metis_partition(m, s->ranks, s->owner);
        if (!by_metis)
            fprintf(stderr, "sweep: METIS could not cut %d cells into %d parts, perhaps for want of memory; recursive bisection cuts them instead\n",
                    m->cells, s->ranks);
    }
    MPI_Bcast(&by_metis, 1, MPI_INT, 0, s->comm);
    if (by_metis)
        MPI_Bcast(s->owner, m->cells, MPI_INT, 0, s->comm);
    else
        bisect(m, s->ranks, s->owner);
    s->own = 0;
    for (int c = 0; c < m->cells; c++)
        s->own += s->owner[c] == s->rank;
}
