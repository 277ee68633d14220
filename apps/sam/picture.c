/* The pattern of the factor: where it has blocks' rows, in the colour of the rank that owns them. */
#include "cholesky.h"

#include <stdlib.h>
#include <string.h>

enum { POINTS = 600 };

/* Points of this rank's entries get its number, from 1. */
static void paint(const struct factor *f, int *points, int size)
{
    const struct structure *s = &f->s;
    for (int t = 0; t < f->target_count; t++) {
        const struct block *b = &s->blocks[f->targets[t].block];
        const int *rows = s->rows + s->rows_begin[b->j] + b->first;
        for (int i = 0; i < b->count; i++)
            for (int j = s->first[b->j]; j < s->first[b->j + 1] && j <= rows[i]; j++) {
                int64_t y = (int64_t)rows[i] * size / s->n, x = (int64_t)j * size / s->n;
                points[y * size + x] = f->rank + 1;
            }
    }
}

int factor_picture(const struct factor *f, const char *path)
{
    int size = f->s.n < POINTS ? f->s.n : POINTS, status = 0;
    size_t count = (size_t)size * (size_t)size;
    int *points = app_memory(count, sizeof *points);
    unsigned char *rgb = app_memory(count, 3);
    memset(points, 0, count * sizeof *points);
    paint(f, points, size);
    MPI_Allreduce(MPI_IN_PLACE, points, (int)count, MPI_INT, MPI_MAX, f->comm);
    for (size_t k = 0; k < count && f->rank == 0; k++)
        app_colour(points[k] == 0 ? 0 : 0.4 + 0.5 * points[k] / f->ranks, rgb + 3 * k);
    if (f->rank == 0)
        status = app_png(f->app, path, size, size, rgb);
    MPI_Bcast(&status, 1, MPI_INT, 0, f->comm);
    free(points);
    free(rgb);
    return status;
}
