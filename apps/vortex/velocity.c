/* Biot and Savart's law by direct sums over all particles, with the algebraic smoothing of high order, and the stretching
 * of vorticity in the transposed form, which keeps its sum (G. S. Winckelmans, A. Leonard, J. Comp. Phys. 109, 1993). */
#include "vortex.h"

#include <math.h>

/* Everything that all particles do to one, at place x with strength a. The sum's order depends on the number of all only. */
FOR_EACH_PROCESSOR static void sum(double *const sources[NUMBERS], int64_t count, double smoothing2, const double state[NUMBERS],
                                   double slope[NUMBERS])
{
    const double *restrict qx = sources[0], *restrict qy = sources[1], *restrict qz = sources[2];
    const double *restrict bx = sources[3], *restrict by = sources[4], *restrict bz = sources[5];
    const double x = state[0], y = state[1], z = state[2], ax = state[3], ay = state[4], az = state[5];
    double ux = 0, uy = 0, uz = 0, wx = 0, wy = 0, wz = 0;
#pragma omp simd reduction(+ : ux, uy, uz, wx, wy, wz)
    for (int64_t q = 0; q < count; q++) {
        double dx = x - qx[q], dy = y - qy[q], dz = z - qz[q], r2 = dx * dx + dy * dy + dz * dz;
        double inverse2 = 1 / (r2 + smoothing2), five = inverse2 * inverse2 * sqrt(inverse2);
        double near = (r2 + 2.5 * smoothing2) * five, far = 3 * (r2 + 3.5 * smoothing2) * five * inverse2;
        double cx = dy * bz[q] - dz * by[q], cy = dz * bx[q] - dx * bz[q], cz = dx * by[q] - dy * bx[q];
        double along = far * (ax * cx + ay * cy + az * cz);
        ux -= near * cx;
        uy -= near * cy;
        uz -= near * cz;
        wx += near * (ay * bz[q] - az * by[q]) + along * dx;
        wy += near * (az * bx[q] - ax * bz[q]) + along * dy;
        wz += near * (ax * by[q] - ay * bx[q]) + along * dz;
    }
    const double sums[NUMBERS] = {ux, uy, uz, wx, wy, wz};
    for (int c = 0; c < NUMBERS; c++)
        slope[c] = sums[c] / (4 * M_PI);
}

void vortex_slope(struct vortex *v, const double *state, double *slope)
{
    double start = MPI_Wtime();
    MPI_Allgatherv(state, (int)(NUMBERS * v->count), MPI_DOUBLE, v->gathered, v->counts, v->begins, MPI_DOUBLE, v->comm);
    v->exchange_seconds += MPI_Wtime() - start;
    for (int c = 0; c < NUMBERS; c++)
        for (int64_t q = 0; q < v->all; q++)
            v->sources[c][q] = v->gathered[NUMBERS * q + c];
    for (int64_t n = 0; n < v->count; n++)
        sum(v->sources, v->all, v->p.smoothing * v->p.smoothing, state + NUMBERS * n, slope + NUMBERS * n);
}
