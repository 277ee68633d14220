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

static void want(struct tree *t, int group, int cell)
{
    if (t->want_count == t->want_room) {
        t->want_room = 2 * t->want_room + 1024;
        t->wants = app_more_memory(t->wants, (size_t)t->want_room, sizeof *t->wants);
    }
    t->wants[t->want_count++] = (struct want){group, cell};
    ask(t, cell);
}

/* Depth first, children in the order of their keys: the order of the lists, and so the last bit of
 * every force, depends on the bodies and domains alone, not on when answers come. */
static int go_down(struct tree *t, int group, int from, struct lists *lists)
{
    const struct group *g = &t->groups[group];
    int depth = 1, missing = 0;
    room_on_stack(t, depth)[0] = from;
    while (depth > 0) {
        int at = t->stack[--depth];
        const struct cell *cell = &t->cells[at];
        if (may_stand(t, g, cell)) {
            if (lists)
                list_cell(lists, cell);
        } else if (cell->kind == LEAF) {
            if (lists)
                list_points(lists, t->points + cell->first, cell->count);
        } else if (cell->kind == INTERNAL) {
            int *stack = room_on_stack(t, depth);
            for (int c = cell->count - 1; c >= 0; c--)
                stack[depth++] = cell->first + c;
        } else {
            want(t, group, at);
            missing++;
        }
    }
    return missing;
}

int walk(struct tree *t, int group)
{
    t->lists.cell_count = t->lists.point_count = 0;
    return go_down(t, group, t->root, &t->lists);
}

int look_ahead(struct tree *t, int group, int cell)
{
    return go_down(t, group, cell, NULL);
}
