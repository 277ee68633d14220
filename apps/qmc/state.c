/* Checkpoints: walkers in the order of their slots, and what has been measured. */
#include "qmc.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct record {
    double x[COORDINATES], weight;
};

struct head {
    struct problem p;
    int64_t step;
    struct averages a;
};

int qmc_write(const struct app *app, const struct qmc *q)
{
    struct head *head = app_memory(1, sizeof *head);
    struct record *records = app_memory((size_t)q->count, sizeof *records);
    memset(head, 0, sizeof *head);
    head->p = q->p;
    head->step = q->step;
    head->a = *q->a;
    for (int64_t n = 0; n < q->count; n++) {
        memcpy(records[n].x, q->walkers[n].x, sizeof records[n].x);
        records[n].weight = q->walkers[n].weight;
    }
    struct app_state state = {head, sizeof *head, records, sizeof *records, q->count};
    int status = app_checkpoint_write(app, q->comm, app->checkpoint, &state);
    free(records);
    free(head);
    return status;
}

/* The file's walkers, which this rank has from slot `first` on, to the ranks of their slots. */
static void deal(struct qmc *q, const struct record *records, int64_t count)
{
    int64_t before = 0;
    struct walker *walkers = app_memory((size_t)count, sizeof *walkers);
    int64_t *copies = app_memory((size_t)count, sizeof *copies);
    MPI_Exscan(&count, &before, 1, MPI_INT64_T, MPI_SUM, q->comm);
    before = q->rank == 0 ? 0 : before;
    for (int64_t n = 0; n < count; n++) {
        memcpy(walkers[n].x, records[n].x, sizeof records[n].x);
        walkers[n].weight = records[n].weight;
        wave_at(&q->p, &walkers[n]);
        copies[n] = 1;
    }
    walkers_send(q, walkers, copies, count, before);
    free(walkers);
    free(copies);
}

static int is_sound(const struct head *head, const struct record *records, int64_t count, int64_t all)
{
    int good = all == head->p.walkers && head->step >= 0 && head->a.blocks == head->step / head->p.block &&
               head->a.skipped >= 0 && head->a.skipped <= head->a.blocks && head->a.generations >= 0;
    for (int64_t n = 0; n < count; n++)
        for (int d = 0; d < COORDINATES; d++)
            good = good && isfinite(records[n].x[d]) && records[n].weight >= 0;
    return good;
}

int qmc_read(const struct app *app, struct qmc *q)
{
    struct head *head = app_memory(1, sizeof *head);
    struct app_state state = {head, sizeof *head, NULL, sizeof(struct record), 0};
    int status = app_checkpoint_read(app, MPI_COMM_WORLD, app->restart, &state), good, all_good;
    if (status == 0)
        status = qmc_refuse(app, &head->p);
    if (status == 0) {
        int64_t all;
        MPI_Allreduce(&state.count, &all, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
        good = is_sound(head, state.records, state.count, all);
        MPI_Allreduce(&good, &all_good, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
        if (!all_good)
            status = app_refuse(app, APP_FILE, "checkpoint %s: its walkers and its head do not belong together", app->restart);
    }
    if (status == 0) {
        walkers_share(q, MPI_COMM_WORLD, &head->p);
        *q->a = head->a;
        q->step = head->step;
        deal(q, state.records, state.count);
    }
    free(state.records);
    free(head);
    return status;
}
