/* The vorticity: how the flow turns. */
#include "aspcg.h"

#include <math.h>
#include <stdlib.h>

enum { WIDTH = 480, SHADES = 32 }; /* few colours make a small file */

/* Beside walls it has no bounds as cells get smaller: there colours end where the middle of a cavity needs them. */
static const double CAVITY_MOST = 6;

static void find_vorticity(struct flow *f, double *out)
{
    const struct grid *g = &f->g;
    for (int y = 0; y < g->size[Y]; y++)
        for (int x = 0; x < g->size[X]; x++) {
            ptrdiff_t at = grid_at(g, 0, y, x);
            const double *u = f->velocity[0] + at, *v = f->velocity[1] + at;
            out[at] = (v[0] - v[-1] - u[0] + u[-g->row]) / f->cell;
        }
}

/* `plane` goes column by column. */
static int draw(const struct app *app, const struct flow *f, const double *plane)
{
    int nx = f->g.n[X], ny = f->g.n[Y], times = nx >= WIDTH ? 1 : WIDTH / nx;
    double most = f->p.which == CAVITY ? CAVITY_MOST : 0;
    for (int p = 0; p < nx * ny && f->p.which != CAVITY; p++)
        most = fmax(most, fabs(plane[p]));
    size_t width = (size_t)(nx * times), height = (size_t)(ny * times);
    unsigned char *rgb = app_memory(3 * width * height, 1);
    for (size_t y = 0; y < height; y++)
        for (size_t x = 0; x < width; x++) {
            double value = plane[(ptrdiff_t)x / times * ny + ny - 1 - (ptrdiff_t)y / times], shade = most > 0 ? value / most : 0;
            app_colour_signed(round(SHADES * shade) / SHADES, &rgb[3 * (y * width + x)]);
        }
    int status = app_png(app, app->image, (int)width, (int)height, rgb);
    free(rgb);
    return status;
}

int flow_picture(const struct app *app, struct flow *f)
{
    int status = 0;
    find_vorticity(f, f->source);
    double *plane = grid_plane(&f->g, f->source, 0, 0);
    if (plane)
        status = draw(app, f, plane);
    free(plane);
    MPI_Bcast(&status, 1, MPI_INT, 0, f->g.comm);
    return status;
}
