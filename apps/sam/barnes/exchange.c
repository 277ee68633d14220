/* Bodies to their owners: what one rank has for another is a value, which is pushed and used once. */
#include "barnes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Bodies of one key in the order of their numbers: which ranks they come from must not matter. */
static void sort_bodies(struct universe *u)
{
    u->bodies = sort_by_key(u->bodies, u->count);
    for (int i = 1; i < u->count; i++) {
        struct body b = u->bodies[i];
        int at = i;
        for (; at > 0 && u->bodies[at - 1].key == b.key && u->bodies[at - 1].id > b.id; at--)
            u->bodies[at] = u->bodies[at - 1];
        if (at < i)
            u->bodies[at] = b;
    }
}

/* A cube whose size is a power of two, which seldom changes. */
static void find_cube(struct universe *u)
{
    double most = 0;
    int exponent;
    for (int i = 0; i < u->count; i++)
        for (int d = 0; d < 3; d++)
            most = fmax(most, fabs(u->bodies[i].x[d]));
    frexp(most, &exponent);
    wide number = exponent;
    most_together(&number, 1);
    u->half = ldexp(1, (int)number);
}

void give_keys(struct universe *u)
{
    find_cube(u);
    double corner[3] = {-u->half, -u->half, -u->half};
    for (int i = 0; i < u->count; i++)
        u->bodies[i].key = morton_key(corner, 2 * u->half, u->bodies[i].x);
    sort_bodies(u);
}

/* Own bodies before the subtrees of a rank and those after it. */
static int begin_of(const struct universe *u, int rank)
{
    for (int s = 0; s < u->subtree_count; s++)
        if (u->subtrees[s].owner >= rank)
            return lower_bound(u->bodies, u->count, first_key(&u->tops[u->subtrees[s].top]));
    return u->count;
}

static void send_to(struct universe *u, int rank)
{
    int first = begin_of(u, rank), count = begin_of(u, rank + 1) - first;
    sam_name name = name_with_home(u->step, BODIES, u->app->rank, rank);
    struct body *to = sam_value_begin(name, ((size_t)count + 1) * sizeof *to);
    to[0].id = count;
    memcpy(to + 1, u->bodies + first, (size_t)count * sizeof *to);
    /* One use is the reader's. The other one is this rank's, so that the value is still there for the push. */
    sam_value_end(name, 2);
    sam_use(name, NULL);
    sam_push(name, rank);
    sam_end_use(name);
}

static void append(struct universe *u, const struct body *bodies, int64_t count)
{
    u->bodies = app_more_memory(u->bodies, (size_t)(u->count + count) + 1, sizeof *u->bodies);
    memcpy(u->bodies + u->count, bodies, (size_t)count * sizeof *bodies);
    u->count += (int)count;
}

void exchange_bodies(struct universe *u)
{
    int rank = u->app->rank, ranks = u->app->ranks;
    for (int other = 1; other < ranks; other++)
        send_to(u, (rank + other) % ranks);
    int first = begin_of(u, rank), behind = begin_of(u, rank + 1);
    memmove(u->bodies, u->bodies + first, (size_t)(behind - first) * sizeof *u->bodies);
    u->count = behind - first;
    for (int other = 1; other < ranks; other++) {
        sam_name name = name_with_home(u->step, BODIES, (rank + other) % ranks, rank);
        const struct body *from = sam_use(name, NULL);
        append(u, from + 1, from[0].id);
        sam_end_use(name);
    }
    if (ranks > 1)
        sort_bodies(u);
}
