/* What both the evolution and the constraints need at eight points of a row at once: derivatives, connection, curvature.
 *
 * Names follow T. W. Baumgarte and S. L. Shapiro, Numerical Relativity (Cambridge 2010), chapter 11; what is conformal there, with
 * a tilde or bar, has the plain name here. Indices i, j are of the tensor that is made, k, l, m are summed over. */
#ifndef GEOMETRY_H
#define GEOMETRY_H

#include "relativity.h"

#include <math.h>
#include <string.h>

enum { POINTS = 8 };

/* A number at each of so many points: GCC and Clang calculate with it as with a number. */
typedef double real __attribute__((vector_size(POINTS * sizeof(double))));

#define INLINE static inline __attribute__((always_inline))
#ifndef __clang__
#pragma GCC diagnostic ignored "-Wpsabi" /* functions that take reals are all inlined */
#endif

#ifdef __clang__
#define UNROLL _Pragma("unroll")
#else
#define UNROLL _Pragma("GCC unroll 3")
#endif
#define EACH(i) UNROLL for (int i = 0; i < 3; i++)
#define EACH_FROM(j, i) UNROLL for (int j = i; j < 3; j++)

/* Number of a component of a symmetric tensor, and its indices. */
static const int ROW[6] = {0, 0, 0, 1, 1, 2}, COLUMN[6] = {0, 1, 2, 1, 2, 2};
static const int PAIR[3][3] = {{0, 1, 2}, {1, 3, 4}, {2, 4, 5}};

INLINE real load(const double *from)
{
    real r;
    memcpy(&r, from, sizeof r);
    return r;
}

INLINE void store(double *to, const real *r)
{
    memcpy(to, r, sizeof *r);
}

/* The same number everywhere. */
INLINE real all(double value)
{
    return value - (real){0};
}

INLINE real exponential(const real *x)
{
    real r;
    for (int p = 0; p < POINTS; p++)
        r[p] = exp((*x)[p]);
    return r;
}

/* Centred differences of fourth order; `s` is the distance in memory, 0 in a direction of one cell, where they are zero. */
INLINE real first(const double *f, ptrdiff_t s, double per_cell)
{
    return (8 * (load(f + s) - load(f - s)) - (load(f + 2 * s) - load(f - 2 * s))) * (per_cell / 12);
}

INLINE real second(const double *f, ptrdiff_t s, double per_cell)
{
    return (16 * (load(f + s) + load(f - s)) - (load(f + 2 * s) + load(f - 2 * s)) - 30 * load(f)) * (per_cell * per_cell / 12);
}

INLINE real mixed(const double *f, ptrdiff_t s, ptrdiff_t t, double per_cell)
{
    return (8 * (first(f + s, t, per_cell) - first(f - s, t, per_cell)) -
            (first(f + 2 * s, t, per_cell) - first(f - 2 * s, t, per_cell))) *
           (per_cell / 12);
}

/* The dissipation of Kreiss and Oliger, which is of fifth order in the cell. */
INLINE real smooth(const double *f, ptrdiff_t s, double per_cell)
{
    return (load(f + 3 * s) + load(f - 3 * s) - 6 * (load(f + 2 * s) + load(f - 2 * s)) + 15 * (load(f + s) + load(f - s)) -
            20 * load(f)) *
           (per_cell / 64);
}

INLINE void gradient(const double *f, const ptrdiff_t s[3], double per_cell, real d[3])
{
    EACH(i) d[i] = first(f, s[i], per_cell);
}

INLINE void hessian(const double *f, const ptrdiff_t s[3], double per_cell, real dd[3][3])
{
    EACH(i) dd[i][i] = second(f, s[i], per_cell);
    dd[0][1] = dd[1][0] = mixed(f, s[0], s[1], per_cell);
    dd[0][2] = dd[2][0] = mixed(f, s[0], s[2], per_cell);
    dd[1][2] = dd[2][1] = mixed(f, s[1], s[2], per_cell);
}

INLINE void symmetric(double *const *field, ptrdiff_t at, real t[3][3])
{
    EACH(i) EACH_FROM(j, i) t[i][j] = t[j][i] = load(field[PAIR[i][j]] + at);
}

/* The inverse of a metric, whose determinant is 1 but for rounding. */
INLINE void invert(real g[3][3], real up[3][3])
{
    up[0][0] = g[1][1] * g[2][2] - g[1][2] * g[1][2];
    up[0][1] = up[1][0] = g[0][2] * g[1][2] - g[0][1] * g[2][2];
    up[0][2] = up[2][0] = g[0][1] * g[1][2] - g[0][2] * g[1][1];
    up[1][1] = g[0][0] * g[2][2] - g[0][2] * g[0][2];
    up[1][2] = up[2][1] = g[0][1] * g[0][2] - g[0][0] * g[1][2];
    up[2][2] = g[0][0] * g[1][1] - g[0][1] * g[0][1];
    real one = 1 / (g[0][0] * up[0][0] + g[0][1] * up[0][1] + g[0][2] * up[0][2]);
    EACH(i) EACH(j) up[i][j] *= one;
}

/* Sum over both indices of two tensors, the first of which has upper ones. */
INLINE real trace(real up[3][3], real t[3][3])
{
    real sum = all(0);
    EACH(k) EACH(l) sum += up[k][l] * t[k][l];
    return sum;
}

struct geometry {
    ptrdiff_t s[3];          /* distances in memory */
    double per_cell;
    real g[3][3], up[3][3];  /* metric */
    real dg[3][3][3];        /* [k]: its derivative in k */
    real low[3][3][3];       /* [k][i][j]: Christoffel symbol, all indices below */
    real high[3][3][3];      /* [k][i][j]: its first above */
    real connection[3];      /* the variable Gamma^i */
    real phi, dphi[3], ddphi[3][3];
    real ricci[3][3];        /* of the physical metric */
};

/* Second covariant derivatives of a scalar. */
INLINE void covariant(struct geometry *e, const real d[3], real dd[3][3])
{
    EACH(i) EACH_FROM(j, i)
    {
        EACH(k) dd[i][j] -= e->high[k][i][j] * d[k];
        dd[j][i] = dd[i][j];
    }
}

/* geometry.c: everything at eight points, of the variables `u`. */
void geometry_at(const struct spacetime *s, double *const *u, ptrdiff_t at, struct geometry *e);

#endif
