/* The walk of a group: which cells may stand for their bodies, and which must be opened. */
#include "treecode.h"

#include <stdlib.h>

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
        if (may_stand(cell, g->low, g->high, g->tolerance)) {
            list_cell(&t->lists, cell->mass, cell->x, cell->quad);
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
