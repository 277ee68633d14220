/* Ghosts: from neighbours, and at the open ends of the box from the last cells. */
#include "mhd.h"

/* Fills the ghosts at one end, those of other directions included. The faces at the very end are no ghosts. */
static void fill(struct mhd *m, int v, int d, int above)
{
    const struct grid *g = &m->g;
    int low[3], high[3], is_across = v == FIELD + d;
    for (int e = 0; e < 3; e++) {
        low[e] = -GHOSTS * m->reach[e];
        high[e] = g->size[e] + GHOSTS * m->reach[e];
    }
    int edge = above ? g->size[d] - 1 + is_across : 0;
    low[d] = above ? edge + 1 : -GHOSTS;
    high[d] = above ? g->size[d] + GHOSTS : 0;
    for (int i = low[0]; i < high[0]; i++)
        for (int j = low[1]; j < high[1]; j++)
            for (int k = low[2]; k < high[2]; k++) {
                int from[3] = {i, j, k};
                from[d] = edge;
                m->u[v][grid_at(g, i, j, k)] = m->u[v][grid_at(g, from[0], from[1], from[2])];
            }
}

void mhd_exchange(struct mhd *m)
{
    double start = MPI_Wtime();
    grid_exchange(&m->g, m->u, VARIABLES, GHOSTS);
    for (int d = 0; d < 3; d++)
        for (int above = 0; above < 2; above++)
            for (int v = 0; v < VARIABLES && is_active(&m->p, d) && m->g.neighbour[d][above] == MPI_PROC_NULL; v++)
                fill(m, v, d, above);
    m->exchange_seconds += MPI_Wtime() - start;
}
