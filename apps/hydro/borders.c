/* Ghosts: from neighbours, and at the ends of the box from the cells before them. */
#include "hydro.h"

/* Fills the ghosts at one end. A wall mirrors the gas, an open end goes on with the last cell. */
static void fill(struct hydro *h, int v, int d, int above)
{
    const struct grid *g = &h->g;
    int low[3] = {0, 0, 0}, high[3] = {g->size[0], g->size[1], g->size[2]}, mirrors = h->p.border[d] == REFLECTING;
    double sign = mirrors && v == MOMENTUM + d ? -1 : 1;
    low[d] = above ? g->size[d] : -GHOSTS;
    high[d] = low[d] + GHOSTS;
    for (int i = low[0]; i < high[0]; i++)
        for (int j = low[1]; j < high[1]; j++)
            for (int k = low[2]; k < high[2]; k++) {
                int from[3] = {i, j, k}, edge = above ? g->size[d] - 1 : 0;
                from[d] = mirrors ? 2 * edge + (above ? 1 : -1) - from[d] : edge;
                h->u[v][grid_at(g, i, j, k)] = sign * h->u[v][grid_at(g, from[0], from[1], from[2])];
            }
}

void hydro_exchange(struct hydro *h)
{
    double start = MPI_Wtime();
    grid_exchange(&h->g, h->u, VARIABLES, GHOSTS);
    for (int d = 0; d < 3; d++)
        for (int above = 0; above < 2; above++)
            for (int v = 0; v < VARIABLES && is_active(&h->p, d) && h->g.neighbour[d][above] == MPI_PROC_NULL; v++)
                fill(h, v, d, above);
    h->exchange_seconds += MPI_Wtime() - start;
}
