/* Where the electrons have been, seen from the side of the molecule: their density along the line of sight. */
#include "qmc.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 320, HEIGHT = 240, SHADES = 32 }; /* few colours make a small file */
static const double HALF_HEIGHT = 2.4;           /* bohr */
static const double DECADES = 3;                 /* of density from black to white */

void picture_begin(struct qmc *q)
{
    q->image = app_memory(WIDTH * HEIGHT, sizeof *q->image);
    memset(q->image, 0, WIDTH * HEIGHT * sizeof *q->image);
}

/* Both mirror images, too, and all of them the other way round: the ground state has these symmetries. */
static void add(double *image, double z, double x, double weight)
{
    double scale = 0.5 * HEIGHT / HALF_HEIGHT;
    for (int mirror = 0; mirror < 4; mirror++) {
        int column = (int)floor(0.5 * WIDTH + (mirror % 2 ? -z : z) * scale);
        int row = (int)floor(0.5 * HEIGHT + (mirror / 2 ? -x : x) * scale);
        if (column >= 0 && column < WIDTH && row >= 0 && row < HEIGHT)
            image[row * WIDTH + column] += weight;
    }
}

void picture_add(struct qmc *q)
{
    for (int64_t n = 0; n < q->count; n++)
        for (int e = 0; e < 2; e++) {
            const double *x = &q->walkers[n].x[3 * e];
            /* Turned round the axis by a quarter, the same state. */
            add(q->image, x[2], x[0], q->walkers[n].weight);
            add(q->image, x[2], x[1], q->walkers[n].weight);
        }
}

int picture_write(const struct app *app, const struct qmc *q)
{
    double *all = app_memory(WIDTH * HEIGHT, sizeof *all), most = 0;
    int status = 0;
    MPI_Reduce(q->image, all, WIDTH * HEIGHT, MPI_DOUBLE, MPI_SUM, 0, q->comm);
    if (q->rank == 0) {
        unsigned char *rgb = app_memory(3 * WIDTH * HEIGHT, 1);
        for (int p = 0; p < WIDTH * HEIGHT; p++)
            most = fmax(most, all[p]);
        for (int p = 0; p < WIDTH * HEIGHT; p++) {
            double shade = all[p] > 0 ? 1 + log10(all[p] / most) / DECADES : 0;
            app_colour(floor(SHADES * fmax(shade, 0)) / SHADES, &rgb[3 * p]);
        }
        status = app_png(app, app->image, WIDTH, HEIGHT, rgb);
        free(rgb);
    }
    MPI_Bcast(&status, 1, MPI_INT, 0, q->comm);
    free(all);
    return status;
}
