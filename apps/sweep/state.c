/* Checkpoints: the flux of each cell, and what broken faces take from the iteration before. */
#include "sweep.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { KINDS = 1 + BUNDLES * BUNDLE, NUMBERS = UNKNOWNS * GROUPS };

struct record {
    int64_t key; /* cell * KINDS, or face * KINDS + 1 + the ordinate's place in the bundles */
    double value[NUMBERS];
};

struct head {
    struct problem p;
    int64_t iteration;
    double change;
};

static int is_down_own(const struct sweep *s, int b, int ordinate, int face)
{
    const struct face *f = &s->mesh.face[face];
    return s->owner[f->cell[ordinate_flow(&s->bundle[b], ordinate, f->normal) > 0]] == s->rank;
}

static void put(struct record *to, int64_t key, const struct linear *from)
{
    to->key = key;
    memcpy(to->value, from, sizeof to->value);
}

/* Of a broken face. */
static struct record *put_before(const struct sweep *s, int b, int n, struct record *to)
{
    const struct broken *broken = &s->breaks[b].broken[n];
    for (int o = 0; o < BUNDLE; o++)
        if (broken->ordinates >> o & 1 && is_down_own(s, b, o, broken->face)) {
            struct linear before;
            for (int k = 0; k < UNKNOWNS; k++)
                for (int g = 0; g < GROUPS; g++)
                    before.u[k][g] = s->breaks[b].before[n].u[k][place_of(o, g)];
            put(to++, (int64_t)broken->face * KINDS + 1 + b * BUNDLE + o, &before);
        }
    return to;
}

int sweep_write(const struct app *app, const struct sweep *s)
{
    struct head head;
    memset(&head, 0, sizeof head);
    head.p = s->p;
    head.iteration = s->iteration;
    head.change = s->change;
    size_t room = (size_t)s->own;
    for (int b = 0; b < BUNDLES; b++)
        room += (size_t)s->breaks[b].count * BUNDLE;
    struct record *records = app_memory(room, sizeof *records), *to = records;
    for (int c = 0; c < s->mesh.cells; c++)
        if (s->owner[c] == s->rank)
            put(to++, (int64_t)c * KINDS, &s->flux[c]);
    for (int b = 0; b < BUNDLES; b++)
        for (int n = 0; n < s->breaks[b].count; n++)
            to = put_before(s, b, n, to);
    struct app_state state = {&head, sizeof head, records, sizeof *records, to - records};
    int status = app_checkpoint_write(app, s->comm, app->checkpoint, &state);
    free(records);
    return status;
}

/* Returns whether the record is of this mesh, and holds numbers. */
static int take_one(struct sweep *s, const struct record *r)
{
    int64_t number = r->key / KINDS, kind = r->key % KINDS;
    for (int v = 0; v < NUMBERS; v++)
        if (!isfinite(r->value[v]))
            return 0;
    if (r->key < 0 || number >= (kind == 0 ? s->mesh.cells : s->mesh.faces))
        return 0;
    if (kind == 0) {
        memcpy(&s->flux[number], r->value, sizeof r->value);
        s->present[0].there[number] = 1;
        return 1;
    }
    struct breaks *to = &s->breaks[(kind - 1) / BUNDLE];
    for (int n = 0; n < to->count; n++)
        if (to->broken[n].face == number) {
            for (int v = 0; v < NUMBERS; v++)
                to->before[n].u[v / GROUPS][place_of((kind - 1) % BUNDLE, v % GROUPS)] = r->value[v];
            return 1;
        }
    return 0;
}

/* All ranks' records come to all ranks in turn, as all have the whole mesh. Returns whether every cell was there. */
static int take(struct sweep *s, const struct app_state *state)
{
    int good = 1;
    for (int r = 0; r < s->ranks; r++) {
        int64_t count = state->count;
        MPI_Bcast(&count, 1, MPI_INT64_T, r, s->comm);
        struct record *records = r == s->rank ? state->records : app_memory((size_t)count, sizeof *records);
        for (int64_t at = 0; at < count; at += 1 << 20) {
            int64_t some = count - at < 1 << 20 ? count - at : 1 << 20;
            MPI_Bcast(records + at, (int)(some * (int64_t)sizeof *records), MPI_BYTE, r, s->comm);
        }
        for (int64_t k = 0; k < count && good; k++)
            good = take_one(s, &records[k]);
        if (r != s->rank)
            free(records);
    }
    for (int c = 0; c < s->mesh.cells; c++) {
        good = good && s->present[0].there[c];
        s->present[0].there[c] = 0;
    }
    return good;
}

int sweep_read(const struct app *app, struct sweep *s, int64_t metis)
{
    struct head head;
    struct app_state state = {&head, sizeof head, NULL, sizeof(struct record), 0};
    int status = app_checkpoint_read(app, MPI_COMM_WORLD, app->restart, &state);
    if (status == 0)
        status = sweep_refuse(app, &head.p);
    if (status == 0) {
        /* The parts are the run's, as their number is. */
        head.p.metis = metis;
        sweep_start(s, MPI_COMM_WORLD, &head.p);
        s->iteration = head.iteration;
        s->change = head.change;
        if (!take(s, &state))
            status = app_refuse(app, APP_FILE, "checkpoint %s: its cells are not those of its mesh, or hold no numbers", app->restart);
    }
    free(state.records);
    return status;
}
