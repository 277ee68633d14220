/* The mass along the line of sight, on a logarithmic scale. */
#include "treecode.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { POINTS = 440 };
static const double SHADES = 32; /* few colours make a small file */

/* A mass spread over the four nearest points (cloud in cell). */
static void add_mass(float *grid, double x, double y, double mass)
{
    int column = (int)floor(x), row = (int)floor(y);
    double right = x - column, down = y - row;
    for (int r = 0; r < 2; r++)
        for (int c = 0; c < 2; c++) {
            int at_row = row + r, at_column = column + c;
            if (at_row < 0 || at_row >= POINTS || at_column < 0 || at_column >= POINTS)
                continue;
            grid[at_row * POINTS + at_column] +=
                (float)(mass * (r ? down : 1 - down) * (c ? right : 1 - right));
        }
}

static int draw(const struct app *app, const struct universe *u, const float *grid, const char *path)
{
    unsigned char *rgb = app_memory(3 * POINTS * POINTS, 1);
    /* From a fifth of the mean of what is covered to a thousand times as much. */
    double sum = 0, low = 0, per_body = 1.0 / (double)u->total;
    int covered = 0;
    for (int i = 0; i < POINTS * POINTS; i++) {
        sum += grid[i];
        covered += grid[i] > 0;
    }
    low = 0.2 * sum / (covered > 0 ? covered : 1);
    low = low > 0 ? low : per_body;
    for (int i = 0; i < POINTS * POINTS; i++)
        app_colour(floor(SHADES * log10(1 + grid[i] / low) / 2.7) / SHADES, rgb + 3 * i);
    int status = app_png(app, path, POINTS, POINTS, rgb);
    free(rgb);
    return status;
}

int picture(const struct app *app, const struct universe *u, double half_width, const char *path)
{
    int status = 0;
    float *grid = app_memory(POINTS * POINTS, sizeof *grid);
    memset(grid, 0, POINTS * POINTS * sizeof *grid);
    for (int i = 0; i < u->count; i++) {
        const struct body *b = &u->bodies[i];
        add_mass(grid, (b->x[0] / half_width + 1) * POINTS / 2, (1 - b->x[1] / half_width) * POINTS / 2,
                 b->mass);
    }
    if (u->tree.rank == 0)
        MPI_Reduce(MPI_IN_PLACE, grid, POINTS * POINTS, MPI_FLOAT, MPI_SUM, 0, u->tree.comm);
    else
        MPI_Reduce(grid, NULL, POINTS * POINTS, MPI_FLOAT, MPI_SUM, 0, u->tree.comm);
    if (u->tree.rank == 0)
        status = draw(app, u, grid, path);
    MPI_Bcast(&status, 1, MPI_INT, 0, u->tree.comm);
    free(grid);
    return status;
}
