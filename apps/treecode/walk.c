/* The walk of a group: which cells may stand for their bodies, and which must be opened. */
#include "treecode.h"

#include <math.h>
#include <stdlib.h>

/* Without accelerations of an earlier step: a cell is opened when its radius is seen under more. */
static const double ANGLE = 0.5;

/* The terms that a cell with quadrupole leaves out are at most 4 B3 / (d^3 (d - b)^2): d is the distance
 * from its centre of mass, b its radius, B3 the sum of m |x|^3 (Salmon and Warren, J. Comp. Phys. 111,
 * 1994, without the term that makes the bound smaller). */
static int may_stand(const struct tree *t, const struct group *g, const struct cell *cell)
{
    double square = 0;
    for (int d = 0; d < 3; d++) {
        double below = g->low[d] - cell->x[d], over = cell->x[d] - g->high[d];
        double gap = below > over ? below : over;
        gap = gap > 0 ? gap : 0;
        square += gap * gap;
    }
    if (square <= cell->radius * cell->radius || square == 0)
        return 0;
    if (!t->bounded)
        return cell->radius * cell->radius < ANGLE * ANGLE * square;
    double away = sqrt(square), gap = away - cell->radius;
    return 4 * cell->third <= g->tolerance * square * away * gap * gap;
}

static void list_cell(struct lists *l, const struct cell *cell)
{
    if (l->cell_count == l->cell_room) {
        l->cell_room = 2 * l->cell_room + 1024;
        for (int n = 0; n < CELL_NUMBERS; n++)
            l->cells[n] = app_more_memory(l->cells[n], (size_t)l->cell_room, sizeof *l->cells[n]);
    }
    int at = l->cell_count++;
    for (int d = 0; d < 3; d++)
        l->cells[d][at] = cell->x[d];
    l->cells[3][at] = cell->mass;
    for (int q = 0; q < 6; q++)
        l->cells[4 + q][at] = cell->quad[q];
}

static void list_points(struct lists *l, const struct point *points, int count)
{
    if (l->point_count + count > l->point_room) {
        l->point_room = 2 * (l->point_count + count) + 1024;
        for (int n = 0; n < POINT_NUMBERS; n++)
            l->points[n] = app_more_memory(l->points[n], (size_t)l->point_room, sizeof *l->points[n]);
    }
    for (int i = 0; i < count; i++) {
        int at = l->point_count++;
        for (int d = 0; d < 3; d++)
            l->points[d][at] = points[i].x[d];
        l->points[3][at] = points[i].mass;
    }
}

static int *room_on_stack(struct tree *t, int depth)
{
    if (depth + 8 > t->stack_room) {
        t->stack_room = 2 * (depth + 8);
        t->stack = app_more_memory(t->stack, (size_t)t->stack_room, sizeof *t->stack);
    }
    return t->stack;
}

static void add_opening(struct tree *t, int cell)
{
    if (t->opening_count == t->opening_room) {
        t->opening_room = 2 * t->opening_room + 1024;
        t->openings = app_more_memory(t->openings, (size_t)t->opening_room, sizeof *t->openings);
    }
    t->openings[t->opening_count++] = cell;
    ask(t, cell);
}

enum where { OWN_PART, EVERYWHERE };

/* Depth first, children in the order of their keys: the order of the lists, and so the last bit of
 * every force, depends on the bodies and domains alone, not on when answers come. For the same reason
 * a walk in the own part goes below no cell of another rank, also if what is below it is here. */
static int go_down(struct tree *t, const struct group *g, int from, enum where where)
{
    int depth = 1, missing = 0;
    room_on_stack(t, depth)[0] = from;
    while (depth > 0) {
        int at = t->stack[--depth];
        const struct cell *cell = &t->cells[at];
        if (may_stand(t, g, cell)) {
            list_cell(&t->lists, cell);
        } else if (where == OWN_PART && cell->owner >= 0 && cell->owner != t->rank) {
            add_opening(t, at);
        } else if (cell->kind == LEAF) {
            list_points(&t->lists, t->points + cell->first, cell->count);
        } else if (cell->kind == INTERNAL) {
            int *stack = room_on_stack(t, depth);
            for (int c = cell->count - 1; c >= 0; c--)
                stack[depth++] = cell->first + c;
        } else {
            ask(t, at);
            missing++;
        }
    }
    return missing;
}

int walk_own(struct tree *t, struct group *g)
{
    t->lists.cell_count = t->lists.point_count = 0;
    g->openings = t->opening_count;
    go_down(t, g, t->root, OWN_PART);
    g->opening_count = t->opening_count - g->openings;
    return g->opening_count;
}

int walk_others(struct tree *t, const struct group *g)
{
    int missing = 0;
    t->lists.cell_count = t->lists.point_count = 0;
    for (int o = g->openings; o < g->openings + g->opening_count; o++)
        missing += go_down(t, g, t->openings[o], EVERYWHERE);
    return missing;
}
