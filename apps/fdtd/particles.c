/* Electrons before a background of resting ions: their start, their way to other ranks, Gauss' law. */
#include "fdtd.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SORT_STEPS = 20 }; /* between sorts: neighbours in space should be neighbours in memory */

void particles_room(struct fdtd *f, int64_t count)
{
    if (count <= f->capacity)
        return;
    f->capacity = count + count / 4;
    f->particles = app_more_memory(f->particles, (size_t)f->capacity, sizeof *f->particles);
}

/* A number from 0 to 1 that belongs to a key (SplitMix64). */
static double uniform(uint64_t key)
{
    key += 0x9e3779b97f4a7c15u;
    key = (key ^ (key >> 30)) * 0xbf58476d1ce4e5b9u;
    key = (key ^ (key >> 27)) * 0x94d049bb133111ebu;
    return (double)((key ^ (key >> 31)) >> 11) * 0x1p-53 + 0x1p-54;
}

/* Two beams whose particles alternate across the direction x, with a sine on the velocity. */
static void begin_one(const struct fdtd *f, struct particle *p, uint64_t key, int beam)
{
    double speed = 1e-3 * sin(2 * M_PI * p->x[0] / f->p.wavelength);
    for (int d = 0; d < 3; d++) {
        double gauss = sqrt(-2 * log(uniform(8 * key + 2 * (uint64_t)d))) * cos(2 * M_PI * uniform(8 * key + 2 * (uint64_t)d + 1));
        p->u[d] = f->p.thermal * gauss + (d == 0 ? speed + (beam ? -1 : 1) * f->p.drift : 0);
    }
}

void particles_start(struct fdtd *f)
{
    int m = (int)f->p.per_cell;
    int64_t n[3];
    for (int d = 0; d < 3; d++)
        n[d] = (int64_t)f->g.size[d] * m;
    particles_room(f, n[0] * n[1] * n[2]);
    for (int64_t i = 0; i < n[0]; i++)
        for (int64_t j = 0; j < n[1]; j++)
            for (int64_t k = 0; k < n[2]; k++) {
                int64_t at[3] = {i + (int64_t)f->g.first[0] * m, j + (int64_t)f->g.first[1] * m, k + (int64_t)f->g.first[2] * m};
                struct particle *p = &f->particles[f->count++];
                for (int d = 0; d < 3; d++)
                    p->x[d] = ((double)at[d] + 0.5) / m;
                begin_one(f, p, (uint64_t)((at[0] * f->p.cells[1] * m + at[1]) * f->p.cells[2] * m + at[2]),
                          (int)((at[1] + at[2]) % 2));
            }
}

/* Into the box, whatever the rounding. */
static double wrapped(double x, double size)
{
    x = x < 0 ? x + size : x;
    return x >= size ? x - size : x;
}

/* Takes out those that have left this rank's part in direction d; `out` has room for all. */
static void take_leavers(struct fdtd *f, int d, struct particle *out[2], int count[2])
{
    double low = f->g.first[d], high = low + f->g.size[d];
    int64_t stay = 0;
    count[0] = count[1] = 0;
    for (int64_t n = 0; n < f->count; n++) {
        struct particle *p = &f->particles[n];
        int side = p->x[d] >= low;
        p->x[d] = wrapped(p->x[d], f->g.n[d]);
        if (p->x[d] >= low && p->x[d] < high)
            f->particles[stay++] = *p;
        else
            out[side][count[side]++] = *p;
    }
    f->count = stay;
}

