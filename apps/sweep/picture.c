/* The first group's flux in the lowest layer of the box, by its logarithm, with the edges of cells where they are large. */
#include "sweep.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SIZE = 400, SHADES = 40 };
static const double HEIGHT = 0.01, DECADES = 4.5; /* of the box; between white and black */

/* Cells that a plane cuts are painted point by point; each rank paints its own. */
static void paint(const struct sweep *s, double *points)
{
    const struct mesh *m = &s->mesh;
    double z = 100 * HEIGHT;
    for (int c = 0; c < m->cells; c++) {
        double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY};
        for (int k = 0; k < m->corners; k++)
            for (int d = 0; d < 3; d++) {
                double x = m->point[m->corner[(size_t)c * (size_t)m->corners + (size_t)k]][d];
                low[d] = fmin(low[d], x);
                high[d] = fmax(high[d], x);
            }
        if (s->owner[c] != s->rank || low[2] > z || high[2] < z)
            continue;
        for (int i = (int)fmax(0, low[0] / 100 * SIZE - 1); i < SIZE && i <= high[0] / 100 * SIZE; i++)
            for (int j = (int)fmax(0, low[1] / 100 * SIZE - 1); j < SIZE && j <= high[1] / 100 * SIZE; j++) {
                double at[3] = {(i + 0.5) * 100 / SIZE, (j + 0.5) * 100 / SIZE, z}, value = s->flux[c].u[0][0];
                if (!mesh_has(m, c, at))
                    continue;
                for (int d = 0; d < 3; d++)
                    value += s->flux[c].u[1 + d][0] * (at[d] - m->cell[c].centre[d]);
                points[j * SIZE + i] = fmax(value, 0);
            }
    }
}

static int draw(const struct app *app, const double *points)
{
    double most = 0;
    unsigned char *rgb = app_memory(3 * SIZE * SIZE, 1);
    for (int p = 0; p < SIZE * SIZE; p++)
        most = fmax(most, points[p]);
    for (int y = 0; y < SIZE; y++)
        for (int x = 0; x < SIZE; x++) {
            double value = points[(SIZE - 1 - y) * SIZE + x], shade = value > 0 ? 1 + log10(value / most) / DECADES : 0;
            app_colour(floor(SHADES * fmax(0, shade)) / SHADES, &rgb[3 * (y * SIZE + x)]);
        }
    int status = app_png(app, app->image, SIZE, SIZE, rgb);
    free(rgb);
    return status;
}

int sweep_picture(const struct app *app, const struct sweep *s)
{
    double *mine = app_memory(SIZE * SIZE, sizeof *mine), *all = app_memory(SIZE * SIZE, sizeof *all);
    int status = 0;
    memset(mine, 0, SIZE * SIZE * sizeof *mine);
    paint(s, mine);
    MPI_Reduce(mine, all, SIZE * SIZE, MPI_DOUBLE, MPI_MAX, 0, s->comm);
    if (s->rank == 0)
        status = draw(app, all);
    free(mine);
    free(all);
    MPI_Bcast(&status, 1, MPI_INT, 0, s->comm);
    return status;
}
