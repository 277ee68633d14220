/* Nested dissection of the matrix's graph: a separator, eliminated last, leaves two parts that know nothing of each
 * other, and so on in the parts.
 *
 * Separators are levels of a breadth-first search from a vertex far out (A. George, J. Liu, "An automatic nested
 * dissection algorithm for irregular finite element problems", 1978). */
#include "cholesky.h"

#include <stdlib.h>
#include <string.h>

/* Vertices of a part that is not dissected: about a block, whose zeros cost less than smaller blocks. */
enum { LEAF = 48 };

struct graph {
    const struct matrix *a;
    int *vertices; /* the order as far as it is known */
    int *part;     /* of a vertex */
    int *level, *queue, *level_begin;
    int parts;
};

/* Visits the part of `from`: vertices in the queue by level. Returns how many, and how many levels. */
static int search(struct graph *g, int from, int *levels)
{
    const struct matrix *a = g->a;
    int part = g->part[from], count = 1, seen = 0;
    g->queue[0] = from;
    g->level[from] = 0;
    g->part[from] = -1;
    for (*levels = 0; seen < count; ++*levels) {
        int end = count;
        g->level_begin[*levels] = seen;
        for (; seen < end; seen++)
            for (int64_t k = a->begin[g->queue[seen]]; k < a->begin[g->queue[seen] + 1]; k++)
                if (g->part[a->column[k]] == part) {
                    g->part[a->column[k]] = -1;
                    g->level[a->column[k]] = *levels + 1;
                    g->queue[count++] = a->column[k];
                }
    }
    g->level_begin[*levels] = count;
    for (int k = 0; k < count; k++)
        g->part[g->queue[k]] = part;
    return count;
}

/* The level with the fewest vertices for what it parts. */
static int best_level(const struct graph *g, int levels)
{
    int best = 1, count = g->level_begin[levels];
    double least = 0;
    for (int l = 1; l < levels - 1; l++) {
        int before = g->level_begin[l], after = count - g->level_begin[l + 1];
        double cost = (double)(g->level_begin[l + 1] - before) / (before < after ? before : after);
        if (l == 1 || cost < least) {
            least = cost;
            best = l;
        }
    }
    return best;
}

/* A vertex of the level that touches nothing beyond it separates nothing. */
static int is_needed(const struct graph *g, int vertex, int part)
{
    for (int64_t k = g->a->begin[vertex]; k < g->a->begin[vertex + 1]; k++) {
        int other = g->a->column[k];
        if (g->part[other] == part && g->level[other] == g->level[vertex] + 1)
            return 1;
    }
    return 0;
}

/* Orders the queue's vertices, at `to`: those before the level, beyond it, and the separator; new parts for the
 * first two. */
static void part_at(struct graph *g, int level, int count, int *to, int *before, int *after)
{
    int part = g->part[g->queue[0]], end = count;
    *before = 0;
    for (int k = g->level_begin[level + 1] - 1; k >= g->level_begin[level]; k--)
        if (is_needed(g, g->queue[k], part))
            to[--end] = g->queue[k];
        else
            to[(*before)++] = g->queue[k];
    for (int k = 0; k < g->level_begin[level]; k++)
        to[(*before)++] = g->queue[k];
    *after = 0;
    for (int k = g->level_begin[level + 1]; k < count; k++)
        to[*before + (*after)++] = g->queue[k];
    for (int k = 0; k < *before; k++)
        g->part[to[k]] = g->parts;
    for (int k = 0; k < *after; k++)
        g->part[to[*before + k]] = g->parts + 1;
    for (int k = end; k < count; k++)
        g->part[to[k]] = -1;
    g->parts += 2;
}

/* A search from one of the vertices farthest out, as far as a few tries find. */
static int search_far(struct graph *g, int from, int *levels)
{
    int count = search(g, from, levels), before = 0;
    for (int tries = 0; tries < 4 && *levels > before; tries++) {
        before = *levels;
        count = search(g, g->queue[count - 1], levels);
    }
    return count;
}

static void dissect(struct graph *g, int *vertices, int count);

/* Components of a part one after the other, each dissected. */
static void dissect_components(struct graph *g, int *vertices, int count)
{
    int part = g->part[vertices[0]], *all = app_memory((size_t)count, sizeof *all), done = 0, levels;
    for (int k = 0; k < count; k++) {
        if (g->part[vertices[k]] != part)
            continue;
        int here = search(g, vertices[k], &levels);
        for (int q = 0; q < here; q++) {
            g->part[g->queue[q]] = g->parts;
            all[done++] = g->queue[q];
        }
        g->parts++;
    }
    memcpy(vertices, all, (size_t)count * sizeof *all);
    free(all);
    for (int from = 0, end; from < count; from = end) {
        for (end = from; end < count && g->part[vertices[end]] == g->part[vertices[from]];)
            end++;
        dissect(g, vertices + from, end - from);
    }
}

static void dissect(struct graph *g, int *vertices, int count)
{
    while (count > LEAF) {
        int levels, before, after;
        if (search_far(g, vertices[0], &levels) < count) {
            dissect_components(g, vertices, count);
            return;
        }
        memcpy(vertices, g->queue, (size_t)count * sizeof *vertices);
        if (levels < 3)
            return;
        part_at(g, best_level(g, levels), count, vertices, &before, &after);
        dissect(g, vertices, before);
        vertices += before;
        count = after;
    }
}

void order_natural(const struct matrix *a, int *order)
{
    for (int k = 0; k < a->n; k++)
        order[k] = k;
}

void order_dissect(const struct matrix *a, int *order)
{
    size_t n = (size_t)a->n;
    int *memory = app_memory(4 * n + 1, sizeof *memory);
    struct graph g = {a, order, memory, memory + n, memory + 2 * n, memory + 3 * n, 1};
    memset(g.part, 0, n * sizeof *g.part);
    order_natural(a, order);
    dissect(&g, order, a->n);
    free(memory);
}
