/* Cells, who has them, and which of them are paired; and molecules into their cells. */
#include "water.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Edge of a cell, about: with smaller ones there are more messages, with larger ones fewer ranks have work. And least cells per
 * direction, so that a small box can be shared, too. */
static const double EDGE = 9;
enum { LEAST_SIDE = 3, MOST_SIDE = 64 };

/* Empty room between two cells, in the nearest images. */
static double apart(const struct water *w, int i, int j)
{
    double edge = w->box / w->side, square = 0;
    for (int d = 0; d < 3; d++, i /= w->side, j /= w->side) {
        int steps = abs(i % w->side - j % w->side);
        steps = steps < w->side - steps ? steps : w->side - steps;
        square += steps > 1 ? (steps - 1) * edge * (steps - 1) * edge : 0;
    }
    return sqrt(square);
}

static void add_partner(struct water *w, int row, int other)
{
    struct cell *c = &w->cells[row];
    c->partners = app_more_memory(c->partners, (size_t)c->partner_count + 1, sizeof *c->partners);
    c->partners[c->partner_count++] = other;
    unsigned char *reads = &w->cells[other].readers[c->owner];
    if (c->owner == w->cells[other].owner || *reads)
        return;
    *reads = 1;
    w->cells[other].reader_count++;
}

/* Coordinates of cells, in one direction, that are within `reach` of one. Returns how many. */
static int near(const struct water *w, int at, double reach, int out[MOST_SIDE])
{
    int count = 0, most = (int)(reach * w->side / w->box) + 1;
    for (int other = 0; other < w->side; other++) {
        int steps = abs(at - other);
        if (steps <= most || w->side - steps <= most)
            out[count++] = other;
    }
    return count;
}

/* Every pair in one of its two rows, alternately, so that rows are equally long. */
static void add_pairs(struct water *w, int i)
{
    const double reach = w->cutoff + 2 * REACH + SKIN;
    int x[MOST_SIDE], y[MOST_SIDE], z[MOST_SIDE], side = w->side;
    int nx = near(w, i % side, reach, x), ny = near(w, i / side % side, reach, y), nz = near(w, i / side / side, reach, z);
    for (int c = 0; c < nz; c++)
        for (int b = 0; b < ny; b++)
            for (int a = 0; a < nx; a++) {
                int j = (z[c] * side + y[b]) * side + x[a];
                if (j >= i && apart(w, i, j) < reach)
                    add_partner(w, (i + j) % 2 == 1 ? i : j, (i + j) % 2 == 1 ? j : i);
            }
}

void make_cells(struct water *w)
{
    int ranks = w->app->ranks, side = (int)(w->box / EDGE);
    w->side = side < LEAST_SIDE ? LEAST_SIDE : side > MOST_SIDE ? MOST_SIDE : side;
    w->cell_count = w->side * w->side * w->side;
    w->cells = app_memory((size_t)w->cell_count, sizeof *w->cells);
    memset(w->cells, 0, (size_t)w->cell_count * sizeof *w->cells);
    for (int c = 0; c < w->cell_count; c++) {
        w->cells[c].owner = (int)((int64_t)c * ranks / w->cell_count);
        w->cells[c].readers = app_memory((size_t)ranks, 1);
        memset(w->cells[c].readers, 0, (size_t)ranks);
    }
    for (int i = 0; i < w->cell_count; i++)
        add_pairs(w, i);
}

void free_cells(struct water *w)
{
    for (int c = 0; c < w->cell_count; c++) {
        free(w->cells[c].partners);
        free(w->cells[c].readers);
    }
    free(w->cells);
    w->cells = NULL;
    w->cell_count = 0;
}

/* Moves the molecule to the image whose oxygen is in the box. */
static int cell_of(const struct water *w, struct molecule *m)
{
    int cell = 0;
    for (int d = 2; d >= 0; d--) {
        double shift = w->box * floor(m->x[d] / w->box);
        for (int s = 0; s < SITES; s++)
            m->x[3 * s + d] -= shift;
        int at = (int)(m->x[d] / w->box * w->side);
        cell = cell * w->side + (at < 0 ? 0 : at < w->side ? at : w->side - 1);
    }
    return cell;
}

