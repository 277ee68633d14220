/* Fluxes through faces: limited slopes of the primitive variables on both sides, and the approximate Riemann solver HLLC
 * (Toro, Spruce, Speares, Shock Waves 4, 1994) between. No branches, so that the compiler makes vectors of cells. */
#include "hydro.h"
#include "../common/slopes.h"

#include <math.h>

/* n: component of the velocity across the face; t and b: along it. */
INLINE void faces(const struct hydro *h, int n, int t, int b, ptrdiff_t s, ptrdiff_t at, int count, double *const flux[VARIABLES])
{
    /* Small is the cell to the power 3/2, in units of the density, the sound, the pressure. */
    const double gamma = h->p.gamma, inverse = 1 / (gamma - 1), small2 = h->cell * h->cell * h->cell;
    const double *restrict wr = h->w[0] + at, *restrict wn = h->w[n] + at, *restrict wt = h->w[t] + at;
    const double *restrict wb = h->w[b] + at, *restrict wp = h->w[PRESSURE] + at;
    double *restrict fr = flux[0], *restrict fn = flux[n], *restrict ft = flux[t], *restrict fb = flux[b], *restrict fe = flux[ENERGY];
#pragma omp simd
    for (int k = 0; k < count; k++) {
        double rl, rr, ul, ur, tl, tr, bl, br, pl, pr;
        double below = small2 * wr[k - s] * wr[k - s], here = small2 * wr[k] * wr[k];
        double sound2_below = small2 * gamma * wp[k - s] / wr[k - s], sound2 = small2 * gamma * wp[k] / wr[k];
        at_face(wr + k, s, below, here, &rl, &rr);
        at_face(wn + k, s, sound2_below, sound2, &ul, &ur);
        at_face(wt + k, s, sound2_below, sound2, &tl, &tr);
        at_face(wb + k, s, sound2_below, sound2, &bl, &br);
        at_face(wp + k, s, small2 * wp[k - s] * wp[k - s], small2 * wp[k] * wp[k], &pl, &pr);
        double cl = sqrt(gamma * pl / rl), cr = sqrt(gamma * pr / rr);
        double sl = least(ul - cl, ur - cr), sr = most(ul + cl, ur + cr);
        double ml = rl * (sl - ul), mr = rr * (sr - ur);
        double contact = (pr - pl + ml * ul - mr * ur) / (ml - mr);
        int from_left = contact >= 0;
        double r = from_left ? rl : rr, u = from_left ? ul : ur, v = from_left ? tl : tr, w = from_left ? bl : br;
        double p = from_left ? pl : pr, fast = from_left ? sl : sr;
        /* Beyond the fastest wave the flux is that of the undisturbed side. */
        double speed = from_left ? least(sl, 0) : most(sr, 0);
        double e = p * inverse + 0.5 * r * (u * u + v * v + w * w), m = r * (fast - u), rs = m / (fast - contact);
        double es = rs * (e / r + (contact - u) * (contact + p / m));
        fr[k] = r * u + speed * (rs - r);
        fn[k] = r * u * u + p + speed * (rs * contact - r * u);
        ft[k] = r * u * v + speed * (rs - r) * v;
        fb[k] = r * u * w + speed * (rs - r) * w;
        fe[k] = (e + p) * u + speed * (es - e);
    }
}

FOR_EACH_PROCESSOR static void faces_x(const struct hydro *h, ptrdiff_t at, int count, double *const flux[VARIABLES])
{
    faces(h, 1, 2, 3, h->g.plane, at, count, flux);
}

FOR_EACH_PROCESSOR static void faces_y(const struct hydro *h, ptrdiff_t at, int count, double *const flux[VARIABLES])
{
    faces(h, 2, 3, 1, h->g.row, at, count, flux);
}

FOR_EACH_PROCESSOR static void faces_z(const struct hydro *h, ptrdiff_t at, int count, double *const flux[VARIABLES])
{
    faces(h, 3, 1, 2, 1, at, count, flux);
}

void flux_row(const struct hydro *h, int d, ptrdiff_t at, int count, double *const flux[VARIABLES])
{
    if (d == 0)
        faces_x(h, at, count, flux);
    else if (d == 1)
        faces_y(h, at, count, flux);
    else
        faces_z(h, at, count, flux);
}
