/* The plane through the dipole: the field along it. Of a plasma: how fast particles are at each x. */
#include "fdtd.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 480, HEIGHT = 300, SHADES = 24 }; /* few colours make a small file */
static const double FULL = 1.2;                  /* rms values: the strongest colour */

/* Values with signs; the rms value decides what is strong, so that the source does not. */
static int draw_waves(const struct app *app, const double *plane, int width, int height, const char *path)
{
    int times = width >= WIDTH ? 1 : WIDTH / width;
    double squares = 0;
    for (int p = 0; p < width * height; p++)
        squares += fmin(plane[p] * plane[p], 1);
    double strong = FULL * sqrt(squares / (width * height));
    unsigned char *rgb = app_memory(3 * (size_t)(width * times) * (size_t)(height * times), 1);
    for (int y = 0; y < height * times; y++)
        for (int x = 0; x < width * times; x++) {
            double value = strong > 0 ? plane[y / times * width + x / times] / strong : 0;
            double shade = copysign(sqrt(fabs(value)), value);
            app_colour_signed(floor(SHADES * shade + 0.5) / SHADES, &rgb[3 * (y * width * times + x)]);
        }
    int status = app_png(app, path, width * times, height * times, rgb);
    free(rgb);
    return status;
}

/* Particles by x and by velocity along x, counted. */
static int draw_particles(const struct app *app, const struct fdtd *f, const char *path)
{
    double *mine = app_memory(WIDTH * HEIGHT, sizeof *mine), *all = app_memory(WIDTH * HEIGHT, sizeof *all);
    double largest = 0, fastest, most = 0;
    memset(mine, 0, WIDTH * HEIGHT * sizeof *mine);
    for (int64_t n = 0; n < f->count; n++)
        largest = fmax(largest, fabs(f->particles[n].u[0]));
    MPI_Allreduce(&largest, &fastest, 1, MPI_DOUBLE, MPI_MAX, f->g.comm);
    for (int64_t n = 0; n < f->count && fastest > 0; n++) {
        int x = (int)(WIDTH * f->particles[n].x[0] / f->g.n[0]);
        int y = (int)((HEIGHT - 1) * (0.5 - 0.5 * f->particles[n].u[0] / fastest));
        mine[y * WIDTH + x]++;
    }
    MPI_Reduce(mine, all, WIDTH * HEIGHT, MPI_DOUBLE, MPI_SUM, 0, f->g.comm);
    int status = 0;
    if (f->g.rank == 0) {
        unsigned char *rgb = app_memory(3 * WIDTH * HEIGHT, 1);
        for (int p = 0; p < WIDTH * HEIGHT; p++)
            most = fmax(most, all[p]);
        for (int p = 0; p < WIDTH * HEIGHT; p++)
            app_colour(floor(SHADES * log1p(all[p]) / log1p(most)) / SHADES, &rgb[3 * p]);
        status = app_png(app, path, WIDTH, HEIGHT, rgb);
        free(rgb);
    }
    free(mine);
    free(all);
    return status;
}

int fdtd_picture(const struct app *app, const struct fdtd *f)
{
    int status = 0, cell[3];
    if (f->p.kind == PLASMA) {
        status = draw_particles(app, f, app->image);
    } else {
        fdtd_source(&f->p, cell);
        double *plane = grid_plane(&f->g, f->e[2], 2, cell[2]);
        if (plane)
            status = draw_waves(app, plane, f->g.n[0], f->g.n[1], app->image);
        free(plane);
    }
    MPI_Bcast(&status, 1, MPI_INT, 0, f->g.comm);
    return status;
}
