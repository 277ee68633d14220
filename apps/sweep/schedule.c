/* In which order a bundle's cells can be swept: for each of its ordinates a cell comes after the cells upwind of it. Where the ordinates
 * cannot agree on an order a cell comes several times, each time with more of them. Cells may wait for each other in a cycle; then the flux
 * through the cycle's face with the least flow is taken from the iteration before.
 *
 * Every rank makes the order of all cells and takes its own out of it, so it is the same for all, and nobody waits in vain. The order goes
 * along z as far as it can, then along y: parts are cut across z first, and a rank downwind shall have the first cells early. */
#include "sweep.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Sets of ordinates are bits. */
struct graph {
    const struct mesh *m;
    int bundle;
    const struct bundle *b;
    char *up[2];       /* of a face: those that flow along its normal, those that flow against it */
    char *broken;      /* of a face */
    char *axis;        /* of a face: the direction that its normal is nearest to */
    char *waits;       /* of a cell and ordinate: faces upwind of it that are not there yet */
    char *ready, *done; /* of a cell: those that can be swept, those that have been */
    int *whole, wholes;              /* cells that are ready for all ordinates that are left; the last comes first */
    int *part, parts, part_taken;    /* cells that are ready for some */
    struct task *task;
    int tasks, most_tasks, breaks;
    int *seen; /* mark of a walk */
};

static int everyone(const struct graph *g)
{
    return (1 << g->b->ordinates) - 1;
}

/* A face of a cell, by the number that mesh.face_of has for it. */
static int face_at(int face_of)
{
    return face_of >= 0 ? face_of : ~face_of;
}

static int behind(const struct mesh *m, int face_of)
{
    return face_of >= 0 ? m->face[face_of].cell[1] : m->face[~face_of].cell[0];
}

static int comes_in(const struct graph *g, int face_of)
{
    return g->up[face_of >= 0][face_at(face_of)];
}

static int goes_out(const struct graph *g, int face_of)
{
    return g->up[face_of < 0][face_at(face_of)];
}

static void find_flows(struct graph *g)
{
    for (int f = 0; f < g->m->faces; f++) {
        const double *n = g->m->face[f].normal;
        for (int d = 1; d < 3; d++)
            if (fabs(n[d]) > fabs(n[(int)g->axis[f]]))
                g->axis[f] = (char)d;
        for (int o = 0; o < g->b->ordinates; o++) {
            double flow = ordinate_flow(g->b, o, g->m->face[f].normal);
            g->up[0][f] |= (flow > 0) << o;
            g->up[1][f] |= (flow < 0) << o;
        }
    }
}

static void become_ready(struct graph *g, int c, int ordinate)
{
    int was = g->ready[c];
    g->ready[c] |= 1 << ordinate;
    if ((g->ready[c] | g->done[c]) == everyone(g))
        g->whole[g->wholes++] = c;
    else if (was == 0)
        g->part[g->parts++] = c;
}

/* Nothing has been swept. */
static void begin(struct graph *g)
{
    size_t cells = (size_t)g->m->cells;
    g->wholes = g->parts = g->part_taken = g->tasks = 0;
    memset(g->ready, 0, cells);
    memset(g->done, 0, cells);
    memset(g->waits, 0, BUNDLE * cells);
    for (int c = 0; c < g->m->cells; c++)
        for (int o = 0; o < g->b->ordinates; o++) {
            char *waits = &g->waits[(size_t)c * BUNDLE + (size_t)o];
            for (int k = g->m->cell[c].faces; k < g->m->cell[c + 1].faces; k++) {
                int face_of = g->m->face_of[k];
                *waits += behind(g->m, face_of) >= 0 && (comes_in(g, face_of) & ~g->broken[face_at(face_of)]) >> o & 1;
            }
            if (*waits == 0)
                become_ready(g, c, o);
        }
}

/* One face less to wait for. */
static void release(struct graph *g, int c, int ordinate)
{
    if (--g->waits[(size_t)c * BUNDLE + (size_t)ordinate] == 0)
        become_ready(g, c, ordinate);
}

/* What is behind the faces of a cell that go out along an axis. */
static void release_behind(struct graph *g, int c, int fresh, int axis)
{
    for (int k = g->m->cell[c].faces; k < g->m->cell[c + 1].faces; k++) {
        int face_of = g->m->face_of[k], f = face_at(face_of), other = behind(g->m, face_of);
        int out = goes_out(g, face_of) & fresh & ~g->broken[f];
        for (int o = 0; o < g->b->ordinates && other >= 0 && g->axis[f] == axis; o++)
            if (out >> o & 1)
                release(g, other, o);
    }
}

static void take(struct graph *g, int c)
{
    int fresh = g->ready[c];
    if (g->tasks == g->most_tasks) {
        g->most_tasks += g->most_tasks / 2 + 1;
        g->task = app_more_memory(g->task, (size_t)g->most_tasks, sizeof *g->task);
    }
    struct task *t = &g->task[g->tasks++];
    g->done[c] |= fresh;
    g->ready[c] = 0;
    *t = (struct task){c, (char)g->bundle, g->done[c], NOTHING, 0};
    for (int k = g->m->cell[c].faces; k < g->m->cell[c + 1].faces; k++)
        t->in |= (uint64_t)comes_in(g, g->m->face_of[k]) << BUNDLE * (k - g->m->cell[c].faces);
    for (int d = 0; d < 3; d++)
        release_behind(g, c, fresh, d);
}