static void send_leavers(struct fdtd *f, int d)
{
    int count[2], from[2];
    struct particle *memory = app_memory(2 * (size_t)f->count, sizeof *memory), *out[2] = {memory, memory + f->count};
    MPI_Request requests[4];
    take_leavers(f, d, out, count);
    for (int side = 0; side < 2; side++)
        MPI_Sendrecv(&count[side], 1, MPI_INT, f->g.neighbour[d][side], side, &from[1 - side], 1, MPI_INT,
                     f->g.neighbour[d][1 - side], side, f->g.comm, MPI_STATUS_IGNORE);
    particles_room(f, f->count + from[0] + from[1]);
    for (int side = 0; side < 2; side++) {
        int size = sizeof(struct particle);
        MPI_Irecv(f->particles + f->count, from[side] * size, MPI_BYTE, f->g.neighbour[d][side], side, f->g.comm, &requests[side]);
        MPI_Isend(out[side], count[side] * size, MPI_BYTE, f->g.neighbour[d][side], 1 - side, f->g.comm, &requests[2 + side]);
        f->count += from[side];
    }
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    free(memory);
}

static size_t cell_of(const struct fdtd *f, const struct particle *p)
{
    size_t cell = 0;
    for (int d = 0; d < 3; d++)
        cell = cell * (size_t)f->g.size[d] + (size_t)(p->x[d] - f->g.first[d]);
    return cell;
}

static void sort(struct fdtd *f)
{
    size_t cells = (size_t)f->g.size[0] * (size_t)f->g.size[1] * (size_t)f->g.size[2];
    int64_t *begin = app_memory(cells + 1, sizeof *begin);
    struct particle *sorted = app_memory((size_t)f->capacity, sizeof *sorted);
    memset(begin, 0, (cells + 1) * sizeof *begin);
    for (int64_t n = 0; n < f->count; n++)
        begin[cell_of(f, &f->particles[n]) + 1]++;
    for (size_t c = 0; c < cells; c++)
        begin[c + 1] += begin[c];
    for (int64_t n = 0; n < f->count; n++)
        sorted[begin[cell_of(f, &f->particles[n])]++] = f->particles[n];
    free(begin);
    free(f->particles);
    f->particles = sorted;
}

void particles_settle(struct fdtd *f)
{
    double start = MPI_Wtime();
    for (int d = 0; d < 3; d++)
        send_leavers(f, d);
    if (f->step % SORT_STEPS == 0)
        sort(f);
    f->particle_seconds += MPI_Wtime() - start;
}

/* The charge of all particles at nodes. */
static void fill_density(struct fdtd *f, double *density)
{
    for (int64_t n = 0; n < f->count; n++) {
        int cell[3];
        double part[3];
        for (int d = 0; d < 3; d++) {
            double x = f->particles[n].x[d] - f->g.first[d];
            cell[d] = (int)floor(x);
            part[d] = x - cell[d];
        }
        for (int corner = 0; corner < 8; corner++) {
            int a = corner / 4, b = corner / 2 % 2, c = corner % 2;
            double weight = (a ? part[0] : 1 - part[0]) * (b ? part[1] : 1 - part[1]) * (c ? part[2] : 1 - part[2]);
            density[grid_at(&f->g, cell[0] + a, cell[1] + b, cell[2] + c)] += weight * f->charge;
        }
    }
    grid_add(&f->g, &density, 1, 1);
}

double particles_gauss(struct fdtd *f)
{
    const struct grid *g = &f->g;
    double *density = grid_field(g), background = f->p.frequency * f->p.frequency, worst = 0, all;
    fill_density(f, density);
    for (int i = 0; i < g->size[0]; i++)
        for (int j = 0; j < g->size[1]; j++)
            for (int k = 0; k < g->size[2]; k++) {
                ptrdiff_t at = grid_at(g, i, j, k);
                double divergence = f->e[0][at] - f->e[0][at - g->plane] + f->e[1][at] - f->e[1][at - g->row] +
                                    f->e[2][at] - f->e[2][at - 1];
                worst = fmax(worst, fabs(divergence - density[at] - background));
            }
    MPI_Allreduce(&worst, &all, 1, MPI_DOUBLE, MPI_MAX, g->comm);
    grid_field_free(g, density);
    return all / background;
}
