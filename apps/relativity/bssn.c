/* The right-hand sides of the BSSN equations (Baumgarte and Shapiro, section 11.5), without a shift and with harmonic
 * slicing. */
#include "geometry.h"

/* How all variables change in time. */
struct change {
    real phi, g[3][3], k, a[3][3], connection[3], lapse;
};

INLINE void traceless(struct geometry *e, real t[3][3])
{
    real third = trace(e->up, t) / 3;
    EACH(i) EACH(j) t[i][j] -= e->g[i][j] * third;
}

INLINE void raise(struct geometry *e, real t[3][3], real mixed[3][3], real up[3][3])
{
    EACH(i) EACH(j)
    {
        mixed[i][j] = all(0);
        EACH(k) mixed[i][j] += e->up[i][k] * t[k][j];
    }
    EACH(i) EACH(j)
    {
        up[i][j] = all(0);
        EACH(k) up[i][j] += mixed[i][k] * e->up[k][j];
    }
}

INLINE void evolve(const struct spacetime *s, double *const *u, ptrdiff_t at, struct change *change)
{
    struct geometry e;
    geometry_at(s, u, at, &e);
    real lapse = load(u[LAPSE] + at), k = load(u[K] + at), a[3][3], a_mixed[3][3], a_up[3][3];
    real dlapse[3], ddlapse[3][3], dk[3], exponent = -4 * e.phi, shrink = exponential(&exponent);
    symmetric(u + CURVATURE, at, a);
    raise(&e, a, a_mixed, a_up);
    gradient(u[K] + at, e.s, e.per_cell, dk);
    gradient(u[LAPSE] + at, e.s, e.per_cell, dlapse);
    hessian(u[LAPSE] + at, e.s, e.per_cell, ddlapse);
    covariant(&e, dlapse, ddlapse);
    real gradients = all(0);
    EACH(l) EACH(m) gradients += e.up[l][m] * e.dphi[l] * dlapse[m];

    change->phi = -lapse * k / 6;
    change->lapse = -lapse * lapse * k;
    EACH(i) EACH(j) change->g[i][j] = -2 * lapse * a[i][j];
    /* The physical metric's Laplacian of the lapse, D^2 alpha = e^-4phi (conformal one + 2 d phi . d alpha). */
    change->k = -shrink * (trace(e.up, ddlapse) + 2 * gradients) + lapse * (trace(a_up, a) + k * k / 3);
    real source[3][3];
    EACH(i) EACH(j) source[i][j] = lapse * e.ricci[i][j] - ddlapse[i][j] + 2 * (e.dphi[i] * dlapse[j] + e.dphi[j] * dlapse[i]);
    traceless(&e, source);
    EACH(i) EACH(j)
    {
        real square = all(0);
        EACH(l) square += a[i][l] * a_mixed[l][j];
        change->a[i][j] = shrink * source[i][j] + lapse * (k * a[i][j] - 2 * square);
    }
    EACH(i)
    {
        real sum = all(0);
        EACH(l) EACH(m) sum += e.high[i][l][m] * a_up[l][m];
        EACH(l) sum += 6 * a_up[i][l] * e.dphi[l] - (2.0 / 3) * e.up[i][l] * dk[l];
        change->connection[i] = 2 * lapse * sum;
        EACH(l) change->connection[i] -= 2 * a_up[i][l] * dlapse[l];
    }
}

INLINE real *component(struct change *c, int v)
{
    if (v == PHI)
        return &c->phi;
    if (v >= METRIC && v < METRIC + 6)
        return &c->g[ROW[v - METRIC]][COLUMN[v - METRIC]];
    if (v == K)
        return &c->k;
    if (v >= CURVATURE && v < CURVATURE + 6)
        return &c->a[ROW[v - CURVATURE]][COLUMN[v - CURVATURE]];
    return v == LAPSE ? &c->lapse : &c->connection[v - CONNECTION];
}

/* The determinant of the metric is 1 and the trace of the curvature 0; rounding and truncation must not add up. */
INLINE void constrain(double *const *u, ptrdiff_t at)
{
    real g[3][3], a[3][3], up[3][3];
    symmetric(u + METRIC, at, g);
    symmetric(u + CURVATURE, at, a);
    real det = g[0][0] * (g[1][1] * g[2][2] - g[1][2] * g[1][2]) - g[0][1] * (g[0][1] * g[2][2] - g[1][2] * g[0][2]) +
               g[0][2] * (g[0][1] * g[1][2] - g[1][1] * g[0][2]);
    real scale;
    for (int p = 0; p < POINTS; p++)
        scale[p] = 1 / cbrt(det[p]);
    EACH(i) EACH(j) g[i][j] *= scale;
    invert(g, up);
    real third = trace(up, a) / 3;
    EACH(i) EACH_FROM(j, i)
    {
        a[i][j] -= g[i][j] * third;
        store(u[METRIC + PAIR[i][j]] + at, &g[i][j]);
        store(u[CURVATURE + PAIR[i][j]] + at, &a[i][j]);
    }
}

/* Eight points may go beyond the end of a row, where its memory has room. */
FOR_EACH_PROCESSOR void bssn_row(const struct spacetime *s, const struct stage *stage, ptrdiff_t at, int count)
{
    const ptrdiff_t distance[3] = {s->g.n[0] > 1 ? s->g.plane : 0, s->g.n[1] > 1 ? s->g.row : 0, s->g.n[2] > 1 ? 1 : 0};
    for (ptrdiff_t here = at; here < at + count; here += POINTS) {
        struct change change;
        evolve(s, stage->now, here, &change);
#pragma GCC unroll 18
        for (int v = 0; v < VARIABLES; v++) {
            real rate = *component(&change, v);
            EACH(d) rate += s->p.dissipation * smooth(stage->now[v] + here, distance[d], 1 / s->cell);
            real sum = load(stage->from[v] + here) + stage->weight * rate, next = load(s->u[v] + here) + stage->part * rate;
            store(stage->sum[v] + here, &sum);
            if (stage->next)
                store(stage->next[v] + here, &next);
        }
        constrain(stage->next ? stage->next : stage->sum, here);
    }
}
