/* Limited slopes of cell values, for finite volumes on a grid. No branches, so that the compiler makes vectors of cells. */
#ifndef HPVM_APPS_SLOPES_H
#define HPVM_APPS_SLOPES_H

#include <math.h>
#include <stddef.h>

#define INLINE static inline __attribute__((always_inline))

INLINE double least(double a, double b)
{
    return a < b ? a : b;
}

INLINE double most(double a, double b)
{
    return a > b ? a : b;
}

/* The monotonised central slope (van Leer 1977), which makes no new extrema; where both differences are small it is the central
 * one, so that tops of smooth waves are not cut off. */
INLINE double limited(double below, double above, double small2)
{
    double middle = 0.5 * (below + above), size = least(least(2 * fabs(below), 2 * fabs(above)), fabs(middle));
    double slope = below * above > 0 ? copysign(size, middle) : 0;
    return most(below * below, above * above) < small2 ? middle : slope;
}

/* Values at the lower face of a cell, as its own slope and that of the cell below say. `small2` is the square of what is small in
 * either cell. */
INLINE void at_face(const double *w, ptrdiff_t s, double small2_left, double small2_right, double *left, double *right)
{
    double low = w[-s] - w[-2 * s], middle = w[0] - w[-s], high = w[s] - w[0];
    *left = w[-s] + 0.5 * limited(low, middle, small2_left);
    *right = w[0] - 0.5 * limited(middle, high, small2_right);
}

#endif
