/* Checkpoints: fields by cell, what absorbing layers remember by cell and direction, particles. */
#include "fdtd.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Kinds of records; between them MEMORY + d for the layers of direction d. */
enum { FIELDS = 0, MEMORY = 1, PARTICLE = 4, KINDS = 5, NUMBERS = 6 };

struct record {
    int64_t key; /* cell * KINDS + kind */
    double value[NUMBERS];
};

struct head {
    struct problem p;
    int64_t step;
};

static int is_own(const struct fdtd *f, int i, int j, int k)
{
    const int *size = f->g.size;
    return i >= 0 && j >= 0 && k >= 0 && i < size[0] && j < size[1] && k < size[2];
}

static struct record *put_fields(const struct fdtd *f, struct record *to)
{
    for (int i = 0; i < f->g.size[0]; i++)
        for (int j = 0; j < f->g.size[1]; j++)
            for (int k = 0; k < f->g.size[2]; k++, to++) {
                to->key = grid_number(&f->g, i, j, k) * KINDS + FIELDS;
                for (int c = 0; c < 3; c++) {
                    to->value[c] = f->e[c][grid_at(&f->g, i, j, k)];
                    to->value[3 + c] = f->h[c][grid_at(&f->g, i, j, k)];
                }
            }
    return to;
}

static struct record *put_memory(const struct fdtd *f, const struct layer *l, struct record *to)
{
    size_t psi = 0;
    for (int i = l->low[0]; i < l->high[0]; i++)
        for (int j = l->low[1]; j < l->high[1]; j++)
            for (int k = l->low[2]; k < l->high[2]; k++, psi++) {
                if (!is_own(f, i, j, k))
                    continue;
                to->key = grid_number(&f->g, i, j, k) * KINDS + MEMORY + l->d;
                for (int a = 0; a < NUMBERS; a++)
                    to->value[a] = a < 4 ? l->psi[a][psi] : 0;
                to++;
            }
    return to;
}

static struct record *put_particles(const struct fdtd *f, struct record *to)
{
    for (int64_t n = 0; n < f->count; n++, to++) {
        const struct particle *p = &f->particles[n];
        int cell[3];
        for (int d = 0; d < 3; d++)
            cell[d] = (int)floor(p->x[d]) - f->g.first[d];
        to->key = grid_number(&f->g, cell[0], cell[1], cell[2]) * KINDS + PARTICLE;
        memcpy(to->value, p->x, sizeof p->x);
        memcpy(to->value + 3, p->u, sizeof p->u);
    }
    return to;
}

int fdtd_write(const struct app *app, const struct fdtd *f)
{
    struct head head;
    memset(&head, 0, sizeof head);
    head.p = f->p;
    head.step = f->step;
    size_t room = (size_t)f->count;
    for (size_t cells = 1, d = 0; d < 3; d++) {
        cells *= (size_t)f->g.size[d];
        room += d == 2 ? cells * (f->p.layers > 0 ? 4 : 1) : 0;
    }
    struct record *records = app_memory(room, sizeof *records), *end = put_fields(f, records);
    for (int s = 0; s < f->layer_count; s++)
        end = put_memory(f, &f->layers[s], end);
    end = put_particles(f, end);
    struct app_state state = {&head, sizeof head, records, sizeof *records, end - records};
    int status = app_checkpoint_write(app, f->g.comm, app->checkpoint, &state);
    free(records);
    return status;
}

/* Into the layer that has the cell; returns whether there is one. */
static int take_memory(struct fdtd *f, int d, const int cell[3], const double *value)
{
    for (int s = 0; s < f->layer_count; s++) {
        struct layer *l = &f->layers[s];
        if (l->d != d || cell[d] < l->low[d] || cell[d] >= l->high[d])
            continue;
        size_t psi = (size_t)(cell[0] - l->low[0]);
        psi = psi * (size_t)(l->high[1] - l->low[1]) + (size_t)(cell[1] - l->low[1]);
        psi = psi * (size_t)(l->high[2] - l->low[2]) + (size_t)(cell[2] - l->low[2]);
        for (int a = 0; a < 4; a++)
            l->psi[a][psi] = value[a];
        return 1;
    }
    return 0;
}

/* Returns whether the particle is in its cell, which is an own one. */
static int take_particle(struct fdtd *f, const int cell[3], const double *value)
{
    struct particle *p = &f->particles[f->count];
    int good = f->p.kind == PLASMA;
    for (int d = 0; d < 3 && good; d++) {
        good = floor(value[d]) == f->g.first[d] + cell[d] && isfinite(value[3 + d]);
        p->x[d] = value[d];
        p->u[d] = value[3 + d];
    }
    f->count += good;
    return good;
}

static int take_one(struct fdtd *f, const struct record *r)
{
    int cell[3], kind = (int)(r->key % KINDS);
    grid_cell(&f->g, r->key / KINDS, cell);
    if (kind == PARTICLE)
        return take_particle(f, cell, r->value);
    if (kind >= MEMORY)
        return take_memory(f, kind - MEMORY, cell, r->value);
    for (int c = 0; c < 3; c++) {
        f->e[c][grid_at(&f->g, cell[0], cell[1], cell[2])] = r->value[c];
        f->h[c][grid_at(&f->g, cell[0], cell[1], cell[2])] = r->value[3 + c];
    }
    return 1;
}

static int take(void *with, const void *records, int64_t count)
{
    struct fdtd *f = with;
    const struct record *all = records;
    int good = 1;
    particles_room(f, count);
    for (int64_t r = 0; r < count && good; r++)
        good = take_one(f, &all[r]);
    return good;
}

int fdtd_read(const struct app *app, struct fdtd *f)
{
    struct head head;
    struct app_state state = {&head, sizeof head, NULL, sizeof(struct record), 0};
    int status = app_checkpoint_read(app, MPI_COMM_WORLD, app->restart, &state);
    if (status == 0)
        status = fdtd_refuse(app, &head.p);
    if (status == 0 && !fdtd_split(f, MPI_COMM_WORLD, &head.p))
        status = grid_refuse(app, head.p.cells, app->ranks, GHOSTS);
    if (status == 0)
        status = grid_restore(&f->g, app, &state, KINDS, take, f, "it has cells or particles outside of its box");
    free(state.records);
    if (status != 0)
        return status;
    f->step = head.step;
    grid_exchange(&f->g, f->h, 3, 1);
    layers_exchange(f);
    return 0;
}
