/* Forces: positions as values, which go to those that need them; forces on them as values, which come back. */
#include "water.h"

#include <math.h>
#include <string.h>

static sam_name positions_of(const struct water *w, int c)
{
    return name_with_home(w->step, POSITIONS, w->cells[c].owner, c);
}

/* What `rank` has found for the cell. */
static sam_name forces_on(const struct water *w, int c, int rank)
{
    return name_with_home(w->step, FORCES, rank, c);
}

/* A value: how many molecules, then their coordinates. Every reader uses it once, and so does the owner. */
static void tell_positions(struct water *w, int c)
{
    const struct cell *cell = &w->cells[c];
    double *at = sam_value_begin(positions_of(w, c), ((size_t)cell->count * NUMBERS + 1) * sizeof *at);
    *at++ = cell->count;
    for (int i = 0; i < cell->count; i++)
        memcpy(at + i * NUMBERS, w->own[cell->first + i].x, NUMBERS * sizeof *at);
    sam_value_end(positions_of(w, c), (uint64_t)cell->reader_count + 1);
}

/* The positions of a cell are here, and there is room for the forces on them. */
static void touch(struct water *w, int c)
{
    struct cell *cell = &w->cells[c];
    if (cell->here)
        return;
    const double *at = sam_use(positions_of(w, c), NULL);
    cell->here = at + 1;
    cell->present = (int)at[0];
    cell->base = w->found_count;
    w->found_count += cell->present;
    if (w->found_count > w->found_room) {
        w->found_room = 2 * w->found_count + 256;
        w->found = app_more_memory(w->found, (size_t)w->found_room * NUMBERS, sizeof *w->found);
    }
    memset(w->found + cell->base * NUMBERS, 0, (size_t)cell->present * NUMBERS * sizeof *w->found);
}

static void tell_all(struct water *w)
{
    int ranks = w->app->ranks;
    w->found_count = 0;
    for (int c = 0; c < w->cell_count; c++) {
        w->cells[c].here = NULL;
        if (w->cells[c].owner != w->app->rank)
            continue;
        tell_positions(w, c);
        touch(w, c);
        for (int r = 1; r < ranks; r++)
            if (w->cells[c].readers[(w->app->rank + r) % ranks])
                sam_push(positions_of(w, c), (w->app->rank + r) % ranks);
    }
}

/* Molecules of a cell, from one on, that may be within the cutoff: in the image that is nearest to x. */
static void gather(struct water *w, const struct cell *cell, int from, const double x[NUMBERS])
{
    struct around *a = &w->around;
    const double reach = w->cutoff + 2 * REACH, inverse = 1 / w->box;
    around_room(a, a->count + cell->present);
    for (int i = from; i < cell->present; i++) {
        const double *y = cell->here + i * NUMBERS;
        double shift[3], square = 0;
        for (int d = 0; d < 3; d++) {
            shift[d] = w->box * rint((x[d] - y[d]) * inverse);
            double away = y[d] + shift[d] - x[d];
            square += away * away;
        }
        if (square > reach * reach)
            continue;
        for (int n = 0; n < NUMBERS; n++)
            a->x[n][a->count] = y[n] + shift[n % 3];
        a->who[a->count++] = cell->base + i;
    }
}

static void add_found(struct water *w, int who, const double force[NUMBERS])
{
    for (int n = 0; n < NUMBERS; n++)
        w->found[who * NUMBERS + n] += force[n];
}

/* All pairs of a row: of the molecules of a cell with those of its partners. */
static void do_row(struct water *w, int c)
{
    const struct cell *cell = &w->cells[c];
    for (int p = 0; p < cell->partner_count; p++)
        touch(w, cell->partners[p]);
    for (int i = 0; i < cell->present; i++) {
        const double *x = cell->here + i * NUMBERS;
        double force[NUMBERS] = {0}, other[NUMBERS];
        w->around.count = 0;
        for (int p = 0; p < cell->partner_count; p++)
            gather(w, &w->cells[cell->partners[p]], cell->partners[p] == c ? i + 1 : 0, x);
        w->potential += fixed(model_forces(w->cutoff, x, &w->around, force));
        add_found(w, cell->base + i, force);
        for (int k = 0; k < w->around.count; k++) {
            for (int n = 0; n < NUMBERS; n++)
                other[n] = w->around.f[n][k];
            add_found(w, w->around.who[k], other);
        }
        w->work += w->around.count;
    }
    sam_poll();
}

static int needs_others(const struct water *w, int c)
{
    for (int p = 0; p < w->cells[c].partner_count; p++)
        if (w->cells[w->cells[c].partners[p]].owner != w->app->rank)
            return 1;
    return 0;
}

/* What this rank has found for another's cell goes to the owner. An accumulator would go from rank to rank, each of which waits for the one
 * before; these wait for nobody, and the owner adds them up. */
static void give_forces(struct water *w, int c)
{
    const struct cell *cell = &w->cells[c];
    const size_t bytes = (size_t)cell->present * NUMBERS * sizeof(double);
    sam_name name = forces_on(w, c, w->app->rank);
    memcpy(sam_value_begin(name, bytes), w->found + (size_t)cell->base * NUMBERS, bytes);
    /* One use is the owner's; with the other one the value is still there for the push. */
    sam_value_end(name, 2);
    sam_use(name, NULL);
    sam_push(name, cell->owner);
    sam_end_use(name);
}

static void take_forces(struct water *w, int c)
{
    const struct cell *cell = &w->cells[c];
    size_t count = (size_t)cell->count * NUMBERS;
    double *to = w->force + cell->first * NUMBERS;
    memcpy(to, w->found + cell->base * NUMBERS, count * sizeof *to);
    for (int r = 0; r < w->app->ranks; r++) {
        if (!cell->readers[r])
            continue;
        const double *found = sam_use(forces_on(w, c, r), NULL);
        for (size_t n = 0; n < count; n++)
            to[n] += found[n];
        sam_end_use(forces_on(w, c, r));
    }
    for (size_t n = 0; n < count; n++)
        if (!(fabs(to[n]) < MOST_FORCE))
            w->fault = 1;
}

void find_forces(struct water *w)
{
    double start = MPI_Wtime();
    w->step++;
    w->potential = 0;
    w->work = 0;
    tell_all(w);
    for (int others = 0; others < 2; others++)
        for (int c = 0; c < w->cell_count; c++)
            if (w->cells[c].owner == w->app->rank && needs_others(w, c) == others)
                do_row(w, c);
    for (int c = 0; c < w->cell_count; c++)
        if (w->cells[c].owner != w->app->rank && w->cells[c].here)
            give_forces(w, c);
    for (int c = 0; c < w->cell_count; c++)
        if (w->cells[c].owner == w->app->rank)
            take_forces(w, c);
    for (int c = 0; c < w->cell_count; c++)
        if (w->cells[c].here)
            sam_end_use(positions_of(w, c));
    w->seconds += MPI_Wtime() - start;
}
