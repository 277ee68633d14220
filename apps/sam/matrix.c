/* Symmetric matrices, row by row. */
#include "cholesky.h"

#include <stdlib.h>
#include <string.h>

void matrix_free(struct matrix *a)
{
    free(a->begin);
    free(a->column);
    free(a->value);
    memset(a, 0, sizeof *a);
}

static struct matrix empty(int n, int64_t count)
{
    struct matrix a = {n, app_memory((size_t)n + 1, sizeof *a.begin), app_memory((size_t)count, sizeof *a.column),
                       app_memory((size_t)count, sizeof *a.value)};
    return a;
}

struct matrix matrix_copy(const struct matrix *a)
{
    int64_t count = a->begin[a->n];
    struct matrix copy = empty(a->n, count);
    memcpy(copy.begin, a->begin, ((size_t)a->n + 1) * sizeof *copy.begin);
    memcpy(copy.column, a->column, (size_t)count * sizeof *copy.column);
    memcpy(copy.value, a->value, (size_t)count * sizeof *copy.value);
    return copy;
}

/* From numbers of entries per row, at begin[row + 1], to where the rows begin. */
static void sum_up(struct matrix *a)
{
    a->begin[0] = 0;
    for (int i = 0; i < a->n; i++)
        a->begin[i + 1] += a->begin[i];
}

/* Of a symmetric matrix the transpose is the same, with the columns of each row in ascending order. */
static struct matrix transposed(const struct matrix *a)
{
    struct matrix t = empty(a->n, a->begin[a->n]);
    memcpy(t.begin, a->begin, ((size_t)a->n + 1) * sizeof *t.begin);
    int64_t *next = app_memory((size_t)a->n, sizeof *next);
    memcpy(next, t.begin, (size_t)a->n * sizeof *next);
    for (int i = 0; i < a->n; i++)
        for (int64_t k = a->begin[i]; k < a->begin[i + 1]; k++) {
            int64_t to = next[a->column[k]]++;
            t.column[to] = i;
            t.value[to] = a->value[k];
        }
    free(next);
    return t;
}

static void add_twins(struct matrix *a)
{
    int64_t to = 0, from = 0;
    for (int i = 0; i < a->n; i++) {
        int64_t row = to;
        for (; from < a->begin[i + 1]; from++)
            if (to > row && a->column[to - 1] == a->column[from]) {
                a->value[to - 1] += a->value[from];
            } else {
                a->column[to] = a->column[from];
                a->value[to++] = a->value[from];
            }
        a->begin[i] = row;
        /* The next row begins where it did; its place is set in its own turn. */
    }
    a->begin[a->n] = to;
}

struct matrix matrix_of(int n, const struct entry *entries, int64_t count)
{
    struct matrix a = empty(n, 2 * count);
    memset(a.begin, 0, ((size_t)n + 1) * sizeof *a.begin);
    for (int64_t k = 0; k < count; k++) {
        a.begin[entries[k].row + 1]++;
        if (entries[k].row != entries[k].column)
            a.begin[entries[k].column + 1]++;
    }
    sum_up(&a);
    int64_t *next = app_memory((size_t)n, sizeof *next);
    memcpy(next, a.begin, (size_t)n * sizeof *next);
    for (int64_t k = 0; k < count; k++) {
        const struct entry *e = &entries[k];
        int64_t to = next[e->row]++;
        a.column[to] = e->column;
        a.value[to] = e->value;
        if (e->row != e->column) {
            to = next[e->column]++;
            a.column[to] = e->row;
            a.value[to] = e->value;
        }
    }
    free(next);
    struct matrix sorted = transposed(&a);
    matrix_free(&a);
    add_twins(&sorted);
    return sorted;
}

struct matrix matrix_permuted(const struct matrix *a, const int *order)
{
    struct matrix p = empty(a->n, a->begin[a->n]);
    int *where = app_memory((size_t)a->n, sizeof *where);
    for (int k = 0; k < a->n; k++)
        where[order[k]] = k;
    int64_t to = 0;
    for (int k = 0; k < a->n; k++) {
        p.begin[k] = to;
        for (int64_t e = a->begin[order[k]]; e < a->begin[order[k] + 1]; e++, to++) {
            p.column[to] = where[a->column[e]];
            p.value[to] = a->value[e];
        }
    }
    p.begin[a->n] = to;
    free(where);
    struct matrix sorted = transposed(&p);
    matrix_free(&p);
    return sorted;
}

/* Numbers from -1 to 1 that depend on the place only (splitmix64). */
static double number_at(int row, int column)
{
    uint64_t z = ((uint64_t)row << 32 | (uint64_t)column) * 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return (double)(z >> 11) / (double)((uint64_t)1 << 52) - 1;
}

/* The diagonal is larger than the rest of a row together, so the matrix is positive definite. */
struct matrix matrix_dense(int n)
{
    struct matrix a = empty(n, (int64_t)n * n);
    for (int i = 0; i <= n; i++)
        a.begin[i] = (int64_t)i * n;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            a.column[a.begin[i] + j] = j;
            a.value[a.begin[i] + j] = i == j ? n : i < j ? number_at(i, j) : number_at(j, i);
        }
    return a;
}
