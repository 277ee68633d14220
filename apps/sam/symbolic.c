/* Where the factor has entries: elimination tree, supernodes, panels, blocks. */
#include "cholesky.h"

#include <stdlib.h>
#include <string.h>

/* Supernodes are merged while the zeros that come with it are at most this part of their entries. */
static const double MOST_ZEROS = 0.25;
/* Or while they have no more columns than this: blocks so narrow cost more for their number than for their zeros. */
enum { NARROW = 16 };

/* The column after which each is eliminated in the tree, -1 for roots (J. Liu). */
static int *tree_of(const struct matrix *a)
{
    int *parent = app_memory((size_t)a->n, sizeof *parent), *root = app_memory((size_t)a->n, sizeof *root);
    for (int i = 0; i < a->n; i++) {
        parent[i] = root[i] = -1;
        for (int64_t k = a->begin[i]; k < a->begin[i + 1] && a->column[k] < i; k++)
            for (int j = a->column[k], next; j != -1 && j < i; j = next) {
                next = root[j];
                root[j] = i;
                if (next == -1)
                    parent[j] = i;
            }
    }
    free(root);
    return parent;
}

/* Children before parents, subtrees together. */
static void postorder(const int *parent, int n, int *post)
{
    int *memory = app_memory(2 * (size_t)n, sizeof *memory), *child = memory, *sibling = memory + n, count = 0;
    memset(child, -1, (size_t)n * sizeof *child);
    int roots = -1;
    for (int j = n - 1; j >= 0; j--) {
        int *list = parent[j] < 0 ? &roots : &child[parent[j]];
        sibling[j] = *list;
        *list = j;
    }
    for (int j = roots; j != -1;) {
        while (child[j] != -1) {
            int down = child[j];
            child[j] = -1;
            j = down;
        }
        post[count++] = j;
        j = sibling[j] != -1 ? sibling[j] : parent[j];
    }
    free(memory);
}

/* Entries of each column of L, the diagonal included: row i has those on the ways from its columns to i in the tree. */
static int *counts_of(const struct matrix *a, const int *parent)
{
    int *count = app_memory((size_t)a->n, sizeof *count), *mark = app_memory((size_t)a->n, sizeof *mark);
    for (int i = 0; i < a->n; i++) {
        count[i] = 1;
        mark[i] = i;
        for (int64_t k = a->begin[i]; k < a->begin[i + 1] && a->column[k] < i; k++)
            for (int j = a->column[k]; mark[j] != i; j = parent[j]) {
                mark[j] = i;
                count[j]++;
            }
    }
    free(mark);
    return count;
}

struct supernode {
    int first, end; /* columns */
    int below;      /* rows below them */
    double zeros;   /* that it has by merging */
};

static double entries_of(double width, double below)
{
    return width * (width + 1) / 2 + width * below;
}

/* Whether the last two become one; then they do. */
static int merge(struct supernode *last, const int *parent)
{
    struct supernode *child = last - 1;
    int up = parent[child->end - 1];
    if (up < last->first || up >= last->end)
        return 0;
    int width = last->end - child->first, child_width = child->end - child->first;
    double more = (double)child_width * (last->end - last->first + last->below - child->below);
    double zeros = child->zeros + last->zeros + more;
    if (zeros > MOST_ZEROS * entries_of(width, last->below) && width > NARROW)
        return 0;
    *child = (struct supernode){child->first, last->end, last->below, zeros};
    return 1;
}

/* Columns of the same rows, and what is merged with them. Returns how many. */
static int supernodes_of(int n, const int *parent, const int *count, struct supernode *list)
{
    int nodes = 0;
    for (int j = 0; j < n; j++) {
        if (j > 0 && parent[j - 1] == j && count[j - 1] == count[j] + 1)
            list[nodes - 1].end = j + 1, list[nodes - 1].below = count[j] - 1;
        else
            list[nodes++] = (struct supernode){j, j + 1, count[j] - 1, 0};
    }
    int kept = 0;
    for (int s = 0; s < nodes; s++) {
        list[kept++] = list[s];
        while (kept > 1 && merge(&list[kept - 1], parent))
            kept--;
    }
    return kept;
}

