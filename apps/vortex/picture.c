/* The strength along the line of sight, from above (left) and from the side. */
#include "vortex.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 320, HEIGHT = 320, SHADES = 24 }; /* few colours make a small file */
static const double HALF = 2.6;                  /* radii of a ring */
static const double BLUR = 3;                    /* points */

/* A spot of light around a particle. */
static void add(double *image, int left, double x, double y, double strength)
{
    double scale = 0.5 * WIDTH / HALF, column = 0.5 * WIDTH + x * scale, row = 0.5 * HEIGHT - y * scale;
    for (int r = (int)(row - 3 * BLUR); r <= row + 3 * BLUR; r++)
        for (int c = (int)(column - 3 * BLUR); c <= column + 3 * BLUR; c++) {
            double dx = c + 0.5 - column, dy = r + 0.5 - row;
            if (r >= 0 && r < HEIGHT && c >= 0 && c < WIDTH)
                image[r * 2 * WIDTH + left + c] += strength * exp(-0.5 * (dx * dx + dy * dy) / (BLUR * BLUR));
        }
}

int vortex_picture(const struct app *app, const struct vortex *v)
{
    double *mine = app_memory(2 * WIDTH * HEIGHT, sizeof *mine), *all = app_memory(2 * WIDTH * HEIGHT, sizeof *all), most = 0;
    struct invariants i = vortex_invariants(v);
    int status = 0;
    memset(mine, 0, 2 * WIDTH * HEIGHT * sizeof *mine);
    for (int64_t n = 0; n < v->count; n++) {
        const double *x = v->now + NUMBERS * n, *a = x + 3;
        double strength = sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2]);
        add(mine, 0, x[0] - i.centre[0], x[1] - i.centre[1], strength);
        add(mine, WIDTH, x[0] - i.centre[0], x[2] - i.centre[2], strength);
    }
    MPI_Reduce(mine, all, 2 * WIDTH * HEIGHT, MPI_DOUBLE, MPI_SUM, 0, v->comm);
    if (v->rank == 0) {
        unsigned char *rgb = app_memory(2 * 3 * WIDTH * HEIGHT, 1);
        for (int p = 0; p < 2 * WIDTH * HEIGHT; p++)
            most = fmax(most, all[p]);
        for (int p = 0; p < 2 * WIDTH * HEIGHT; p++)
            app_colour(floor(SHADES * pow(all[p] / most, 0.4)) / SHADES, &rgb[3 * p]);
        status = app_png(app, app->image, 2 * WIDTH, HEIGHT, rgb);
        free(rgb);
    }
    MPI_Bcast(&status, 1, MPI_INT, 0, v->comm);
    free(mine);
    free(all);
    return status;
}
