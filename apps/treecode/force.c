/* Accelerations of all bodies: what the own part of the tree does is computed while answers about other
 * ranks' parts are under way. */
#include "treecode.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Groups between two looks whether half-full batches of questions ought to go. */
enum { GROUPS_PER_BATCH = 16 };
static void add_group(struct universe *u, int first, int count)
{
    struct tree *t = &u->tree;
    if (t->group_count == t->group_room) {
        t->group_room = 2 * t->group_room + 1024;
        t->groups = app_more_memory(t->groups, (size_t)t->group_room, sizeof *t->groups);
    }
    struct group *g = &t->groups[t->group_count++];
    g->first = first;
    g->count = count;
    double least = box_of(u->bodies + first, count, g->low, g->high);
    g->tolerance = t->bounded ? allowed_error(u->accuracy, least) : 0;
}

/* The bodies below an own cell, which lie side by side. */
static void bodies_of(const struct tree *t, int at, int *first, int *behind)
{
    int left = at, right = at;
    while (t->cells[left].kind == INTERNAL)
        left = t->cells[left].first;
    while (t->cells[right].kind == INTERNAL)
        right = t->cells[right].first + t->cells[right].count - 1;
    *first = t->cells[left].first;
    *behind = t->cells[right].first + t->cells[right].count;
}

/* Groups are the largest cells with few enough bodies. */
static void make_groups(struct universe *u, int at)
{
    int first, behind;
    bodies_of(&u->tree, at, &first, &behind);
    if (behind - first <= GROUP_BODIES || u->tree.cells[at].kind == LEAF) {
        add_group(u, first, behind - first);
        return;
    }
    for (int c = 0; c < u->tree.cells[at].count; c++)
        make_groups(u, u->tree.cells[at].first + c);
}

/* Adds the forces of the lists to those of the group's bodies. */
static void compute(struct universe *u, int group)
{
    const struct group *g = &u->tree.groups[group];
    const struct lists *l = &u->tree.lists;
    uint64_t work = (uint64_t)l->cell_count + (uint64_t)l->point_count;
    for (int i = g->first; i < g->first + g->count; i++) {
        u->bodies[i].work += work;
        add_forces(l, u->bodies[i].x, u->softening, u->bodies[i].a, &u->bodies[i].potential);
    }
    u->tree.interactions += work * (uint64_t)g->count;
}

/* The own part of the tree first, while the rest is under way. Returns how many branches of other ranks
 * the group opens. */
static int own_part(struct universe *u, int group)
{
    struct group *g = &u->tree.groups[group];
    for (int i = g->first; i < g->first + g->count; i++) {
        struct body *b = &u->bodies[i];
        memset(b->a, 0, sizeof b->a);
        b->potential = 0;
        b->work = 0;
    }
    int openings = walk_own(&u->tree, g);
    compute(u, group);
    return openings;
}

/* Groups that have to do with other ranks' parts: those that wait for answers, and those for which all
 * have come that were asked for. Their walks may find that more is needed. */
struct queues {
    int *waiting, *ready, waiting_count, ready_count;
};

static void other_parts(struct universe *u, struct queues *q)
{
    int group = q->ready[--q->ready_count];
    if (walk_others(&u->tree, &u->tree.groups[group]) == 0)
        compute(u, group);
    else
        q->waiting[q->waiting_count++] = group;
    if (q->ready_count == 0)
        send_questions(&u->tree);
}

static void all_are_ready(struct queues *q)
{
    int *empty = q->ready;
    q->ready = q->waiting;
    q->ready_count = q->waiting_count;
    q->waiting = empty;
    q->waiting_count = 0;
}

static void work_through(struct universe *u)
{
    struct tree *t = &u->tree;
    size_t room = (size_t)t->group_count;
    struct queues q = {app_memory(room, sizeof(int)), app_memory(room, sizeof(int)), 0, 0};
    int next = 0;
    t->opening_count = 0;
    for (;;) {
        if (t->waiting == 0 && q.ready_count == 0)
            all_are_ready(&q);
        if (q.ready_count > 0) {
            other_parts(u, &q);
        } else if (next < t->group_count) {
            if (own_part(u, next) > 0)
                q.waiting[q.waiting_count++] = next;
            if (++next % GROUPS_PER_BATCH == 0)
                send_questions(t);
        } else if (t->waiting > 0) {
            send_questions(t);
            serve(t, 1);
        } else {
            break;
        }
        if (t->ranks > 1)
            serve(t, 0);
    }
    free(q.waiting);
    free(q.ready);
}

static void prepare(struct universe *u)
{
    struct tree *t = &u->tree;
    if (!t->borders) {
        t->borders = app_memory((size_t)t->ranks + 1, sizeof *t->borders);
        t->batches = app_memory((size_t)t->ranks, sizeof *t->batches);
        memset(t->batches, 0, (size_t)t->ranks * sizeof *t->batches);
    }
}

void find_forces(struct universe *u, int bounded)
{
    struct tree *t = &u->tree;
    double start = MPI_Wtime();
    prepare(u);
    split_domains(u);
    build_tree(u);
    t->bounded = bounded;
    t->group_count = 0;
    t->interactions = 0;
    for (int b = 0; b < t->branch_count; b++)
        make_groups(u, t->branches[b]);
    work_through(u);
    if (t->ranks > 1) {
        say_done(t);
        while (t->done < t->ranks)
            serve(t, 1);
        finish_messages(t);
        /* The next questions come from ranks that have left this force, to ranks that have. */
        MPI_Barrier(t->comm);
    }
    u->force_seconds += MPI_Wtime() - start;
}

void tree_free(struct tree *t)
{
    lists_free(&t->lists);
    void *all[] = {t->borders, t->cells, t->points, t->branches, t->table.keys, t->table.cells,
                   t->groups, t->batches, t->stack, t->sendings, t->openings};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
    MPI_Comm_free(&t->comm);
    memset(t, 0, sizeof *t);
}
