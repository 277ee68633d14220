/* K, the trace of the extrinsic curvature, in a plane; a linear wave has none, so of it the metric's component xx is shown. */
#include "relativity.h"

#include <math.h>
#include <stdlib.h>

enum { WIDTH = 480, SHADES = 24 }; /* few colours make a small file */

static int draw(const struct app *app, const double *plane, int width, int height)
{
    int times = width >= WIDTH ? 1 : WIDTH / width;
    double middle = 0, most = 0;
    for (int p = 0; p < width * height; p++)
        middle += plane[p] / (width * height);
    for (int p = 0; p < width * height; p++)
        most = fmax(most, fabs(plane[p] - middle));
    unsigned char *rgb = app_memory(3 * (size_t)(width * times) * (size_t)(height * times), 1);
    for (int y = 0; y < height * times; y++)
        for (int x = 0; x < width * times; x++) {
            double value = plane[(height - 1 - y / times) * width + x / times] - middle;
            double shade = most > 0 ? round(SHADES * value / most) / SHADES : 0;
            app_colour_signed(shade, &rgb[3 * ((size_t)y * (size_t)(width * times) + (size_t)x)]);
        }
    int status = app_png(app, app->image, width * times, height * times, rgb);
    free(rgb);
    return status;
}

int relativity_picture(const struct app *app, const struct spacetime *s)
{
    int d = 0, status = 0;
    for (int e = 0; e < 3; e++)
        d = s->g.n[e] < s->g.n[d] ? e : d; /* across the thinnest direction */
    double *plane = grid_plane(&s->g, s->u[s->p.start == LINEAR ? METRIC : K], d, 0);
    if (plane)
        status = draw(app, plane, s->g.n[(d + 1) % 3], s->g.n[(d + 2) % 3]);
    free(plane);
    MPI_Bcast(&status, 1, MPI_INT, 0, s->g.comm);
    return status;
}
