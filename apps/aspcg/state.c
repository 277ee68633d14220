/* Checkpoints: velocities, what changed them last, and the pressure, which is the next step's first guess. */
#include "aspcg.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { VALUES = 5 };

struct record {
    int64_t cell;
    double value[VALUES];
};

struct head {
    struct problem p;
    int64_t step;
};

static double *field(const struct flow *f, int v)
{
    double *const all[VALUES] = {f->velocity[0], f->velocity[1], f->before[0], f->before[1], f->pressure};
    return all[v];
}

int flow_write(const struct app *app, const struct flow *f)
{
    const struct grid *g = &f->g;
    struct head head;
    memset(&head, 0, sizeof head);
    head.p = f->p;
    head.step = f->step;
    struct record *records = app_memory((size_t)g->size[Y] * (size_t)g->size[X], sizeof *records), *to = records;
    for (int y = 0; y < g->size[Y]; y++)
        for (int x = 0; x < g->size[X]; x++, to++) {
            to->cell = grid_number(g, 0, y, x);
            for (int v = 0; v < VALUES; v++)
                to->value[v] = field(f, v)[grid_at(g, 0, y, x)];
        }
    struct app_state state = {&head, sizeof head, records, sizeof *records, to - records};
    int status = app_checkpoint_write(app, g->comm, app->checkpoint, &state);
    free(records);
    return status;
}

/* Returns whether the records are as many as the cells, and numbers. */
static int take(struct flow *f, const struct record *records, int64_t count)
{
    const struct grid *g = &f->g;
    int good = count == (int64_t)g->size[Y] * g->size[X];
    for (int64_t r = 0; r < count && good; r++) {
        int cell[3];
        grid_cell(g, records[r].cell, cell);
        for (int v = 0; v < VALUES; v++) {
            good = good && isfinite(records[r].value[v]);
            field(f, v)[grid_at(g, 0, cell[Y], cell[X])] = records[r].value[v];
        }
    }
    return good;
}

int flow_read(const struct app *app, struct flow *f)
{
    struct head head;
    struct app_state state = {&head, sizeof head, NULL, sizeof(struct record), 0};
    int status = app_checkpoint_read(app, MPI_COMM_WORLD, app->restart, &state), good, all;
    if (status == 0)
        status = flow_refuse(app, &head.p);
    if (status == 0 && !flow_split(f, MPI_COMM_WORLD, &head.p))
        status = flow_refuse_ranks(app, &head.p, app->ranks);
    if (status != 0) {
        free(state.records);
        return status;
    }
    int64_t came = 0;
    struct record *records = grid_deal(&f->g, state.records, state.count, sizeof *records, 1, &came);
    good = records && take(f, records, came);
    free(records);
    free(state.records);
    MPI_Allreduce(&good, &all, 1, MPI_INT, MPI_LAND, f->g.comm);
    if (!all)
        return app_refuse(app, APP_FILE, "checkpoint %s: its cells are not those of its box, or hold no numbers", app->restart);
    f->step = head.step;
    f->time = (double)f->step * f->dt;
    flow_exchange(f);
    return 0;
}
