/* Connection and curvature of the metric. */
#include "geometry.h"

/* Gamma_kij = (d_j g_ki + d_i g_kj - d_k g_ij) / 2. */
INLINE void christoffel(struct geometry *e)
{
    for (int k = 0; k < 3; k++)
        EACH(i) EACH_FROM(j, i) e->low[k][i][j] = e->low[k][j][i] = 0.5 * (e->dg[j][k][i] + e->dg[i][k][j] - e->dg[k][i][j]);
    for (int k = 0; k < 3; k++)
        EACH(i) EACH_FROM(j, i)
        {
            real sum = all(0);
            EACH(l) sum += e->up[k][l] * e->low[l][i][j];
            e->high[k][i][j] = e->high[k][j][i] = sum;
        }
}

/* The conformal metric's Ricci tensor: second derivatives appear as those of a wave equation, which is what
 * the variable Gamma^i is for. */
FOR_EACH_PROCESSOR static void conformal_ricci(struct geometry *e, double *const *u, ptrdiff_t at)
{
    real dc[3][3];        /* [j][k]: derivative in j of Gamma^k */
    real raised[3][3][3]; /* [j][k][l]: Gamma_jk with a third index above */
    EACH(k) EACH(j) dc[j][k] = first(u[CONNECTION + k] + at, e->s[j], e->per_cell);
    for (int j = 0; j < 3; j++)
        EACH(k) EACH(l)
        {
            raised[j][k][l] = all(0);
            EACH(m) raised[j][k][l] += e->up[l][m] * e->low[j][k][m];
        }
    /* One text for all components: six would take the compiler minutes. */
    for (int p = 0; p < 6; p++) {
        int i = ROW[p], j = COLUMN[p];
        real dd[3][3], sum;
        hessian(u[METRIC + p] + at, e->s, e->per_cell, dd);
        sum = -0.5 * trace(e->up, dd);
        EACH(k) sum += 0.5 * (e->g[k][i] * dc[j][k] + e->g[k][j] * dc[i][k] + e->connection[k] * (e->low[i][j][k] + e->low[j][i][k]));
        EACH(k) EACH(l)
            sum += e->high[k][l][i] * raised[j][k][l] + e->high[k][l][j] * raised[i][k][l] + e->high[k][i][l] * raised[k][j][l];
        e->ricci[i][j] = e->ricci[j][i] = sum;
    }
}

/* What the conformal factor adds to it. */
INLINE void factor_ricci(struct geometry *e)
{
    real outer[3][3];
    EACH(i) EACH(j) outer[i][j] = e->dphi[i] * e->dphi[j];
    real laplacian = trace(e->up, e->ddphi), square = trace(e->up, outer);
    EACH(i) EACH(j) e->ricci[i][j] += 4 * outer[i][j] - 2 * e->ddphi[i][j] - e->g[i][j] * (2 * laplacian + 4 * square);
}

FOR_EACH_PROCESSOR void geometry_at(const struct spacetime *s, double *const *u, ptrdiff_t at, struct geometry *e)
{
    const ptrdiff_t distance[3] = {s->g.plane, s->g.row, 1};
    e->per_cell = 1 / s->cell;
    EACH(d) e->s[d] = s->g.n[d] > 1 ? distance[d] : 0;
    symmetric(u + METRIC, at, e->g);
    invert(e->g, e->up);
    for (int p = 0; p < 6; p++)
        EACH(k) e->dg[k][ROW[p]][COLUMN[p]] = e->dg[k][COLUMN[p]][ROW[p]] = first(u[METRIC + p] + at, e->s[k], e->per_cell);
    EACH(i) e->connection[i] = load(u[CONNECTION + i] + at);
    christoffel(e);
    conformal_ricci(e, u, at);
    e->phi = load(u[PHI] + at);
    gradient(u[PHI] + at, e->s, e->per_cell, e->dphi);
    hessian(u[PHI] + at, e->s, e->per_cell, e->ddphi);
    covariant(e, e->dphi, e->ddphi);
    factor_ricci(e);
}
