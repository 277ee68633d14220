/* In which order an ordinate's cells can be swept: each after the cells upwind of it. Cells may wait for each other in a
 * cycle; then the flux through the cycle's face with the least flow is taken from the iteration before.
 *
 * Every rank makes the order of all cells and takes its own out of it, so it is the same for all, and nobody waits in vain. */
#include "sweep.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct graph {
    const struct mesh *m;
    const double *direction;
    int *waits;   /* faces upwind of a cell that are not there yet; -1: swept */
    char *broken; /* faces */
    int *order, done, ready;
    int *seen; /* mark of a walk */
};

static double flow(const struct graph *g, int f)
{
    const double *n = g->m->face[f].normal, *o = g->direction;
    return n[0] * o[0] + n[1] * o[1] + n[2] * o[2];
}

/* The cell on the other side that a face takes its flux from, or a border; `own` when the flux goes out. */
static int upwind(const struct graph *g, int face_of, int own)
{
    int f = face_of >= 0 ? face_of : ~face_of;
    double out = (face_of >= 0 ? 1 : -1) * flow(g, f);
    return out >= 0 ? own : g->m->face[f].cell[face_of >= 0 ? 1 : 0];
}

static void count_waits(struct graph *g)
{
    for (int c = 0; c < g->m->cells; c++) {
        g->waits[c] = 0;
        for (int k = g->m->cell[c].faces; k < g->m->cell[c + 1].faces; k++) {
            int from = upwind(g, g->m->face_of[k], c);
            g->waits[c] += from >= 0 && from != c;
        }
        if (g->waits[c] == 0)
            g->order[g->ready++] = c;
    }
}

/* A cell is done: those downwind wait for one face less. */
static void release(struct graph *g, int c)
{
    g->waits[c] = -1;
    for (int k = g->m->cell[c].faces; k < g->m->cell[c + 1].faces; k++) {
        int face_of = g->m->face_of[k], f = face_of >= 0 ? face_of : ~face_of;
        int other = g->m->face[f].cell[face_of >= 0 ? 1 : 0];
        if (other < 0 || g->broken[f] || g->waits[other] <= 0 || upwind(g, ~face_of, other) != c)
            continue;
        if (--g->waits[other] == 0)
            g->order[g->ready++] = other;
    }
}

/* A face by which a cell waits for another one, and that one. */
static int waits_for(const struct graph *g, int c, int *from)
{
    for (int k = g->m->cell[c].faces; k < g->m->cell[c + 1].faces; k++) {
        int face_of = g->m->face_of[k], f = face_of >= 0 ? face_of : ~face_of;
        *from = upwind(g, face_of, c);
        if (*from >= 0 && *from != c && g->waits[*from] >= 0 && !g->broken[f])
            return f;
    }
    return -1;
}

/* Goes upwind from a cell that waits until it comes to a cell again: that is a cycle. Returns its weakest face. */
static int weakest_of_cycle(struct graph *g, int c, int *down)
{
    int from, weakest = -1;
    for (; g->seen[c] == 0; c = from) {
        g->seen[c] = 1;
        waits_for(g, c, &from);
    }
    int begin = c;
    do {
        int f = waits_for(g, c, &from);
        if (weakest < 0 || fabs(flow(g, f)) < fabs(flow(g, weakest))) {
            weakest = f;
            *down = c;
        }
        c = from;
    } while (c != begin);
    return weakest;
}

static int break_cycle(struct graph *g)
{
    int c = 0, down = 0;
    while (g->waits[c] <= 0)
        c++;
    memset(g->seen, 0, (size_t)g->m->cells * sizeof *g->seen);
    int f = weakest_of_cycle(g, c, &down);
    g->broken[f] = 1;
    if (--g->waits[down] == 0)
        g->order[g->ready++] = down;
    return f;
}

static void keep_own(struct sweep *s, struct schedule *to, const struct graph *g, const int *broken, int breaks)
{
    to->order = app_memory((size_t)s->own, sizeof *to->order);
    to->count = 0;
    for (int k = 0; k < g->done; k++)
        if (s->owner[g->order[k]] == s->rank)
            to->order[to->count++] = g->order[k];
    to->broken = app_memory((size_t)breaks, sizeof *to->broken);
    to->before = app_memory((size_t)breaks, sizeof *to->before);
    memset(to->before, 0, (size_t)breaks * sizeof *to->before);
    memcpy(to->broken, broken, (size_t)breaks * sizeof *broken);
    to->breaks = breaks;
}

void schedule_make(struct sweep *s, int a)
{
    const struct mesh *m = &s->mesh;
    size_t cells = (size_t)m->cells;
    int *numbers = app_memory(3 * cells, sizeof *numbers), *broken = NULL, breaks = 0;
    struct graph g = {m, s->ordinate[a].direction, numbers, app_memory((size_t)m->faces, 1), numbers + cells, 0, 0, numbers + 2 * cells};
    memset(g.broken, 0, (size_t)m->faces);
    count_waits(&g);
    while (g.done < m->cells) {
        if (g.done == g.ready) {
            broken = app_more_memory(broken, (size_t)breaks + 1, sizeof *broken);
            broken[breaks++] = break_cycle(&g);
            continue;
        }
        release(&g, g.order[g.done++]);
    }
    keep_own(s, &s->schedule[a], &g, broken, breaks);
    s->breaks += breaks;
    free(broken);
    free(g.broken);
    free(numbers);
}
