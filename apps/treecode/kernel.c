/* The direct sum over all bodies, which others are compared with. */
#include "treecode.h"

#include <math.h>

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