struct place {
    int cell, at;
    int64_t id;
};

static int in_order(const void *a, const void *b)
{
    const struct place *p = a, *q = b;
    return p->cell != q->cell ? (p->cell > q->cell) - (p->cell < q->cell) : (p->id > q->id) - (p->id < q->id);
}

static void sort_own(struct water *w)
{
    size_t count = (size_t)w->count;
    struct place *places = app_memory(count + 1, sizeof *places);
    struct molecule *sorted = app_memory(count + 1, sizeof *sorted);
    for (int i = 0; i < w->count; i++)
        places[i] = (struct place){cell_of(w, &w->own[i]), i, w->own[i].id};
    qsort(places, count, sizeof *places, in_order);
    for (int c = 0; c < w->cell_count; c++)
        w->cells[c].first = w->cells[c].count = 0;
    for (int i = 0; i < w->count; i++) {
        struct cell *c = &w->cells[places[i].cell];
        sorted[i] = w->own[places[i].at];
        c->first = c->count++ == 0 ? i : c->first;
    }
    free(w->own);
    free(places);
    w->own = sorted;
}

/* Molecules for another rank are a value, which is pushed to it. */
static void send_to(struct water *w, int rank)
{
    int count = 0;
    for (int c = 0; c < w->cell_count; c++)
        count += w->cells[c].owner == rank ? w->cells[c].count : 0;
    sam_name name = name_with_home(w->step, MOVED, w->app->rank, rank);
    struct molecule *to = sam_value_begin(name, ((size_t)count + 1) * sizeof *to);
    to->id = count;
    for (int c = 0; c < w->cell_count; c++)
        if (w->cells[c].owner == rank) {
            memcpy(to + 1, w->own + w->cells[c].first, (size_t)w->cells[c].count * sizeof *to);
            to += w->cells[c].count;
        }
    /* One use is the reader's; with the other one the value is still there for the push. */
    sam_value_end(name, 2);
    sam_use(name, NULL);
    sam_push(name, rank);
    sam_end_use(name);
}

static void keep_own(struct water *w)
{
    int count = 0;
    for (int c = 0; c < w->cell_count; c++)
        if (w->cells[c].owner == w->app->rank) {
            memmove(w->own + count, w->own + w->cells[c].first, (size_t)w->cells[c].count * sizeof *w->own);
            count += w->cells[c].count;
        }
    w->count = count;
}

static void receive_from(struct water *w, int rank)
{
    sam_name name = name_with_home(w->step, MOVED, rank, w->app->rank);
    const struct molecule *from = sam_use(name, NULL);
    size_t count = (size_t)from->id;
    w->own = app_more_memory(w->own, (size_t)w->count + count + 1, sizeof *w->own);
    memcpy(w->own + w->count, from + 1, count * sizeof *from);
    w->count += (int)count;
    sam_end_use(name);
}

void fill_cells(struct water *w)
{
    int rank = w->app->rank, ranks = w->app->ranks;
    sort_own(w);
    for (int other = 1; other < ranks; other++)
        send_to(w, (rank + other) % ranks);
    keep_own(w);
    for (int other = 1; other < ranks; other++)
        receive_from(w, (rank + other) % ranks);
    sort_own(w);
    size_t count = (size_t)w->count + 1;
    w->force = app_more_memory(w->force, count * NUMBERS, sizeof *w->force);
    w->settled = app_more_memory(w->settled, count * 3, sizeof *w->settled);
    for (int i = 0; i < w->count; i++)
        memcpy(w->settled + 3 * i, w->own[i].x, 3 * sizeof *w->settled);
}

int fill_cells_if_needed(struct water *w)
{
    double most = 0;
    for (int i = 0; i < w->count; i++) {
        double square = 0;
        for (int d = 0; d < 3; d++) {
            double moved = w->own[i].x[d] - w->settled[3 * i + d];
            square += moved * moved;
        }
        most = fmax(most, square);
    }
    wide numbers[2] = {fixed(most), w->fault};
    most_together(numbers, 2);
    if (numbers[1] == 0 && from_fixed(numbers[0]) > 0.25 * SKIN * SKIN)
        fill_cells(w);
    return numbers[1] != 0;
}
