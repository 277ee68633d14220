/* Lists of interactions, and the inner loops: one body and a list of points or cells. */
#include "gravity.h"
#include "app.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Without accelerations of an earlier step: a cell is opened when its radius is seen under more. */
static const double ANGLE = 0.5;

/* The terms that a cell with quadrupole leaves out are at most 4 B3 / (d^3 (d - b)^2): d is the distance
 * from its centre of mass, b its radius, B3 the sum of m |x|^3 (Salmon and Warren, J. Comp. Phys. 111,
 * 1994, without the term that makes the bound smaller). */
int may_stand(const struct cell *cell, const double low[3], const double high[3], double tolerance)
{
    double square = 0;
    for (int d = 0; d < 3; d++) {
        double below = low[d] - cell->x[d], over = cell->x[d] - high[d];
        double gap = below > over ? below : over;
        gap = gap > 0 ? gap : 0;
        square += gap * gap;
    }
    if (square <= cell->radius * cell->radius || square == 0)
        return 0;
    if (tolerance == 0)
        return cell->radius * cell->radius < ANGLE * ANGLE * square;
    double away = sqrt(square), gap = away - cell->radius;
    return 4 * cell->third <= tolerance * square * away * gap * gap;
}

/* What an interaction may leave out, as a part of the body's acceleration, for each unit of the
 * accuracy that is wanted. Bounds are pessimistic and errors of many cells partly cancel; the number is
 * measured so that the rms error stays below the accuracy for Plummer's sphere and for the universe. */
static const double BOUND_PER_ACCURACY = 5;

double allowed_error(double accuracy, double acceleration)
{
    return BOUND_PER_ACCURACY * accuracy * acceleration;
}

double box_of(const struct body *bodies, int count, double low[3], double high[3])
{
    double least = INFINITY;
    for (int d = 0; d < 3; d++)
        low[d] = INFINITY, high[d] = -INFINITY;
    for (int i = 0; i < count; i++) {
        const struct body *b = &bodies[i];
        for (int d = 0; d < 3; d++) {
            low[d] = fmin(low[d], b->x[d]);
            high[d] = fmax(high[d], b->x[d]);
        }
        least = fmin(least, b->a[0] * b->a[0] + b->a[1] * b->a[1] + b->a[2] * b->a[2]);
    }
    return sqrt(least);
}

void list_cell(struct lists *l, double mass, const double x[3], const double quad[6])
{
    if (l->cell_count == l->cell_room) {
        l->cell_room = 2 * l->cell_room + 1024;
        for (int n = 0; n < CELL_NUMBERS; n++)
            l->cells[n] = app_more_memory(l->cells[n], (size_t)l->cell_room, sizeof *l->cells[n]);
    }
    int at = l->cell_count++;
    for (int d = 0; d < 3; d++)
        l->cells[d][at] = x[d];
    l->cells[3][at] = mass;
    for (int q = 0; q < 6; q++)
        l->cells[4 + q][at] = quad[q];
}

void list_points(struct lists *l, const struct point *points, int count)
{
    if (l->point_count + count > l->point_room) {
        l->point_room = 2 * (l->point_count + count) + 1024;
        for (int n = 0; n < POINT_NUMBERS; n++)
            l->points[n] = app_more_memory(l->points[n], (size_t)l->point_room, sizeof *l->points[n]);
    }
    for (int i = 0; i < count; i++) {
        int at = l->point_count++;
        for (int d = 0; d < 3; d++)
            l->points[d][at] = points[i].x[d];
        l->points[3][at] = points[i].mass;
    }
}

void lists_free(struct lists *l)
{
    for (int n = 0; n < POINT_NUMBERS; n++)
        free(l->points[n]);
    for (int n = 0; n < CELL_NUMBERS; n++)
        free(l->cells[n]);
    memset(l, 0, sizeof *l);
}

FOR_EACH_PROCESSOR static void add_points(const struct lists *l, const double at[3], double softening2, double a[3],
                                          double *out)
{
    const double *restrict px = l->points[0], *restrict py = l->points[1];
    const double *restrict pz = l->points[2], *restrict pm = l->points[3];
    const double x = at[0], y = at[1], z = at[2];
    double ax = 0, ay = 0, az = 0, potential = 0;
#pragma omp simd reduction(+ : ax, ay, az, potential)
    for (int i = 0; i < l->point_count; i++) {
        double dx = px[i] - x, dy = py[i] - y, dz = pz[i] - z;
        double square = dx * dx + dy * dy + dz * dz;
        double inverse = 1 / sqrt(square + softening2);
        inverse = square > 0 ? inverse : 0; /* the body itself */
        double one = pm[i] * inverse, three = one * inverse * inverse;
        potential -= one;
        ax += three * dx;
        ay += three * dy;
        az += three * dz;
    }
    a[0] += ax, a[1] += ay, a[2] += az;
    *out += potential;
}

/* With d from the cell to the body and Q d its quadrupole applied to d:
 * potential -m/r - d.Q.d / (2 r^5), acceleration -m d/r^3 + Q d/r^5 - 5 (d.Q.d) d / (2 r^7). */
FOR_EACH_PROCESSOR static void add_cells(const struct lists *l, const double at[3], double softening2, double a[3],
                                          double *out)
{
    const double *restrict cx = l->cells[0], *restrict cy = l->cells[1], *restrict cz = l->cells[2];
    const double *restrict cm = l->cells[3], *restrict qxx = l->cells[4], *restrict qyy = l->cells[5];
    const double *restrict qzz = l->cells[6], *restrict qxy = l->cells[7];
    const double *restrict qxz = l->cells[8], *restrict qyz = l->cells[9];
    const double x = at[0], y = at[1], z = at[2];
    double ax = 0, ay = 0, az = 0, potential = 0;
#pragma omp simd reduction(+ : ax, ay, az, potential)
    for (int i = 0; i < l->cell_count; i++) {
        double dx = x - cx[i], dy = y - cy[i], dz = z - cz[i];
        double inverse = 1 / sqrt(dx * dx + dy * dy + dz * dz + softening2);
        double inverse2 = inverse * inverse;
        double one = cm[i] * inverse, five = inverse2 * inverse2 * inverse;
        double qx = qxx[i] * dx + qxy[i] * dy + qxz[i] * dz;
        double qy = qxy[i] * dx + qyy[i] * dy + qyz[i] * dz;
        double qz = qxz[i] * dx + qyz[i] * dy + qzz[i] * dz;
        double dqd = 0.5 * five * (qx * dx + qy * dy + qz * dz);
        double radial = (one + 5 * dqd) * inverse2;
        potential -= one + dqd;
        ax += five * qx - radial * dx;
        ay += five * qy - radial * dy;
        az += five * qz - radial * dz;
    }
    a[0] += ax, a[1] += ay, a[2] += az;
    *out += potential;
}

void add_forces(const struct lists *l, const double x[3], double softening, double a[3], double *potential)
{
    add_points(l, x, softening * softening, a, potential);
    add_cells(l, x, softening * softening, a, potential);
}
