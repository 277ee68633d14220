/* The constraints: what of Einstein's equations holds at each time, and is only as true as the numbers are. */
#include "geometry.h"

/* H = R + 2/3 K^2 - A_ij A^ij and M_i = D^j A_ij + 6 A_i^j d_j phi - 2/3 d_i K. */
INLINE void constraints(const struct spacetime *s, ptrdiff_t at, real *hamiltonian, real momentum[3])
{
    struct geometry e;
    double *const *u = s->u;
    geometry_at(s, u, at, &e);
    real k = load(u[K] + at), a[3][3], da[3][3][3], dk[3], square = all(0);
    symmetric(u + CURVATURE, at, a);
    gradient(u[K] + at, e.s, e.per_cell, dk);
    EACH(i) EACH_FROM(j, i) EACH(l) da[l][i][j] = da[l][j][i] = first(u[CURVATURE + PAIR[i][j]] + at, e.s[l], e.per_cell);
    EACH(i) EACH(j) EACH(l) EACH(m) square += e.up[i][l] * e.up[j][m] * a[i][j] * a[l][m];
    real exponent = -4 * e.phi;
    *hamiltonian = exponential(&exponent) * trace(e.up, e.ricci) + 2 * k * k / 3 - square;
    EACH(i)
    {
        momentum[i] = -2 * dk[i] / 3;
        EACH(j) EACH(l)
        {
            real divergence = da[l][i][j] + 6 * a[i][j] * e.dphi[l];
            EACH(m) divergence -= e.high[m][l][i] * a[m][j] + e.high[m][l][j] * a[i][m];
            momentum[i] += e.up[j][l] * divergence;
        }
    }
}

static double larger(double a, double b)
{
    return fabs(b) > a || b != b ? fabs(b) : a; /* what is no number stays */
}

/* Largest values of a row. */
FOR_EACH_PROCESSOR static void look(const struct spacetime *s, ptrdiff_t at, int count, double most[4])
{
    for (int k = 0; k < count; k += POINTS) {
        real hamiltonian, momentum[3];
        constraints(s, at + k, &hamiltonian, momentum);
        for (int p = 0; p < POINTS && k + p < count; p++) {
            most[0] = larger(most[0], hamiltonian[p]);
            for (int i = 0; i < 3; i++)
                most[1] = larger(most[1], momentum[i][p]);
            most[2] = larger(most[2], s->u[LAPSE][at + k + p] - 1);
            most[3] = larger(most[3], s->u[K][at + k + p]);
        }
    }
}

struct norms relativity_norms(const struct spacetime *s)
{
    const struct grid *g = &s->g;
    double most[4] = {0, 0, 0, 0}, all_of[4];
    for (int i = 0; i < g->size[0]; i++)
        for (int j = 0; j < g->size[1]; j++)
            look(s, grid_at(g, i, j, 0), g->size[2], most);
    /* MPI does not say what is the larger of a number and none. */
    for (int m = 0; m < 4; m++)
        most[m] = most[m] == most[m] ? most[m] : INFINITY;
    MPI_Allreduce(most, all_of, 4, MPI_DOUBLE, MPI_MAX, g->comm);
    return (struct norms){all_of[0], all_of[1], all_of[2], all_of[3]};
}
