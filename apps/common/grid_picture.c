/* A field in a plane as a picture: across the first direction of one cell, or across x. */
#include "grid.h"

#include <math.h>
#include <stdlib.h>

enum { WIDTH = 480, SHADES = 32 }; /* few colours make a small file */

static int draw(const struct app *app, const double *plane, int width, int height)
{
    int times = width >= WIDTH ? 1 : WIDTH / width;
    double low = INFINITY, high = -INFINITY;
    for (int p = 0; p < width * height; p++) {
        low = fmin(low, plane[p]);
        high = fmax(high, plane[p]);
    }
    unsigned char *rgb = app_memory(3 * (size_t)(width * times) * (size_t)(height * times), 1);
    for (int y = 0; y < height * times; y++)
        for (int x = 0; x < width * times; x++) {
            double value = plane[(height - 1 - y / times) * width + x / times];
            double shade = high > low ? (value - low) / (high - low) : 0;
            app_colour(floor(SHADES * (0.1 + 0.9 * shade)) / SHADES, &rgb[3 * ((size_t)y * (size_t)(width * times) + (size_t)x)]);
        }
    int status = app_png(app, app->image, width * times, height * times, rgb);
    free(rgb);
    return status;
}

int grid_picture(const struct grid *g, const struct app *app, const double *field, int at_middle)
{
    int d = 0, status = 0;
    for (int e = 2; e >= 0; e--)
        d = g->n[e] > 1 ? d : e;
    double *plane = grid_plane(g, field, d, at_middle ? g->n[d] / 2 : 0);
    if (plane)
        status = draw(app, plane, g->n[(d + 1) % 3], g->n[(d + 2) % 3]);
    free(plane);
    MPI_Bcast(&status, 1, MPI_INT, 0, g->comm);
    return status;
}
