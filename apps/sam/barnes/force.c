/* Forces: every group walks the tree. What it needs of other ranks' subtrees is asked for before the first walk; a group
 * whose subtrees have not all come waits until the others are done. */
#include "barnes.h"

#include <stdlib.h>
#include <string.h>

/* Asks for the subtrees of other ranks that a walk from a box opens. */
static void ask_for(struct universe *u, int at, const double low[3], const double high[3], double tolerance)
{
    const struct top *t = &u->tops[at];
    if (may_stand(&t->cell, low, high, tolerance))
        return;
    if (t->subtree < 0) {
        for (int c = 0; c < t->cell.count; c++)
            ask_for(u, t->cell.first + c, low, high, tolerance);
        return;
    }
    struct subtree *s = &u->subtrees[t->subtree];
    if (s->owner != u->app->rank && !s->asked) {
        s->asked = 1;
        sam_prefetch(name_with_home(u->step, SUBTREE, s->owner, t->subtree));
    }
}

/* The box of an own subtree needs what any of its groups needs. */
static void ask_for_all(struct universe *u)
{
    for (int n = 0; n < u->subtree_count; n++) {
        const struct subtree *s = &u->subtrees[n];
        double low[3], high[3];
        if (s->owner != u->app->rank)
            continue;
        double least = box_of(u->bodies + s->first, s->count, low, high);
        ask_for(u, 0, low, high, u->bounded ? allowed_error(u->accuracy, least) : 0);
    }
}

static void walk_subtree(struct lists *l, const struct group *g, const struct tree *t, int at)
{
    const struct cell *cell = &cells_of(t)[at];
    if (may_stand(cell, g->low, g->high, g->tolerance))
        list_cell(l, cell->mass, cell->x, cell->quad);
    else if (cell->kind == LEAF)
        list_points(l, points_of(t) + cell->first, cell->count);
    else
        for (int c = 0; c < cell->count; c++)
            walk_subtree(l, g, t, cell->first + c);
}

/* Fills the lists in the order of the keys, whoever has what. Returns 0 if a subtree has not come. */
static int walk(struct universe *u, const struct group *g, int at, int wait)
{
    const struct top *t = &u->tops[at];
    if (may_stand(&t->cell, g->low, g->high, g->tolerance)) {
        list_cell(&u->lists, t->cell.mass, t->cell.x, t->cell.quad);
        return 1;
    }
    if (t->subtree < 0) {
        for (int c = 0; c < t->cell.count; c++)
            if (!walk(u, g, t->cell.first + c, wait))
                return 0;
        return 1;
    }
    struct subtree *s = &u->subtrees[t->subtree];
    if (!s->here) {
        sam_name name = name_with_home(u->step, SUBTREE, s->owner, t->subtree);
        s->here = wait ? sam_use(name, NULL) : sam_try_use(name, NULL);
    }
    if (!s->here)
        return 0;
    walk_subtree(&u->lists, g, s->here, 0);
    return 1;
}

static void do_group(struct universe *u, struct group *g, int wait)
{
    u->lists.point_count = u->lists.cell_count = 0;
    if (!walk(u, g, 0, wait))
        return;
    uint64_t work = (uint64_t)u->lists.cell_count + (uint64_t)u->lists.point_count;
    for (int i = g->first; i < g->first + g->count; i++) {
        struct body *b = &u->bodies[i];
        memset(b->a, 0, sizeof b->a);
        b->potential = 0;
        b->work = work;
        add_forces(&u->lists, b->x, u->softening, b->a, &b->potential);
    }
    u->interactions += work * (uint64_t)g->count;
    g->done = 1;
}

static void do_groups(struct universe *u, int wait)
{
    for (int n = 0; n < u->group_count; n++)
        if (!u->groups[n].done) {
            do_group(u, &u->groups[n], wait);
            sam_poll();
        }
}

void find_forces(struct universe *u)
{
    double start = MPI_Wtime();
    u->step++;
    give_keys(u);
    make_top(u);
    exchange_bodies(u);
    build_subtrees(u);
    finish_top(u);
    ask_for_all(u);
    u->interactions = 0;
    do_groups(u, 0);
    do_groups(u, 1);
    free_subtrees(u);
    u->seconds += MPI_Wtime() - start;
}
