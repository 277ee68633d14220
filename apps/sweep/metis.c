/* METIS (libmetis-dev), where it was there when this was compiled: a graph of cells that are neighbours, cut so that few faces lie between
 * ranks. */
#include "sweep.h"

#ifdef HAVE_METIS

#include <metis.h>
#include <stdlib.h>

struct graph {
    idx_t *first, *neighbour; /* those of cell c: neighbour[first[c]] to the one before neighbour[first[c + 1]] */
};

static struct graph graph_of(const struct mesh *m)
{
    struct graph g = {app_memory((size_t)m->cells + 1, sizeof *g.first), app_memory(2 * (size_t)m->faces, sizeof *g.neighbour)};
    for (int c = 0; c <= m->cells; c++)
        g.first[c] = 0;
    for (int f = 0; f < m->faces; f++)
        if (m->face[f].cell[1] >= 0) {
            g.first[m->face[f].cell[0] + 1]++;
            g.first[m->face[f].cell[1] + 1]++;
        }
    for (int c = 0; c < m->cells; c++)
        g.first[c + 1] += g.first[c];
    idx_t *next = app_memory((size_t)m->cells, sizeof *next);
    for (int c = 0; c < m->cells; c++)
        next[c] = g.first[c];
    for (int f = 0; f < m->faces; f++) {
        const int *cell = m->face[f].cell;
        if (cell[1] >= 0) {
            g.neighbour[next[cell[0]]++] = cell[1];
            g.neighbour[next[cell[1]]++] = cell[0];
        }
    }
    free(next);
    return g;
}

/* A rank that METIS has left without cells, as it may where there are few, gets one of the rank that has most. */
static void fill_empty(int *owner, int cells, int ranks)
{
    int *count = app_memory((size_t)ranks, sizeof *count), most = 0;
    for (int r = 0; r < ranks; r++)
        count[r] = 0;
    for (int c = 0; c < cells; c++)
        count[owner[c]]++;
    for (int r = 0; r < ranks; r++) {
        if (count[r] > 0)
            continue;
        for (int other = 0; other < ranks; other++)
            most = count[other] > count[most] ? other : most;
        int c = 0;
        while (owner[c] != most)
            c++;
        owner[c] = r, count[r]++, count[most]--;
    }
    free(count);
}

int metis_partition(const struct mesh *m, int ranks, int *owner)
{
    idx_t cells = m->cells, parts = ranks, constraints = 1, cut = 0, *part = app_memory((size_t)m->cells, sizeof *part);
    struct graph g = graph_of(m);
    int status = METIS_PartGraphKway(&cells, &constraints, g.first, g.neighbour, NULL, NULL, NULL, &parts, NULL, NULL, NULL, &cut, part);
    for (int c = 0; c < m->cells; c++)
        owner[c] = (int)part[c];
    free(g.first);
    free(g.neighbour);
    free(part);
    if (status == METIS_OK)
        fill_empty(owner, m->cells, ranks);
    return status == METIS_OK;
}

int metis_is_there(void)
{
    return 1;
}

#else

int metis_partition(const struct mesh *m, int ranks, int *owner)
{
    (void)m, (void)ranks, (void)owner;
    return 0;
}

int metis_is_there(void)
{
    return 0;
}

#endif
