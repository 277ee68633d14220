/* Checkpoints: all variables of each cell. */
#include "relativity.h"

#include <stdlib.h>
#include <string.h>

struct head {
    struct problem p;
    int64_t step;
};

int relativity_write(const struct app *app, const struct spacetime *s)
{
    struct head head;
    memset(&head, 0, sizeof head);
    head.p = s->p;
    head.step = s->step;
    return grid_write(&s->g, app, &head, sizeof head, s->u, VARIABLES);
}

/* Returns whether every cell is there once, with numbers, and time goes on there. */
static int take(void *with, const void *records, int64_t count)
{
    struct spacetime *s = with;
    const struct grid *g = &s->g;
    int good = grid_take_fields(g, records, count, s->u, VARIABLES);
    for (int i = 0; i < g->size[0]; i++)
        for (int j = 0; j < g->size[1]; j++)
            for (int k = 0; k < g->size[2]; k++)
                good = good && s->u[LAPSE][grid_at(g, i, j, k)] > 0;
    return good;
}

int relativity_read(const struct app *app, struct spacetime *s)
{
    struct head head;
    struct app_state state = {&head, sizeof head, NULL, GRID_RECORD(VARIABLES), 0};
    int status = app_checkpoint_read(app, MPI_COMM_WORLD, app->restart, &state);
    if (status == 0)
        status = relativity_refuse(app, &head.p);
    if (status == 0 && !relativity_split(s, MPI_COMM_WORLD, &head.p))
        status = grid_refuse(app, head.p.cells, app->ranks, GHOSTS);
    if (status == 0)
        status = grid_restore(&s->g, app, &state, 1, take, s, "its cells are not those of its box, or have no positive lapse");
    free(state.records);
    if (status != 0)
        return status;
    s->step = head.step;
    relativity_exchange(s, s->u);
    return 0;
}
