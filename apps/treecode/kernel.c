/* The inner loops: one body and a list of points or cells. */
#include "treecode.h"

#include <math.h>

FOR_EACH_PROCESSOR static void add_points(const struct lists *l, struct body *body, double softening2)
{
    const double *restrict px = l->points[0], *restrict py = l->points[1];
    const double *restrict pz = l->points[2], *restrict pm = l->points[3];
    const double x = body->x[0], y = body->x[1], z = body->x[2];
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
    body->a[0] += ax, body->a[1] += ay, body->a[2] += az;
    body->potential += potential;
}

/* With d from the cell to the body and Q d its quadrupole applied to d:
 * potential -m/r - d.Q.d / (2 r^5), acceleration -m d/r^3 + Q d/r^5 - 5 (d.Q.d) d / (2 r^7). */
FOR_EACH_PROCESSOR static void add_cells(const struct lists *l, struct body *body, double softening2)
{
    const double *restrict cx = l->cells[0], *restrict cy = l->cells[1], *restrict cz = l->cells[2];
    const double *restrict cm = l->cells[3], *restrict qxx = l->cells[4], *restrict qyy = l->cells[5];
    const double *restrict qzz = l->cells[6], *restrict qxy = l->cells[7];
    const double *restrict qxz = l->cells[8], *restrict qyz = l->cells[9];
    const double x = body->x[0], y = body->x[1], z = body->x[2];
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
    body->a[0] += ax, body->a[1] += ay, body->a[2] += az;
    body->potential += potential;
}

void add_forces(const struct lists *lists, struct body *body, double softening)
{
    add_points(lists, body, softening * softening);
    add_cells(lists, body, softening * softening);
}

FOR_EACH_PROCESSOR void direct_sum(const struct body *bodies, int count, const double x[3],
                                   double softening, double a[3])
{
    double ax = 0, ay = 0, az = 0;
    const double x0 = x[0], x1 = x[1], x2 = x[2];
#pragma omp simd reduction(+ : ax, ay, az)
    for (int i = 0; i < count; i++) {
        double dx = bodies[i].x[0] - x0, dy = bodies[i].x[1] - x1, dz = bodies[i].x[2] - x2;
        double square = dx * dx + dy * dy + dz * dz;
        double inverse = 1 / sqrt(square + softening * softening);
        inverse = square > 0 ? inverse : 0;
        double three = bodies[i].mass * inverse * inverse * inverse;
        ax += three * dx;
        ay += three * dy;
        az += three * dz;
    }
    a[0] += ax, a[1] += ay, a[2] += az;
}
