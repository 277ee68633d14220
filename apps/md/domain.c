/* Which rank owns which part of the box, and atoms on their way to it. */
#include "md.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The split with the least surface whose boxes are thick enough for one layer of ghosts. */
static int choose_dims(struct md *md)
{
    double best = INFINITY, thick = md->p.cutoff + md->p.skin;
    for (int a = 1; a <= md->ranks; a++) {
        if (md->ranks % a != 0)
            continue;
        for (int b = 1; b <= md->ranks / a; b++) {
            if (md->ranks / a % b != 0)
                continue;
            int c = md->ranks / a / b;
            double side[3] = {md->box[0] / a, md->box[1] / b, md->box[2] / c};
            double surface = side[0] * side[1] + side[1] * side[2] + side[2] * side[0];
            if (surface < best && side[0] >= thick && side[1] >= thick && side[2] >= thick) {
                best = surface;
                md->dims[0] = a, md->dims[1] = b, md->dims[2] = c;
            }
        }
    }
    return isfinite(best);
}

static int rank_at(const struct md *md, const int at[3])
{
    return (at[0] * md->dims[1] + at[1]) * md->dims[2] + at[2];
}

static void find_neighbours(struct md *md)
{
    for (int s = 0; s < SWAPS; s++) {
        int d = s / 2, step = s % 2 ? 1 : -1, size = md->dims[d];
        int to[3], from[3];
        memcpy(to, md->at, sizeof to);
        memcpy(from, md->at, sizeof from);
        to[d] = (md->at[d] + step + size) % size;
        from[d] = (md->at[d] - step + size) % size;
        md->swaps[s].to = rank_at(md, to);
        md->swaps[s].from = rank_at(md, from);
        int at_border = step < 0 ? md->at[d] == 0 : md->at[d] == size - 1;
        md->swaps[s].shift = at_border ? -step * md->box[d] : 0;
    }
}

int md_split(struct md *md, MPI_Comm comm, const struct problem *p)
{
    memset(md, 0, sizeof *md);
    md->p = *p;
    md->comm = comm;
    MPI_Comm_rank(comm, &md->rank);
    MPI_Comm_size(comm, &md->ranks);
    double side = pow(4 / p->density, 1.0 / 3);
    md->total = 4 * p->cells[0] * p->cells[1] * p->cells[2];
    for (int d = 0; d < 3; d++)
        md->box[d] = (double)p->cells[d] * side;
    if (!choose_dims(md))
        return 0;
    md->at[0] = md->rank / (md->dims[1] * md->dims[2]);
    md->at[1] = md->rank / md->dims[2] % md->dims[1];
    md->at[2] = md->rank % md->dims[2];
    for (int d = 0; d < 3; d++) {
        md->low[d] = md->box[d] * md->at[d] / md->dims[d];
        md->high[d] = md->box[d] * (md->at[d] + 1) / md->dims[d];
    }
    find_neighbours(md);
    return 1;
}

void md_free(struct md *md)
{
    void *all[] = {md->id, md->x, md->f, md->v, md->built, md->buffer, md->list, md->begin, md->pair};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
    for (int s = 0; s < SWAPS; s++)
        free(md->swaps[s].send);
    memset(md, 0, sizeof *md);
}

void md_room(struct md *md, int atoms)
{
    if (atoms <= md->capacity)
        return;
    size_t more = (size_t)atoms + (size_t)atoms / 4;
    md->id = app_more_memory(md->id, more, sizeof *md->id);
    md->x = app_more_memory(md->x, more * WIDE, sizeof *md->x);
    md->f = app_more_memory(md->f, more * WIDE, sizeof *md->f);
    md->v = app_more_memory(md->v, more * WIDE, sizeof *md->v);
    md->built = app_more_memory(md->built, more * WIDE, sizeof *md->built);
    md->begin = app_more_memory(md->begin, more + 1, sizeof *md->begin);
    md->capacity = (int)more;
}

/* Into the box, whatever the rounding. */
static double wrapped(double x, double size)
{
    x -= floor(x / size) * size;
    return x >= size || x < 0 ? 0 : x;
}

