/* Steps in time by Runge and Kutta's method of fourth order, and what must not change. */
#include "vortex.h"

#include <math.h>
#include <string.h>

void vortex_step(struct vortex *v)
{
    static const double REACH[STAGES] = {0, 0.5, 0.5, 1}, WEIGHT[STAGES] = {1.0 / 6, 1.0 / 3, 1.0 / 3, 1.0 / 6};
    size_t numbers = NUMBERS * (size_t)v->count;
    for (int s = 0; s < STAGES; s++) {
        for (size_t n = 0; n < numbers; n++)
            v->trial[n] = v->now[n] + (s > 0 ? REACH[s] * v->p.dt * v->slope[s - 1][n] : 0);
        vortex_slope(v, v->trial, v->slope[s]);
    }
    for (size_t n = 0; n < numbers; n++)
        for (int s = 0; s < STAGES; s++)
            v->now[n] += WEIGHT[s] * v->p.dt * v->slope[s][n];
    v->step++;
}

struct invariants vortex_invariants(const struct vortex *v)
{
    enum { SUMS = 10 };
    double mine[SUMS] = {0}, all[SUMS];
    for (int64_t n = 0; n < v->count; n++) {
        const double *x = v->now + NUMBERS * n, *a = x + 3;
        double size = sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2]);
        for (int d = 0; d < 3; d++) {
            int u = (d + 1) % 3, w = (d + 2) % 3;
            mine[d] += a[d];
            mine[3 + d] += 0.5 * (x[u] * a[w] - x[w] * a[u]);
            mine[6 + d] += size * x[d];
        }
        mine[9] += size;
    }
    MPI_Allreduce(mine, all, SUMS, MPI_DOUBLE, MPI_SUM, v->comm);
    struct invariants i;
    memcpy(i.strength, all, sizeof i.strength);
    memcpy(i.impulse, all + 3, sizeof i.impulse);
    for (int d = 0; d < 3; d++)
        i.centre[d] = all[6 + d] / all[9];
    i.stretched = all[9];
    return i;
}
