/* The factor beside one of a sequential program: the textbook's, for a full matrix, with nothing in common. */
#include "cholesky.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Column by column: L[i][j] at l[j * n + i]. */
static void sequential(const struct matrix *a, double *l)
{
    size_t n = (size_t)a->n;
    memset(l, 0, n * n * sizeof *l);
    for (size_t j = 0; j < n; j++)
        for (int64_t k = a->begin[j]; k < a->begin[j + 1]; k++)
            l[j * n + (size_t)a->column[k]] = (size_t)a->column[k] >= j ? a->value[k] : 0;
    for (size_t j = 0; j < n; j++) {
        for (size_t k = 0; k < j; k++)
            for (size_t i = j; i < n && l[k * n + j] != 0; i++)
                l[j * n + i] -= l[k * n + i] * l[k * n + j];
        double root = sqrt(l[j * n + j]);
        for (size_t i = j; i < n; i++)
            l[j * n + i] /= root;
    }
}

/* This rank's blocks, the rest zero. */
static void spread(const struct factor *f, double *l)
{
    const struct structure *s = &f->s;
    size_t n = (size_t)s->n;
    memset(l, 0, n * n * sizeof *l);
    for (int t = 0; t < f->target_count; t++) {
        const struct block *b = &s->blocks[f->targets[t].block];
        const int *rows = s->rows + s->rows_begin[b->j] + b->first;
        for (int j = s->first[b->j]; j < s->first[b->j + 1]; j++)
            for (int i = 0; i < b->count; i++)
                if (rows[i] >= j)
                    l[(size_t)j * n + (size_t)rows[i]] = b->values[(j - s->first[b->j]) * b->stride + i];
    }
}

double compare_with_sequential(const struct factor *f)
{
    size_t n = (size_t)f->s.n;
    double *mine = app_memory(n * n, sizeof *mine), *theirs = app_memory(n * n, sizeof *theirs);
    double worst = 0, largest = 0;
    spread(f, mine);
    for (size_t j = 0; j < n; j++)
        MPI_Allreduce(MPI_IN_PLACE, mine + j * n, (int)n, MPI_DOUBLE, MPI_SUM, f->comm);
    sequential(&f->a, theirs);
    for (size_t k = 0; k < n * n; k++) {
        double away = fabs(mine[k] - theirs[k]);
        worst = !(away <= worst) ? away : worst;
        largest = fabs(theirs[k]) > largest ? fabs(theirs[k]) : largest;
    }
    free(mine);
    free(theirs);
    return worst / largest;
}

/* A number that changes with any bit of the factor, whoever has it: FNV of each block, which is added up. */
uint64_t factor_sum(const struct factor *f)
{
    uint64_t sum = 0;
    for (int t = 0; t < f->target_count; t++) {
        int number = f->targets[t].block;
        const struct block *b = &f->s.blocks[number];
        const unsigned char *bytes = (const unsigned char *)b->values;
        uint64_t hash = 0xcbf29ce484222325 ^ (uint64_t)number;
        for (size_t k = 0; k < block_bytes(&f->s, b); k++)
            hash = (hash ^ bytes[k]) * 0x100000001b3;
        sum += hash;
    }
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_UINT64_T, MPI_SUM, f->comm);
    return sum;
}
