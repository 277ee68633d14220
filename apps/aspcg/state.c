/* Checkpoints: velocities, what changed them last, and the pressure, which is the next step's first guess. */
#include "aspcg.h"

#include <stdlib.h>
#include <string.h>

enum { FIELDS = 5 };

struct head {
    struct problem p;
    int64_t step;
};

static void fields_of(const struct flow *f, double *fields[FIELDS])
{
    double *const all[FIELDS] = {f->velocity[0], f->velocity[1], f->before[0], f->before[1], f->pressure};
    memcpy(fields, all, sizeof all);
}

int flow_write(const struct app *app, const struct flow *f)
{
    struct head head;
    double *fields[FIELDS];
    memset(&head, 0, sizeof head);
    head.p = f->p;
    head.step = f->step;
    fields_of(f, fields);
    return grid_write(&f->g, app, &head, sizeof head, fields, FIELDS);
}

static int take(void *with, const void *records, int64_t count)
{
    const struct flow *f = with;
    double *fields[FIELDS];
    fields_of(f, fields);
    return grid_take_fields(&f->g, records, count, fields, FIELDS);
}

int flow_read(const struct app *app, struct flow *f)
{
    struct head head;
    struct app_state state = {&head, sizeof head, NULL, GRID_RECORD(FIELDS), 0};
    int status = app_checkpoint_read(app, MPI_COMM_WORLD, app->restart, &state);
    if (status == 0)
        status = flow_refuse(app, &head.p);
    if (status == 0 && !flow_split(f, MPI_COMM_WORLD, &head.p))
        status = flow_refuse_ranks(app, &head.p, app->ranks);
    if (status == 0)
        status = grid_restore(&f->g, app, &state, 1, take, f, "its cells are not those of its box, or hold no numbers");
    free(state.records);
    if (status != 0)
        return status;
    f->step = head.step;
    f->time = (double)f->step * f->dt;
    flow_exchange(f);
    return 0;
}
