/* Checkpoints: the conserved variables of each cell, with the field at its lower and at its upper faces, for those at the upper ends of
 * the box are no cell's lower ones. */
#include "mhd.h"

#include <stdlib.h>
#include <string.h>

enum { NUMBERS = VARIABLES + 3 };

struct head {
    struct problem p;
    double time;
    int64_t step;
};

static void numbers(const struct mhd *m, double *fields[NUMBERS])
{
    for (int v = 0; v < VARIABLES; v++)
        fields[v] = m->u[v];
    for (int d = 0; d < 3; d++)
        fields[VARIABLES + d] = m->u[FIELD + d] + m->up[d];
}

int mhd_write(const struct app *app, const struct mhd *m)
{
    struct head head;
    double *fields[NUMBERS];
    memset(&head, 0, sizeof head);
    head.p = m->p;
    head.time = m->time;
    head.step = m->step;
    numbers(m, fields);
    return grid_write(&m->g, app, &head, sizeof head, fields, NUMBERS);
}

/* Returns whether the records are gas: every cell once, with mass and energy. */
static int take(void *with, const void *records, int64_t count)
{
    struct mhd *m = with;
    const struct grid *g = &m->g;
    double *fields[NUMBERS];
    numbers(m, fields);
    int good = grid_take_fields(g, records, count, fields, NUMBERS);
    for (int i = 0; i < g->size[0]; i++)
        for (int j = 0; j < g->size[1]; j++)
            for (int k = 0; k < g->size[2]; k++)
                good = good && m->u[DENSITY][grid_at(g, i, j, k)] > 0 && m->u[ENERGY][grid_at(g, i, j, k)] > 0;
    return good;
}

int mhd_read(const struct app *app, struct mhd *m)
{
    struct head head;
    struct app_state state = {&head, sizeof head, NULL, GRID_RECORD(NUMBERS), 0};
    int status = app_checkpoint_read(app, MPI_COMM_WORLD, app->restart, &state);
    if (status == 0)
        status = mhd_refuse(app, &head.p);
    if (status == 0 && !mhd_split(m, MPI_COMM_WORLD, &head.p))
        status = grid_refuse(app, head.p.cells, app->ranks, GHOSTS);
    if (status == 0)
        status = grid_restore(&m->g, app, &state, 1, take, m, "its cells are not those of its box, or have no mass");
    free(state.records);
    if (status != 0)
        return status;
    m->time = head.time;
    m->step = head.step;
    mhd_exchange(m);
    return 0;
}
