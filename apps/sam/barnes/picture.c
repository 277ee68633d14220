/* The bodies along the line of sight: the brighter, the more there are. */
#include "barnes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { POINTS = 440 };
static const double HALF_WIDTH = 2; /* of the picture, in the units of the bodies */

int picture(struct universe *u, const char *path)
{
    int status = 0;
    int *counts = app_memory(POINTS * POINTS, sizeof *counts);
    memset(counts, 0, POINTS * POINTS * sizeof *counts);
    for (int i = 0; i < u->count; i++) {
        int column = (int)floor((u->bodies[i].x[0] / HALF_WIDTH + 1) * POINTS / 2);
        int row = (int)floor((1 - u->bodies[i].x[1] / HALF_WIDTH) * POINTS / 2);
        if (column >= 0 && column < POINTS && row >= 0 && row < POINTS)
            counts[row * POINTS + column]++;
    }
    /* Ranks that wait in MPI do not answer SAM. */
    sam_barrier();
    MPI_Allreduce(MPI_IN_PLACE, counts, POINTS * POINTS, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (u->app->rank == 0) {
        unsigned char *rgb = app_memory(3 * POINTS * POINTS, 1);
        double scale = 25000 / (double)u->total;
        for (int n = 0; n < POINTS * POINTS; n++)
            app_colour(fmin(1, log1p(counts[n] * scale) / 2.4), rgb + 3 * n);
        status = app_png(u->app, path, POINTS, POINTS, rgb);
        free(rgb);
    }
    MPI_Bcast(&status, 1, MPI_INT, 0, MPI_COMM_WORLD);
    free(counts);
    return status;
}
