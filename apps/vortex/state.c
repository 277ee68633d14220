/* Checkpoints: particles in their order. */
#include "vortex.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct head {
    struct problem p;
    int64_t step;
};

int vortex_write(const struct app *app, const struct vortex *v)
{
    struct head head;
    memset(&head, 0, sizeof head);
    head.p = v->p;
    head.step = v->step;
    struct app_state state = {&head, sizeof head, v->now, NUMBERS * sizeof *v->now, v->count};
    return app_checkpoint_write(app, v->comm, app->checkpoint, &state);
}

static int all_finite(const double *numbers, int64_t count)
{
    int good = 1;
    for (int64_t n = 0; n < count; n++)
        good = good && isfinite(numbers[n]);
    return good;
}

/* Ranks have the file's particles in order, but not in equal parts: all get all, and take theirs. */
static void deal(struct vortex *v, const double *records, int64_t count)
{
    int *counts = app_memory(2 * (size_t)v->ranks, sizeof *counts), *begins = counts + v->ranks, mine = (int)(NUMBERS * count);
    MPI_Allgather(&mine, 1, MPI_INT, counts, 1, MPI_INT, v->comm);
    begins[0] = 0;
    for (int r = 1; r < v->ranks; r++)
        begins[r] = begins[r - 1] + counts[r - 1];
    MPI_Allgatherv(records, mine, MPI_DOUBLE, v->gathered, counts, begins, MPI_DOUBLE, v->comm);
    memcpy(v->now, v->gathered + NUMBERS * v->first, NUMBERS * (size_t)v->count * sizeof *v->now);
    free(counts);
}

int vortex_read(const struct app *app, struct vortex *v)
{
    struct head head;
    struct app_state state = {&head, sizeof head, NULL, NUMBERS * sizeof(double), 0};
    int status = app_checkpoint_read(app, MPI_COMM_WORLD, app->restart, &state), good, all_good;
    if (status == 0)
        status = vortex_refuse(app, &head.p);
    if (status == 0) {
        int64_t all;
        MPI_Allreduce(&state.count, &all, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
        good = all == vortex_particles(&head.p) && all_finite(state.records, NUMBERS * state.count);
        MPI_Allreduce(&good, &all_good, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
        if (!all_good)
            status = app_refuse(app, APP_FILE, "checkpoint %s: its particles are not those of its rings", app->restart);
    }
    if (status == 0) {
        vortex_share(v, MPI_COMM_WORLD, &head.p);
        v->step = head.step;
        deal(v, state.records, state.count);
    }
    free(state.records);
    return status;
}
