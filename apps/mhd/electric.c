/* Constrained transport (C. R. Evans and J. F. Hawley, Astrophys. J. 332, 1988): the field at faces changes by the electric field
 * around them, so that what flows out of a cell stays nothing. The electric field along an edge is put together from the four faces and
 * the four cells around it, slopes taken from where the gas comes (T. A. Gardiner and J. M. Stone, J. Comput. Phys. 205, 2005). */
#include "mhd.h"

#include <math.h>

/* How much of the cell below a face counts: all where the gas comes from there. */
static inline double below(double mass)
{
    return mass > 0 ? 1 : mass < 0 ? 0 : 0.5;
}

/* Edges along direction e of a row of cells; p and q are how far the cells in the next two directions lie. */
FOR_EACH_PROCESSOR static void edge_row(const struct mhd *m, int e, ptrdiff_t p, ptrdiff_t q, ptrdiff_t at, int count)
{
    int dp = (e + 1) % 3, dq = (e + 2) % 3;
    const double *ep = m->face_e[dp][1] + at, *eq = m->face_e[dq][0] + at, *cell = m->cell_e[e] + at;
    const double *mp = m->mass[dp] + at, *mq = m->mass[dq] + at;
    double *to = m->edge_e[e] + at;
#pragma omp simd
    for (int k = 0; k < count; k++) {
        double here = cell[k], left = cell[k - p], down = cell[k - q], corner = cell[k - p - q];
        double wp = below(mp[k]), wp_down = below(mp[k - q]), wq = below(mq[k]), wq_left = below(mq[k - p]);
        double from_down = (1 - wp_down) * (eq[k] - down) + wp_down * (eq[k - p] - corner);
        double to_up = (1 - wp) * (here - eq[k]) + wp * (left - eq[k - p]);
        double from_left = (1 - wq_left) * (ep[k] - left) + wq_left * (ep[k - q] - corner);
        double to_right = (1 - wq) * (here - ep[k]) + wq * (down - ep[k - q]);
        to[k] = 0.25 * (((ep[k] + ep[k - q]) + (eq[k] + eq[k - p])) + ((from_down - to_up) + (from_left - to_right)));
    }
}

void electric_edges(struct mhd *m)
{
    const int *size = m->g.size;
    for (int e = 0; e < 3; e++) {
        ptrdiff_t p = m->up[(e + 1) % 3], q = m->up[(e + 2) % 3];
        for (int i = 0; i < size[0] + (e != 0 ? m->reach[0] : 0); i++)
            for (int j = 0; j < size[1] + (e != 1 ? m->reach[1] : 0); j++)
                edge_row(m, e, p, q, grid_at(&m->g, i, j, 0), size[2] + (e != 2 ? m->reach[2] : 0));
    }
}

FOR_EACH_PROCESSOR static void turn_row(const struct mhd *m, int d, double a, double b, double ratio, ptrdiff_t p, ptrdiff_t q, ptrdiff_t at,
                                        int count)
{
    const double *ep = m->edge_e[(d + 1) % 3] + at, *eq = m->edge_e[(d + 2) % 3] + at, *old = m->old[FIELD + d] + at;
    double *field = m->u[FIELD + d] + at;
#pragma omp simd
    for (int k = 0; k < count; k++)
        field[k] = a * old[k] + b * (field[k] - ratio * ((eq[k + p] - eq[k]) - (ep[k + q] - ep[k])));
}

/* The faces at the upper end of this rank's part, too: those at the box's end belong to nobody else. */
void electric_turn(struct mhd *m, double a, double b, double dt)
{
    const int *size = m->g.size;
    for (int d = 0; d < 3; d++) {
        ptrdiff_t p = m->up[(d + 1) % 3], q = m->up[(d + 2) % 3];
        for (int i = 0; i < size[0] + (d == 0 ? m->reach[0] : 0); i++)
            for (int j = 0; j < size[1] + (d == 1 ? m->reach[1] : 0); j++)
                turn_row(m, d, a, b, dt / m->cell, p, q, grid_at(&m->g, i, j, 0), size[2] + (d == 2 ? m->reach[2] : 0));
    }
}