static int owner(const struct md *md, const double x[3])
{
    int at[3];
    for (int d = 0; d < 3; d++) {
        at[d] = (int)(x[d] / md->box[d] * md->dims[d]);
        /* The same comparison as everywhere else: low <= x < high. */
        while (at[d] > 0 && x[d] < md->box[d] * at[d] / md->dims[d])
            at[d]--;
        while (at[d] < md->dims[d] - 1 && x[d] >= md->box[d] * (at[d] + 1) / md->dims[d])
            at[d]++;
    }
    return rank_at(md, at);
}

struct sorted {
    int64_t cell, id;
    int atom;
};

static int by_cell_and_id(const void *a, const void *b)
{
    const struct sorted *x = a, *y = b;
    if (x->cell != y->cell)
        return x->cell < y->cell ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

/* Takes over the atoms in an order that depends on nothing but where they are, so that a restarted
 * run adds its forces in the order of the first one. Neighbours in space are neighbours in memory. */
static void take_over(struct md *md, const struct atom *atoms, int count)
{
    const double grain = 0.5 * (md->p.cutoff + md->p.skin);
    struct sorted *order = app_memory((size_t)count, sizeof *order);
    for (int i = 0; i < count; i++) {
        int64_t cell = 0;
        for (int d = 0; d < 3; d++)
            cell = cell << 20 | (int64_t)((atoms[i].x[d] - md->low[d]) / grain);
        order[i] = (struct sorted){cell, atoms[i].id, i};
    }
    qsort(order, (size_t)count, sizeof *order, by_cell_and_id);
    md_room(md, count);
    md->own = count;
    md->ghosts = 0;
    for (int i = 0; i < count; i++) {
        const struct atom *a = &atoms[order[i].atom];
        md->id[i] = a->id;
        for (int d = 0; d < 3; d++) {
            md->x[WIDE * i + d] = a->x[d];
            md->v[WIDE * i + d] = a->v[d];
        }
        md->x[WIDE * i + 3] = md->v[WIDE * i + 3] = 0;
    }
    free(order);
}

void md_distribute(struct md *md, const struct atom *atoms, int count)
{
    size_t ranks = (size_t)md->ranks;
    int *numbers = app_memory(4 * ranks, sizeof *numbers);
    int *counts = numbers, *from = counts + ranks, *begins = from + ranks, *places = begins + ranks;
    int *to = app_memory((size_t)count, sizeof *to);
    struct atom *out = app_memory((size_t)count, sizeof *out);
    memset(counts, 0, ranks * sizeof *counts);
    for (int i = 0; i < count; i++) {
        double x[3];
        for (int d = 0; d < 3; d++)
            x[d] = wrapped(atoms[i].x[d], md->box[d]);
        to[i] = owner(md, x);
        counts[to[i]]++;
    }
    begins[0] = 0;
    for (size_t r = 1; r < ranks; r++)
        begins[r] = begins[r - 1] + counts[r - 1];
    memcpy(places, begins, ranks * sizeof *places);
    for (int i = 0; i < count; i++) {
        struct atom *a = &out[places[to[i]]++];
        *a = atoms[i];
        for (int d = 0; d < 3; d++)
            a->x[d] = wrapped(a->x[d], md->box[d]);
    }
    MPI_Alltoall(counts, 1, MPI_INT, from, 1, MPI_INT, md->comm);
    int came = from[0];
    places[0] = 0;
    for (size_t r = 1; r < ranks; r++) {
        places[r] = came;
        came += from[r];
    }
    struct atom *in = app_memory((size_t)came, sizeof *in);
    MPI_Datatype atom;
    MPI_Type_contiguous(sizeof *in, MPI_BYTE, &atom);
    MPI_Type_commit(&atom);
    MPI_Alltoallv(out, counts, begins, atom, in, from, places, atom, md->comm);
    MPI_Type_free(&atom);
    take_over(md, in, came);
    free(in);
    free(out);
    free(to);
    free(numbers);
}

struct atom *md_atoms(const struct md *md)
{
    struct atom *atoms = app_memory((size_t)md->own, sizeof *atoms);
    for (int i = 0; i < md->own; i++) {
        atoms[i].id = md->id[i];
        memcpy(atoms[i].x, &md->x[WIDE * i], sizeof atoms[i].x);
        memcpy(atoms[i].v, &md->v[WIDE * i], sizeof atoms[i].v);
    }
    return atoms;
}

void md_distribute_again(struct md *md)
{
    struct atom *atoms = md_atoms(md);
    md_distribute(md, atoms, md->own);
    free(atoms);
}
