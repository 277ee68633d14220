/* A slice of the liquid, one atom thick, from the side: discs, coloured by speed. */
#include "md.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { POINTS = 400, NUMBERS = 4 };
static const double SHADES = 6; /* of light and of speed: few colours make a small file */
static const double SLICE = 1.0, RADIUS = 0.5;

/* Own atoms of the slice: x, y, depth, speed. */
static double *slice_of(const struct md *md, int *numbers)
{
    double *slice = app_memory((size_t)md->own * NUMBERS, sizeof *slice);
    *numbers = 0;
    for (int i = 0; i < md->own; i++) {
        const double *x = &md->x[WIDE * i], *v = &md->v[WIDE * i];
        double z = x[2] - floor(x[2] / md->box[2]) * md->box[2];
        if (z >= SLICE)
            continue;
        double *to = slice + *numbers;
        to[0] = x[0], to[1] = x[1], to[2] = z;
        to[3] = sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
        *numbers += NUMBERS;
    }
    return slice;
}

static int by_depth(const void *a, const void *b)
{
    double x = ((const double *)a)[2], y = ((const double *)b)[2];
    return x < y ? -1 : x > y;
}

/* A disc that is lighter in the middle; it may stand out over the border of the box. */
static void draw(unsigned char *rgb, int width, int height, double scale, const double *atom,
                 double fast)
{
    double radius = RADIUS * scale, x = atom[0] * scale, y = height - atom[1] * scale;
    unsigned char colour[3];
    app_colour(0.25 + 0.7 * floor(SHADES * atom[3] / fast) / SHADES, colour);
    for (int row = (int)floor(y - radius); row <= y + radius; row++)
        for (int column = (int)floor(x - radius); column <= x + radius; column++) {
            double dx = column + 0.5 - x, dy = row + 0.5 - y, r2 = (dx * dx + dy * dy) / (radius * radius);
            if (r2 >= 1 || row < 0 || row >= height || column < 0 || column >= width)
                continue;
            double light = 0.4 + 0.6 * floor(SHADES * sqrt(1 - r2)) / SHADES;
            for (int c = 0; c < 3; c++)
                rgb[3 * ((size_t)row * (size_t)width + (size_t)column) + c] =
                    (unsigned char)(colour[c] * light);
        }
}

int md_picture(const struct app *app, const struct md *md, const char *path)
{
    int mine, status = 0, *counts = NULL, *begins = NULL, all = 0;
    double *slice = slice_of(md, &mine), *atoms = NULL;
    if (md->rank == 0) {
        counts = app_memory(2 * (size_t)md->ranks, sizeof *counts);
        begins = counts + md->ranks;
    }
    MPI_Gather(&mine, 1, MPI_INT, counts, 1, MPI_INT, 0, md->comm);
    for (int r = 0; r < md->ranks && md->rank == 0; r++) {
        begins[r] = all;
        all += counts[r];
    }
    atoms = app_memory((size_t)all, sizeof *atoms);
    MPI_Gatherv(slice, mine, MPI_DOUBLE, atoms, counts, begins, MPI_DOUBLE, 0, md->comm);
    if (md->rank == 0) {
        double longest = md->box[0] > md->box[1] ? md->box[0] : md->box[1], scale = POINTS / longest;
        int width = (int)ceil(md->box[0] * scale), height = (int)ceil(md->box[1] * scale);
        unsigned char *rgb = app_memory(3 * (size_t)width * (size_t)height, 1);
        memset(rgb, 20, 3 * (size_t)width * (size_t)height);
        double fast = 2 * sqrt(3 * (md->p.temperature > 0 ? md->p.temperature : 1));
        qsort(atoms, (size_t)all / NUMBERS, NUMBERS * sizeof *atoms, by_depth);
        for (int k = 0; k < all; k += NUMBERS)
            draw(rgb, width, height, scale, atoms + k, fast);
        status = app_png(app, path, width, height, rgb);
        free(rgb);
    }
    MPI_Bcast(&status, 1, MPI_INT, 0, md->comm);
    free(counts);
    free(atoms);
    free(slice);
    return status;
}
