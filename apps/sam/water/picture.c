/* A slice of the liquid: oxygens bright, hydrogens dark, those in front over those behind. */
#include "water.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { POINTS = 440 };
static const double SLICE = 6, RADIUS[2] = {1.2, 0.7}; /* angstrom: depth; of oxygens and hydrogens */

struct ball {
    double x, y, z;
    int hydrogen;
};

static int by_depth(const void *a, const void *b)
{
    const struct ball *p = a, *q = b;
    return (p->z > q->z) - (p->z < q->z);
}

static void draw_ball(unsigned char *rgb, const struct ball *ball, double scale)
{
    double radius = RADIUS[ball->hydrogen] * scale, x = ball->x * scale, y = ball->y * scale;
    for (int row = (int)(y - radius); row <= (int)(y + radius); row++)
        for (int column = (int)(x - radius); column <= (int)(x + radius); column++) {
            double right = (column + 0.5 - x) / radius, down = (row + 0.5 - y) / radius, square = right * right + down * down;
            if (square > 1 || row < 0 || row >= POINTS || column < 0 || column >= POINTS)
                continue;
            /* Lit from where one looks; sixteen shades make a small file. */
            double light = floor(16 * sqrt(1 - square)) / 16;
            unsigned char *to = rgb + 3 * (row * POINTS + column);
            if (ball->hydrogen)
                memset(to, (int)(90 + 150 * light), 3);
            else
                to[0] = (unsigned char)(110 + 130 * light), to[1] = to[2] = (unsigned char)(20 + 50 * light);
        }
}

static int draw(const struct water *w, const double *all, int molecules, const char *path)
{
    struct ball *balls = app_memory((size_t)molecules * SITES, sizeof *balls);
    unsigned char *rgb = app_memory(3 * POINTS * POINTS, 1);
    int count = 0;
    memset(rgb, 255, 3 * POINTS * POINTS);
    for (int i = 0; i < molecules; i++) {
        const double *x = all + i * NUMBERS;
        double z = x[2] - w->box * floor(x[2] / w->box);
        for (int s = 0; s < SITES && z < SLICE; s++)
            balls[count++] = (struct ball){x[3 * s] - w->box * floor(x[0] / w->box), x[3 * s + 1] - w->box * floor(x[1] / w->box),
                                           x[3 * s + 2] - x[2] + z, s > 0};
    }
    qsort(balls, (size_t)count, sizeof *balls, by_depth);
    for (int b = 0; b < count; b++)
        draw_ball(rgb, &balls[b], POINTS / w->box);
    int status = app_png(w->app, path, POINTS, POINTS, rgb);
    free(balls);
    free(rgb);
    return status;
}

int picture(struct water *w, const char *path)
{
    int status = 0, mine = w->count * NUMBERS, all = 0, ranks = w->app->ranks;
    int *counts = app_memory(2 * (size_t)ranks, sizeof *counts), *begins = counts + ranks;
    double *own = app_memory((size_t)mine + 1, sizeof *own), *gathered;
    for (int i = 0; i < w->count; i++)
        memcpy(own + i * NUMBERS, w->own[i].x, NUMBERS * sizeof *own);
    /* Ranks that wait in MPI do not answer SAM. */
    sam_barrier();
    MPI_Allgather(&mine, 1, MPI_INT, counts, 1, MPI_INT, MPI_COMM_WORLD);
    for (int r = 0; r < ranks; r++) {
        begins[r] = all;
        all += counts[r];
    }
    gathered = app_memory((size_t)all + 1, sizeof *gathered);
    MPI_Gatherv(own, mine, MPI_DOUBLE, gathered, counts, begins, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    if (w->app->rank == 0)
        status = draw(w, gathered, all / NUMBERS, path);
    MPI_Bcast(&status, 1, MPI_INT, 0, MPI_COMM_WORLD);
    free(counts);
    free(own);
    free(gathered);
    return status;
}
