/* The neighbour list: every pair within cutoff and skin once, found with link cells half as wide. */
#include "md.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { REACH = 2, STENCIL = (2 * REACH + 1) * (2 * REACH + 1) * (2 * REACH + 1) };

struct cells {
    int size[3];
    double low[3], per_length[3];
    int *begin, *atoms; /* atoms of cell c: atoms[begin[c]] to atoms[begin[c + 1] - 1] */
    double *x;          /* their positions, in that order */
};

/* No nearer to the edge than `margin` cells: an atom at the border of its part may lie outside by a
 * rounding error, and an own atom needs its whole stencil. */
static int cell_of(const struct cells *cells, const double *x, int margin)
{
    int at[3];
    for (int d = 0; d < 3; d++) {
        int most = cells->size[d] - 1 - margin;
        at[d] = (int)((x[d] - cells->low[d]) * cells->per_length[d]);
        at[d] = at[d] < margin ? margin : at[d] > most ? most : at[d];
    }
    return (at[0] * cells->size[1] + at[1]) * cells->size[2] + at[2];
}

static void sort_into_cells(const struct md *md, struct cells *cells)
{
    double reach = md->p.cutoff + md->p.skin;
    int count = 1, atoms = md->own + md->ghosts;
    for (int d = 0; d < 3; d++) {
        /* Two cells of ghosts on either side, whole cells in the box: none narrower than reach / 2. */
        int inner = (int)((md->high[d] - md->low[d]) / (reach / REACH));
        double width = (md->high[d] - md->low[d]) / inner;
        cells->size[d] = inner + 2 * REACH;
        cells->low[d] = md->low[d] - REACH * width;
        cells->per_length[d] = 1 / width;
        count *= cells->size[d];
    }
    cells->begin = app_memory((size_t)count + 1, sizeof *cells->begin);
    cells->atoms = app_memory((size_t)atoms, sizeof *cells->atoms);
    cells->x = app_memory((size_t)atoms * WIDE, sizeof *cells->x);
    memset(cells->begin, 0, ((size_t)count + 1) * sizeof *cells->begin);
    int *cell = app_memory((size_t)atoms, sizeof *cell);
    for (int i = 0; i < atoms; i++) {
        cell[i] = cell_of(cells, &md->x[WIDE * i], i < md->own ? REACH : 0);
        cells->begin[cell[i] + 1]++;
    }
    for (int c = 0; c < count; c++)
        cells->begin[c + 1] += cells->begin[c];
    for (int i = atoms - 1; i >= 0; i--)
        cells->atoms[--cells->begin[cell[i] + 1]] = i;
    /* Each begin has moved one entry on: begin[c + 1] is now where cell c begins. */
    memmove(cells->begin, cells->begin + 1, (size_t)count * sizeof *cells->begin);
    cells->begin[count] = atoms;
    for (int k = 0; k < atoms; k++)
        memcpy(&cells->x[WIDE * k], &md->x[WIDE * cells->atoms[k]], WIDE * sizeof *cells->x);
    free(cell);
}

/* Offsets of the cells with atoms within reach, from the cell of an atom. */
static int make_stencil(const struct cells *cells, double reach, int stencil[STENCIL])
{
    int count = 0;
    for (int i = -REACH; i <= REACH; i++)
        for (int j = -REACH; j <= REACH; j++)
            for (int k = -REACH; k <= REACH; k++) {
                int at[3] = {i, j, k};
                double nearest = 0;
                for (int d = 0; d < 3; d++) {
                    double gap = abs(at[d]) > 1 ? (abs(at[d]) - 1) / cells->per_length[d] : 0;
                    nearest += gap * gap;
                }
                if (nearest < reach * reach)
                    stencil[count++] = (i * cells->size[1] + j) * cells->size[2] + k;
            }
    return count;
}

/* Of a pair that two ranks see, or one rank twice, one side keeps it: that of the atom which is lower
 * in z, then y, then x. Both sides compare the same numbers, because a shift by the box takes a
 * ghost out of the box. */
static int above(const double *ghost, const double *own)
{
    if (ghost[2] != own[2])
        return ghost[2] > own[2];
    if (ghost[1] != own[1])
        return ghost[1] > own[1];
    return ghost[0] > own[0];
}

/* Writes the neighbours of atom i; returns how many. There is room. */
static int neighbours(const struct md *md, const struct cells *cells, const int *stencil,
                      int stencil_size, int i, int *list)
{
    double reach = md->p.cutoff + md->p.skin, reach2 = reach * reach;
    const double *xi = &md->x[WIDE * i];
    int home = cell_of(cells, xi, REACH), count = 0, own = md->own;
    for (int s = 0; s < stencil_size; s++) {
        int cell = home + stencil[s], behind = cells->begin[cell + 1];
        for (int k = cells->begin[cell]; k < behind; k++) {
            const double *xj = &cells->x[WIDE * k];
            int j = cells->atoms[k];
            double dx = xi[0] - xj[0], dy = xi[1] - xj[1], dz = xi[2] - xj[2];
            int near = dx * dx + dy * dy + dz * dz < reach2;
            list[count] = j;
            count += near & (j > i) & ((j < own) || above(xj, xi));
        }
    }
    return count;
}

/* Most atoms that a list can have: all in the cells of the stencil. */
static size_t most_neighbours(const struct cells *cells)
{
    int fullest = 0, count = cells->size[0] * cells->size[1] * cells->size[2];
    for (int c = 0; c < count; c++) {
        int atoms = cells->begin[c + 1] - cells->begin[c];
        fullest = atoms > fullest ? atoms : fullest;
    }
    return (size_t)fullest * STENCIL + 1;
}

void md_list(struct md *md)
{
    struct cells cells;
    int stencil[STENCIL];
    double start = MPI_Wtime();
    sort_into_cells(md, &cells);
    int stencil_size = make_stencil(&cells, md->p.cutoff + md->p.skin, stencil);
    size_t most = most_neighbours(&cells);
    md->pair = app_more_memory(md->pair, 3 * most, sizeof *md->pair);
    md->begin[0] = 0;
    for (int i = 0; i < md->own; i++) {
        size_t used = (size_t)md->begin[i];
        if (used + most > md->list_capacity) {
            md->list_capacity = 2 * (used + most);
            md->list = app_more_memory(md->list, md->list_capacity, sizeof *md->list);
        }
        md->begin[i + 1] = md->begin[i] +
                           neighbours(md, &cells, stencil, stencil_size, i, md->list + used);
    }
    memcpy(md->built, md->x, (size_t)md->own * WIDE * sizeof *md->x);
    free(cells.begin);
    free(cells.atoms);
    free(cells.x);
    md->list_seconds += MPI_Wtime() - start;
}

double md_farthest(const struct md *md)
{
    double farthest = 0;
    for (int i = 0; i < md->own; i++) {
        double way = 0;
        for (int d = 0; d < 3; d++) {
            double step = md->x[WIDE * i + d] - md->built[WIDE * i + d];
            way += step * step;
        }
        if (!isfinite(way))
            return INFINITY;
        farthest = way > farthest ? way : farthest;
    }
    return sqrt(farthest);
}