static int ascending(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

struct rows {
    int *rows;
    int64_t count, room;
};

static void add_row(struct rows *to, int row, int *mark, int stamp)
{
    if (mark[row] == stamp)
        return;
    mark[row] = stamp;
    if (to->count == to->room) {
        to->room = 2 * to->room + 1024;
        to->rows = app_more_memory(to->rows, (size_t)to->room, sizeof *to->rows);
    }
    to->rows[to->count++] = row;
}

/* Rows below supernodes: those of the matrix and those of the children. begin[nodes + 1] is filled. */
static struct rows rows_below(const struct matrix *a, const struct supernode *list, int nodes, int64_t *begin)
{
    struct rows all = {NULL, 0, 0};
    int n = a->n, *memory = app_memory(2 * (size_t)n + 2 * (size_t)nodes, sizeof *memory);
    int *mark = memory, *node_of = mark + n, *child = node_of + n, *sibling = child + nodes;
    memset(mark, -1, (size_t)n * sizeof *mark);
    memset(child, -1, (size_t)nodes * sizeof *child);
    for (int s = 0; s < nodes; s++)
        for (int j = list[s].first; j < list[s].end; j++)
            node_of[j] = s;
    for (int s = 0; s < nodes; s++) {
        begin[s] = all.count;
        for (int64_t k = a->begin[list[s].first]; k < a->begin[list[s].end]; k++)
            if (a->column[k] >= list[s].end)
                add_row(&all, a->column[k], mark, s);
        for (int c = child[s]; c != -1; c = sibling[c])
            for (int64_t k = begin[c]; k < begin[c + 1]; k++)
                if (all.rows[k] >= list[s].end)
                    add_row(&all, all.rows[k], mark, s);
        begin[s + 1] = all.count;
        if (all.count == begin[s])
            continue;
        qsort(all.rows + begin[s], (size_t)(all.count - begin[s]), sizeof *all.rows, ascending);
        int up = node_of[all.rows[begin[s]]];
        sibling[s] = child[up];
        child[up] = s;
    }
    free(memory);
    return all;
}

/* Supernodes are cut into panels of about the same width. */
static void cut(struct structure *s, const struct supernode *list, int nodes, int width)
{
    s->first = app_memory((size_t)s->n + 1, sizeof *s->first);
    s->panel_of = app_memory((size_t)s->n, sizeof *s->panel_of);
    for (int node = 0; node < nodes; node++) {
        int columns = list[node].end - list[node].first, parts = (columns + width - 1) / width;
        for (int p = 0; p < parts; p++)
            s->first[s->panels++] = list[node].first + (int)((int64_t)columns * p / parts);
    }
    s->first[s->panels] = s->n;
    for (int p = 0; p < s->panels; p++)
        for (int j = s->first[p]; j < s->first[p + 1]; j++)
            s->panel_of[j] = p;
}

/* Rows of panels: the columns of their supernode from their own on, and the rows below it. */
static void panel_rows(struct structure *s, const struct supernode *list, int nodes, const struct rows *below,
                       const int64_t *begin)
{
    s->rows_begin = app_memory((size_t)s->panels + 1, sizeof *s->rows_begin);
    int64_t count = 0;
    for (int pass = 0; pass < 2; pass++) {
        int p = 0;
        count = 0;
        for (int node = 0; node < nodes; node++)
            for (; p < s->panels && s->first[p] < list[node].end; p++) {
                int columns = list[node].end - s->first[p];
                int64_t more = begin[node + 1] - begin[node];
                s->rows_begin[p] = count;
                for (int k = 0; k < columns && pass == 1; k++)
                    s->rows[count + k] = s->first[p] + k;
                if (pass == 1 && more > 0)
                    memcpy(s->rows + count + columns, below->rows + begin[node], (size_t)more * sizeof *s->rows);
                count += columns + more;
            }
        if (pass == 0)
            s->rows = app_memory((size_t)count, sizeof *s->rows);
    }
    s->rows_begin[s->panels] = count;
}

/* Cuts the rows of a panel at the panels' borders; `to` NULL counts only. */
static int cut_rows(const struct structure *s, int panel, struct block *to)
{
    const int *rows = s->rows + s->rows_begin[panel];
    int count = (int)(s->rows_begin[panel + 1] - s->rows_begin[panel]), blocks = 0;
    for (int k = 0; k < count; blocks++) {
        int i = s->panel_of[rows[k]], from = k;
        while (k < count && rows[k] < s->first[i + 1])
            k++;
        if (to)
            to[blocks] = (struct block){.i = i, .j = panel, .first = from, .count = k - from,
                                        .stride = (k - from + WIDE - 1) / WIDE * WIDE};
    }
    return blocks;
}

static void make_blocks(struct structure *s)
{
    s->blocks_begin = app_memory((size_t)s->panels + 1, sizeof *s->blocks_begin);
    s->blocks_begin[0] = 0;
    for (int p = 0; p < s->panels; p++)
        s->blocks_begin[p + 1] = s->blocks_begin[p] + cut_rows(s, p, NULL);
    s->blocks = app_memory((size_t)s->blocks_begin[s->panels], sizeof *s->blocks);
    for (int p = 0; p < s->panels; p++)
        cut_rows(s, p, s->blocks + s->blocks_begin[p]);
}

/* Puts the given order into postorder, and the matrix into that. Returns its tree. */
static int *settle_order(const struct matrix *a, int *order, struct matrix *permuted)
{
    int n = a->n, *post = app_memory((size_t)n, sizeof *post), *settled = app_memory((size_t)n, sizeof *settled);
    *permuted = matrix_permuted(a, order);
    int *parent = tree_of(permuted);
    postorder(parent, n, post);
    for (int k = 0; k < n; k++)
        settled[k] = order[post[k]];
    memcpy(order, settled, (size_t)n * sizeof *order);
    matrix_free(permuted);
    free(parent);
    free(post);
    free(settled);
    *permuted = matrix_permuted(a, order);
    return tree_of(permuted);
}

struct structure structure_make(const struct matrix *a, int *order, int width, struct matrix *permuted)
{
    struct structure s = {.n = a->n, .order = order};
    int *parent = settle_order(a, order, permuted), *count = counts_of(permuted, parent);
    for (int j = 0; j < s.n; j++) {
        s.entries += count[j];
        s.work += (double)count[j] * count[j];
    }
    struct supernode *list = app_memory((size_t)s.n, sizeof *list);
    int nodes = supernodes_of(s.n, parent, count, list);
    int64_t *begin = app_memory((size_t)nodes + 1, sizeof *begin);
    struct rows below = rows_below(permuted, list, nodes, begin);
    cut(&s, list, nodes, width);
    panel_rows(&s, list, nodes, &below, begin);
    make_blocks(&s);
    free(below.rows);
    free(begin);
    free(list);
    free(count);
    free(parent);
    return s;
}

void structure_free(struct structure *s)
{
    free(s->order);
    free(s->first);
    free(s->panel_of);
    free(s->rows_begin);
    free(s->rows);
    free(s->blocks_begin);
    free(s->blocks);
}

int structure_width(const struct structure *s, int panel)
{
    return s->first[panel + 1] - s->first[panel];
}

size_t block_bytes(const struct structure *s, const struct block *b)
{
    return (size_t)b->stride * (size_t)structure_width(s, b->j) * sizeof(double);
}

/* The number of the block of panel i's rows in panel j, or -1. */
int block_find(const struct structure *s, int i, int j)
{
    int low = s->blocks_begin[j], high = s->blocks_begin[j + 1] - 1;
    while (low <= high) {
        int middle = low + (high - low) / 2;
        if (s->blocks[middle].i == i)
            return middle;
        if (s->blocks[middle].i < i)
            low = middle + 1;
        else
            high = middle - 1;
    }
    return -1;
}