/* A face by which a cell waits for another one, and that one. */
static int waits_for(const struct graph *g, int c, int ordinate, int *from)
{
    for (int k = g->m->cell[c].faces; k < g->m->cell[c + 1].faces; k++) {
        int face_of = g->m->face_of[k], f = face_at(face_of);
        *from = behind(g->m, face_of);
        if (*from >= 0 && (comes_in(g, face_of) & ~g->done[*from] & ~g->broken[f]) >> ordinate & 1)
            return f;
    }
    return -1;
}

/* Goes upwind from a cell that waits until it comes to a cell again: that is a cycle. Returns its weakest face. */
static int weakest_of_cycle(struct graph *g, int c, int ordinate, int *down)
{
    int from, weakest = -1;
    double least = INFINITY;
    for (; g->seen[c] == 0; c = from) {
        g->seen[c] = 1;
        waits_for(g, c, ordinate, &from);
    }
    int begin = c;
    do {
        int f = waits_for(g, c, ordinate, &from);
        double flow = fabs(ordinate_flow(g->b, ordinate, g->m->face[f].normal));
        if (flow < least) {
            least = flow;
            weakest = f;
            *down = c;
        }
        c = from;
    } while (c != begin);
    return weakest;
}

/* Nothing is ready: every ordinate that is not everywhere waits in a cycle. */
static void break_cycle(struct graph *g)
{
    g->breaks++;
    int c = 0, down = 0, ordinate = 0;
    while (g->done[c] == everyone(g))
        c++;
    while (g->done[c] >> ordinate & 1)
        ordinate++;
    memset(g->seen, 0, (size_t)g->m->cells * sizeof *g->seen);
    g->broken[weakest_of_cycle(g, c, ordinate, &down)] |= 1 << ordinate;
    release(g, down, ordinate);
}

/* Cells with which the bundle is through come first: others may wait a while and be ready for more of it. */
static void find_order(struct graph *g)
{
    int left = g->m->cells;
    while (left > 0) {
        if (g->wholes > 0) {
            take(g, g->whole[--g->wholes]);
            left--;
        } else if (g->part_taken < g->parts) {
            int c = g->part[g->part_taken++];
            if (g->ready[c] != 0)
                take(g, c);
        } else {
            break_cycle(g);
        }
    }
}

static int beside(const struct sweep *s, int cell)
{
    int found = NOTHING;
    for (int k = s->mesh.cell[cell].faces; k < s->mesh.cell[cell + 1].faces; k++) {
        int other = s->mesh.cell_face[k].other;
        found |= other < 0 ? BORDER : s->owner[other] != s->rank ? RANKS : NOTHING;
    }
    return found;
}

static void keep_breaks(struct sweep *s, struct breaks *to, const struct graph *g)
{
    to->count = 0;
    for (int f = 0; f < g->m->faces; f++)
        to->count += g->broken[f] != 0;
    to->broken = app_memory((size_t)to->count, sizeof *to->broken);
    to->before = app_memory((size_t)to->count, sizeof *to->before);
    memset(to->before, 0, (size_t)to->count * sizeof *to->before);
    for (int f = 0, n = 0; f < g->m->faces; f++)
        if (g->broken[f] != 0) {
            to->broken[n++] = (struct broken){f, g->broken[f]};
            s->all_breaks += __builtin_popcount((unsigned)g->broken[f]);
        }
}

/* Of all ranks; the caller frees it. */
static struct order find_bundle(struct sweep *s, int b)
{
    const struct mesh *m = &s->mesh;
    size_t cells = (size_t)m->cells, faces = (size_t)m->faces;
    char *sets = app_memory(4 * faces + (2 + BUNDLE) * cells, 1);
    int *numbers = app_memory((2 + BUNDLE) * cells, sizeof *numbers);
    memset(sets, 0, 4 * faces + (2 + BUNDLE) * cells);
    struct graph g = {
        .m = m,
        .bundle = b,
        .b = &s->bundle[b],
        .up = {sets, sets + faces},
        .broken = sets + 2 * faces,
        .axis = sets + 3 * faces,
        .ready = sets + 4 * faces,
        .done = sets + 4 * faces + cells,
        .waits = sets + 4 * faces + 2 * cells,
        .whole = numbers,
        .seen = numbers + cells,
        .part = numbers + 2 * cells,
        .task = app_memory(cells, sizeof *g.task),
        .most_tasks = m->cells,
    };
    find_flows(&g);
    begin(&g);
    find_order(&g);
    /* While cycles were found ordinates went on without those that waited in one. */
    if (g.breaks > 0) {
        begin(&g);
        find_order(&g);
    }
    keep_breaks(s, &s->breaks[b], &g);
    free(sets);
    free(numbers);
    return (struct order){g.task, g.tasks};
}

/* The bundles' orders take turns, the same on all ranks: were it not so, ranks could wait for each other in a cycle. */
void schedule_make(struct sweep *s, int octant)
{
    struct order all[IN_OCTANT], *to = &s->order[octant];
    int most = 0, own = 0;
    for (int b = 0; b < IN_OCTANT; b++) {
        all[b] = find_bundle(s, octant * IN_OCTANT + b);
        most = all[b].tasks > most ? all[b].tasks : most;
        for (int k = 0; k < all[b].tasks; k++)
            own += s->owner[all[b].task[k].cell] == s->rank;
    }
    to->task = app_memory((size_t)own, sizeof *to->task);
    to->tasks = 0;
    for (int k = 0; k < most; k++)
        for (int b = 0; b < IN_OCTANT; b++)
            if (k < all[b].tasks && s->owner[all[b].task[k].cell] == s->rank) {
                to->task[to->tasks] = all[b].task[k];
                to->task[to->tasks++].beside = (char)beside(s, all[b].task[k].cell);
            }
    for (int b = 0; b < IN_OCTANT; b++)
        free(all[b].task);
}
