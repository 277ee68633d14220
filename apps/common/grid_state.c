/* Cells in checkpoints, and their way to the ranks that have them now. */
#include "grid.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Which of the parts of a direction has a cell. */
static int part_of(const struct grid *g, int d, int cell)
{
    int blocks = g->n[d] / g->block[d], share = blocks / g->dims[d], rest = blocks % g->dims[d];
    int block = cell / g->block[d], larger = rest * (share + 1);
    return block < larger ? block / (share + 1) : rest + (block - larger) / share;
}

void grid_cell(const struct grid *g, int64_t number, int cell[3])
{
    for (int d = 2; d >= 0; d--) {
        cell[d] = (int)(number % g->n[d]) - g->first[d];
        number /= g->n[d];
    }
}

static int owner(const struct grid *g, int64_t number)
{
    int cell[3], at[3];
    grid_cell(g, number, cell);
    for (int d = 0; d < 3; d++)
        at[d] = part_of(g, d, cell[d] + g->first[d]);
    return grid_rank(g, at);
}

static int64_t key_of(const void *records, int64_t r, size_t size)
{
    int64_t key;
    memcpy(&key, (const char *)records + (size_t)r * size, sizeof key);
    return key;
}

/* Whether all records of all ranks have cells of this box. */
static int all_inside(const struct grid *g, const void *records, int64_t count, size_t size, int64_t kinds)
{
    int64_t cells = (int64_t)g->n[0] * g->n[1] * g->n[2];
    int good = 1, all;
    for (int64_t r = 0; r < count; r++) {
        int64_t key = key_of(records, r, size);
        good = good && key >= 0 && key / kinds < cells;
    }
    MPI_Allreduce(&good, &all, 1, MPI_INT, MPI_LAND, g->comm);
    return all;
}

static void *deal(const struct grid *g, const void *records, int64_t count, size_t size, int64_t kinds, int64_t *came)
{
    if (!all_inside(g, records, count, size, kinds))
        return NULL;
    size_t ranks = (size_t)g->ranks;
    int *numbers = app_memory(5 * ranks, sizeof *numbers), *to = app_memory((size_t)count, sizeof *to);
    int *counts = numbers, *from = counts + ranks, *begins = from + ranks, *places = begins + ranks, *heads = places + ranks;
    char *out = app_memory((size_t)count, size);
    memset(counts, 0, ranks * sizeof *counts);
    for (int64_t r = 0; r < count; r++) {
        to[r] = owner(g, key_of(records, r, size) / kinds);
        counts[to[r]]++;
    }
    MPI_Alltoall(counts, 1, MPI_INT, from, 1, MPI_INT, g->comm);
    begins[0] = places[0] = 0;
    for (size_t r = 1; r < ranks; r++) {
        begins[r] = begins[r - 1] + counts[r - 1];
        places[r] = places[r - 1] + from[r - 1];
    }
    memcpy(heads, begins, ranks * sizeof *heads);
    for (int64_t r = 0; r < count; r++)
        memcpy(out + (size_t)heads[to[r]]++ * size, (const char *)records + (size_t)r * size, size);
    *came = (int64_t)places[ranks - 1] + from[ranks - 1];
    char *in = app_memory((size_t)*came, size);
    MPI_Datatype record;
    MPI_Type_contiguous((int)size, MPI_BYTE, &record);
    MPI_Type_commit(&record);
    MPI_Alltoallv(out, counts, begins, record, in, from, places, record, g->comm);
    MPI_Type_free(&record);
    free(out);
    free(to);
    free(numbers);
    return in;
}

int grid_restore(const struct grid *g, const struct app *app, const struct app_state *state, int64_t kinds, grid_take *take,
                 void *with, const char *wrong)
{
    int64_t came = 0;
    void *records = deal(g, state->records, state->count, state->record_size, kinds, &came);
    int good = records && take(with, records, came), all;
    free(records);
    MPI_Allreduce(&good, &all, 1, MPI_INT, MPI_LAND, g->comm);
    return all ? 0 : app_refuse(app, APP_FILE, "checkpoint %s: %s", app->restart, wrong);
}

int grid_write(const struct grid *g, const struct app *app, void *head, size_t head_size, double *const *fields, int count)
{
    size_t cells = (size_t)g->size[0] * (size_t)g->size[1] * (size_t)g->size[2], size = GRID_RECORD(count);
    char *records = app_memory(cells, size), *to = records;
    for (int i = 0; i < g->size[0]; i++)
        for (int j = 0; j < g->size[1]; j++)
            for (int k = 0; k < g->size[2]; k++) {
                int64_t number = grid_number(g, i, j, k);
                memcpy(to, &number, sizeof number);
                to += sizeof number;
                for (int f = 0; f < count; f++, to += sizeof(double))
                    memcpy(to, &fields[f][grid_at(g, i, j, k)], sizeof(double));
            }
    struct app_state state = {head, head_size, records, size, (int64_t)cells};
    int status = app_checkpoint_write(app, g->comm, app->checkpoint, &state);
    free(records);
    return status;
}

int grid_take_fields(const struct grid *g, const void *records, int64_t count, double *const *fields, int fields_count)
{
    const char *from = records;
    int good = count == (int64_t)g->size[0] * g->size[1] * g->size[2];
    for (int64_t r = 0; r < count && good; r++) {
        int64_t number;
        int cell[3];
        memcpy(&number, from, sizeof number);
        from += sizeof number;
        grid_cell(g, number, cell);
        for (int f = 0; f < fields_count; f++, from += sizeof(double)) {
            double *to = &fields[f][grid_at(g, cell[0], cell[1], cell[2])];
            memcpy(to, from, sizeof *to);
            good = good && isfinite(*to);
        }
    }
    return good;
}
