/* Checkpoints: the conserved variables of each cell. */
#include "hydro.h"

#include <stdlib.h>
#include <string.h>

struct head {
    struct problem p;
    double time;
    int64_t step;
};

int hydro_write(const struct app *app, const struct hydro *h)
{
    struct head head;
    memset(&head, 0, sizeof head);
    head.p = h->p;
    head.time = h->time;
    head.step = h->step;
    return grid_write(&h->g, app, &head, sizeof head, h->u, VARIABLES);
}

/* Returns whether the records are gas: every cell once, with mass and energy. */
static int take(void *with, const void *records, int64_t count)
{
    struct hydro *h = with;
    const struct grid *g = &h->g;
    int good = grid_take_fields(g, records, count, h->u, VARIABLES);
    for (int i = 0; i < g->size[0]; i++)
        for (int j = 0; j < g->size[1]; j++)
            for (int k = 0; k < g->size[2]; k++)
                good = good && h->u[DENSITY][grid_at(g, i, j, k)] > 0 && h->u[ENERGY][grid_at(g, i, j, k)] > 0;
    return good;
}

int hydro_read(const struct app *app, struct hydro *h)
{
    struct head head;
    struct app_state state = {&head, sizeof head, NULL, GRID_RECORD(VARIABLES), 0};
    int status = app_checkpoint_read(app, MPI_COMM_WORLD, app->restart, &state);
    if (status == 0)
        status = hydro_refuse(app, &head.p);
    if (status == 0 && !hydro_split(h, MPI_COMM_WORLD, &head.p))
        status = grid_refuse(app, head.p.cells, app->ranks, GHOSTS);
    if (status == 0)
        status = grid_restore(&h->g, app, &state, 1, take, h, "its cells are not those of its box, or have no mass");
    free(state.records);
    if (status != 0)
        return status;
    h->time = head.time;
    h->step = head.step;
    hydro_exchange(h);
    return 0;
}
