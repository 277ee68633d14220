/* Checkpoints: the conserved variables of each cell. */
#include "hydro.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct record {
    int64_t cell;
    double u[VARIABLES];
};

struct head {
    struct problem p;
    double time;
    int64_t step;
};

int hydro_write(const struct app *app, const struct hydro *h)
{
    const struct grid *g = &h->g;
    struct head head;
    memset(&head, 0, sizeof head);
    head.p = h->p;
    head.time = h->time;
    head.step = h->step;
    struct record *records = app_memory((size_t)g->size[0] * (size_t)g->size[1] * (size_t)g->size[2], sizeof *records), *to = records;
    for (int i = 0; i < g->size[0]; i++)
        for (int j = 0; j < g->size[1]; j++)
            for (int k = 0; k < g->size[2]; k++, to++) {
                to->cell = grid_number(g, i, j, k);
                for (int v = 0; v < VARIABLES; v++)
                    to->u[v] = h->u[v][grid_at(g, i, j, k)];
            }
    struct app_state state = {&head, sizeof head, records, sizeof *records, to - records};
    int status = app_checkpoint_write(app, g->comm, app->checkpoint, &state);
    free(records);
    return status;
}

/* Returns whether the records are gas: every cell once, with mass and energy. */
static int take(struct hydro *h, const struct record *records, int64_t count)
{
    const struct grid *g = &h->g;
    int good = count == (int64_t)g->size[0] * g->size[1] * g->size[2];
    for (int64_t r = 0; r < count && good; r++) {
        int cell[3];
        grid_cell(g, records[r].cell, cell);
        good = records[r].u[DENSITY] > 0 && records[r].u[ENERGY] > 0;
        for (int v = 0; v < VARIABLES; v++)
            h->u[v][grid_at(g, cell[0], cell[1], cell[2])] = records[r].u[v];
    }
    return good;
}

int hydro_read(const struct app *app, struct hydro *h)
{
    struct head head;
    struct app_state state = {&head, sizeof head, NULL, sizeof(struct record), 0};
    int status = app_checkpoint_read(app, MPI_COMM_WORLD, app->restart, &state), good, all;
    if (status == 0)
        status = hydro_refuse(app, &head.p);
    if (status == 0 && !hydro_split(h, MPI_COMM_WORLD, &head.p))
        status = grid_refuse(app, head.p.cells, app->ranks, GHOSTS);
    if (status != 0) {
        free(state.records);
        return status;
    }
    int64_t came = 0;
    struct record *records = grid_deal(&h->g, state.records, state.count, sizeof *records, 1, &came);
    good = records && take(h, records, came);
    free(records);
    free(state.records);
    MPI_Allreduce(&good, &all, 1, MPI_INT, MPI_LAND, h->g.comm);
    if (!all)
        return app_refuse(app, APP_FILE, "checkpoint %s: its cells are not those of its box, or have no mass", app->restart);
    h->time = head.time;
    h->step = head.step;
    hydro_exchange(h);
    return 0;
}
