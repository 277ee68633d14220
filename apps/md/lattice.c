/* The start of the benchmark: a face-centred cubic lattice, and the velocities that LAMMPS makes for
 * `velocity all create T SEED loop geom`, by the description in its manual: every atom draws three
 * numbers from a generator whose seed is a hash of the given seed and of the atom's coordinates, so
 * that they are the same on any number of ranks. Hash: Jenkins' one-at-a-time. Generator: Park and
 * Miller's minimal standard, the first five numbers left out. */
#include "md.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static uint32_t hash_bytes(uint32_t hash, const void *data, size_t size)
{
    const signed char *byte = data; /* signed where LAMMPS is built */
    for (size_t i = 0; i < size; i++) {
        hash += (uint32_t)byte[i];
        hash += hash << 10;
        hash ^= hash >> 6;
    }
    return hash;
}

static int64_t seed_at(int32_t seed, const double x[3])
{
    uint32_t hash = hash_bytes(hash_bytes(0, &seed, sizeof seed), x, 3 * sizeof *x);
    hash += hash << 3;
    hash ^= hash >> 11;
    hash += hash << 15;
    hash &= 0x7ffffff;
    return hash ? hash : 1;
}

static double park_miller(int64_t *state)
{
    const int64_t modulus = 2147483647;
    *state = *state * 16807 % modulus;
    return (1.0 / (double)modulus) * (double)*state;
}

static void draw_velocity(const struct md *md, const double x[3], double v[3])
{
    int64_t state = seed_at((int32_t)md->p.seed, x);
    for (int i = 0; i < 5; i++)
        park_miller(&state);
    for (int d = 0; d < 3; d++)
        v[d] = park_miller(&state) - 0.5;
}

/* Unit cells, from `first` to before `behind`, with atoms in this rank's box. */
static void cells_of(const struct md *md, int d, double side, int64_t *first, int64_t *behind)
{
    *first = (int64_t)(md->low[d] / side) - 1;
    *behind = (int64_t)(md->high[d] / side) + 2;
    if (*first < 0)
        *first = 0;
    if (*behind > md->p.cells[d])
        *behind = md->p.cells[d];
}

static int inside(const struct md *md, const double x[3])
{
    for (int d = 0; d < 3; d++)
        if (x[d] < md->low[d] || x[d] >= md->high[d])
            return 0;
    return 1;
}

static struct atom *make_lattice(const struct md *md, int *count)
{
    static const double basis[4][3] = {{0, 0, 0}, {.5, .5, 0}, {.5, 0, .5}, {0, .5, .5}};
    const double side = pow(4 / md->p.density, 1.0 / 3);
    int64_t first[3], behind[3];
    size_t most = 4;
    for (int d = 0; d < 3; d++) {
        cells_of(md, d, side, &first[d], &behind[d]);
        most *= (size_t)(behind[d] - first[d]);
    }
    struct atom *atoms = app_memory(most, sizeof *atoms);
    *count = 0;
    for (int64_t k = first[2]; k < behind[2]; k++)
        for (int64_t j = first[1]; j < behind[1]; j++)
            for (int64_t i = first[0]; i < behind[0]; i++)
                for (int b = 0; b < 4; b++) {
                    struct atom a = {.id = 4 * ((k * md->p.cells[1] + j) * md->p.cells[0] + i) + b + 1};
                    a.x[0] = ((double)i + basis[b][0]) * side;
                    a.x[1] = ((double)j + basis[b][1]) * side;
                    a.x[2] = ((double)k + basis[b][2]) * side;
                    if (!inside(md, a.x))
                        continue;
                    draw_velocity(md, a.x, a.v);
                    atoms[(*count)++] = a;
                }
    return atoms;
}

/* No momentum, and exactly the temperature that was asked for. */
static void set_temperature(struct md *md, struct atom *atoms, int count)
{
    double mine[4] = {0}, all[4];
    for (int i = 0; i < count; i++)
        for (int d = 0; d < 3; d++)
            mine[d] += atoms[i].v[d];
    MPI_Allreduce(mine, all, 3, MPI_DOUBLE, MPI_SUM, md->comm);
    for (int i = 0; i < count; i++)
        for (int d = 0; d < 3; d++) {
            atoms[i].v[d] -= all[d] / (double)md->total;
            mine[3] += atoms[i].v[d] * atoms[i].v[d];
        }
    MPI_Allreduce(&mine[3], &all[3], 1, MPI_DOUBLE, MPI_SUM, md->comm);
    double freedom = 3 * (double)md->total - 3;
    double factor = all[3] > 0 ? sqrt(md->p.temperature * freedom / all[3]) : 0;
    for (int i = 0; i < count; i++)
        for (int d = 0; d < 3; d++)
            atoms[i].v[d] *= factor;
}

void md_start(struct md *md)
{
    int count;
    struct atom *atoms = make_lattice(md, &count);
    set_temperature(md, atoms, count);
    md_distribute(md, atoms, count);
    free(atoms);
}
