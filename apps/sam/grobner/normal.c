/* Normal forms, by rows that are kept.
 *
 * Each monomial that was ever met has a number. Multiples of the reducers that were subtracted once stay as rows: the numbers of their
 * monomials. S-polynomials of one degree need much the same multiples, and to subtract one again is an addition for each term, at the
 * place that its number says; no monomial is multiplied, compared or looked for. A heap has the monomials of the polynomial that is
 * reduced, so that the largest is the next one. */
#include "grobner.h"

#include <stdlib.h>
#include <string.h>

enum {
    NONE = -1,
    FEW = 1024,
    MOST_NUMBERS = 1 << 25,   /* in rows, of 4 bytes each; when a normal form finds more, all rows are made anew */
    MOST_MONOMIALS = 1 << 21, /* likewise, of some 80 bytes */
    TERMS_PER_POLL = 1 << 14  /* between two looks whether another rank wants something: tens of microseconds */
};

struct met {
    mono m;
    int divisor; /* the reducer whose lead divides m; NONE: none of the first `looked` does */
    int looked;
    long row;    /* where its row begins: the divisor's multiple that has the lead m, from the second term on; or NONE */
};

/* Of the polynomial that is reduced: its monomials from the largest on. */
struct entry {
    mono key;
    int number;
};

struct rows {
    struct met *of;
    uint64_t *sum; /* the coefficient of each monomial in the polynomial that is reduced, below the square of the prime */
    char *listed;  /* whether the heap has the monomial */
    int count, room;
    int *table; /* numbers by a hash of the monomial, NONE: free; twice as many places as `room` */
    int *numbers;
    long filled, numbers_room;
    struct entry *heap;
    int heap_count;
};

void reducers_add(struct reducers *g, struct view f)
{
    if (g->count == g->room) {
        g->room = g->room ? 2 * g->room : 64;
        g->of = app_more_memory(g->of, (size_t)g->room, sizeof *g->of);
        g->lead = app_more_memory(g->lead, (size_t)g->room, sizeof *g->lead);
    }
    g->of[g->count] = f;
    g->lead[g->count++] = f.m[0];
}

static void rows_free(struct rows *r)
{
    if (!r)
        return;
    free(r->of);
    free(r->sum);
    free(r->listed);
    free(r->table);
    free(r->numbers);
    free(r->heap);
    free(r);
}

void reducers_free(struct reducers *g)
{
    free(g->of);
    free(g->lead);
    rows_free(g->rows);
    *g = (struct reducers){0};
}

static size_t place(const struct rows *r, mono m)
{
    uint64_t mixed = ((uint64_t)m ^ (uint64_t)(m >> 64) * 0x9e3779b97f4a7c15u) * 0xd6e8feb86659fd93u;
    return (size_t)(mixed ^ mixed >> 32) & (2 * (size_t)r->room - 1);
}

static void enter(struct rows *r, int number)
{
    size_t at = place(r, r->of[number].m), mask = 2 * (size_t)r->room - 1;
    while (r->table[at] != NONE)
        at = (at + 1) & mask;
    r->table[at] = number;
}

static void grow(struct rows *r)
{
    r->room = r->room ? 2 * r->room : FEW; /* a power of two */
    size_t room = (size_t)r->room;
    r->of = app_more_memory(r->of, room, sizeof *r->of);
    r->sum = app_more_memory(r->sum, room, sizeof *r->sum);
    r->listed = app_more_memory(r->listed, room, sizeof *r->listed);
    r->heap = app_more_memory(r->heap, room, sizeof *r->heap);
    r->table = app_more_memory(r->table, 2 * room, sizeof *r->table);
    memset(r->table, 0xff, 2 * room * sizeof *r->table);
    for (int number = 0; number < r->count; number++)
        enter(r, number);
}

static int number_of(struct rows *r, mono m)
{
    size_t mask = 2 * (size_t)r->room - 1;
    for (size_t at = place(r, m); r->table[at] != NONE; at = (at + 1) & mask)
        if (r->of[r->table[at]].m == m)
            return r->table[at];
    if (r->count == r->room)
        grow(r);
    r->of[r->count] = (struct met){m, NONE, 0, NONE};
    r->sum[r->count] = 0;
    r->listed[r->count] = 0;
    enter(r, r->count);
    return r->count++;
}

/* Empty rows: at first, and again when there are too many of them. */
static struct rows *rows_of(struct reducers *g)
{
    if (g->rows && (g->rows->filled > MOST_NUMBERS || g->rows->count > MOST_MONOMIALS)) {
        rows_free(g->rows);
        g->rows = NULL;
    }
    if (!g->rows) {
        g->rows = app_memory(1, sizeof *g->rows);
        memset(g->rows, 0, sizeof *g->rows);
        grow(g->rows);
    }
    return g->rows;
}

static void list(struct rows *r, int number)
{
    int at = r->heap_count++;
    mono key = mono_key(r->of[number].m);
    for (; at > 0 && r->heap[(at - 1) / 2].key < key; at = (at - 1) / 2)
        r->heap[at] = r->heap[(at - 1) / 2];
    r->heap[at] = (struct entry){key, number};
    r->listed[number] = 1;
}

static int take_largest(struct rows *r)
{
    int largest = r->heap[0].number, at = 0, below;
    struct entry last = r->heap[--r->heap_count];
    for (; (below = 2 * at + 1) < r->heap_count; at = below) {
        below += below + 1 < r->heap_count && r->heap[below + 1].key > r->heap[below].key;
        if (r->heap[below].key <= last.key)
            break;
        r->heap[at] = r->heap[below];
    }
    r->heap[at] = last;
    r->listed[largest] = 0;
    return largest;
}

/* Reducers that have come since the last look are looked at. */
static int divisor(const struct reducers *g, struct met *of)
{
    for (; of->divisor == NONE && of->looked < g->count; of->looked++)
        if (mono_divides(g->lead[of->looked], of->m))
            of->divisor = of->looked;
    return of->divisor;
}

/* The row of a monomial with a divisor; made when it is wanted first. A lead has the highest degree, so products fit if its own did. */
static const int *row(struct rows *r, const struct reducers *g, int number)
{
    if (r->of[number].row != NONE)
        return r->numbers + r->of[number].row;
    struct view f = g->of[r->of[number].divisor];
    mono by = r->of[number].m - f.m[0];
    if (r->filled + f.count > r->numbers_room) {
        r->numbers_room = 2 * r->numbers_room + f.count + FEW;
        r->numbers = app_more_memory(r->numbers, (size_t)r->numbers_room, sizeof *r->numbers);
    }
    for (int t = 1; t < f.count; t++)
        r->numbers[r->filled + t - 1] = number_of(r, f.m[t] + by);
    r->of[number].row = r->filled;
    r->filled += f.count - 1;
    return r->numbers + r->of[number].row;
}

/* Adds `factor` times the terms of f after its first, which are at the places of its row. */
static void add_row(struct field k, struct rows *r, struct view f, const int *numbers, uint64_t factor)
{
    const uint64_t square = (uint64_t)k.p * k.p;
    for (int t = 1; t < f.count; t++) {
        int number = numbers[t - 1];
        uint64_t sum = r->sum[number] + factor * f.c[t];
        r->sum[number] = sum >= square ? sum - square : sum;
        if (!r->listed[number])
            list(r, number);
    }
}

void normal_form(struct field k, struct poly *f, struct reducers *g, int done)
{
    struct rows *r = rows_of(g);
    int terms = TERMS_PER_POLL;
    for (int t = done; t < f->count; t++) {
        int number = number_of(r, f->m[t]);
        r->sum[number] = f->c[t];
        list(r, number);
    }
    f->count = done < f->count ? done : f->count;
    while (r->heap_count > 0) {
        int number = take_largest(r);
        uint32_t c = (uint32_t)(r->sum[number] % k.p);
        r->sum[number] = 0;
        if (c == 0)
            continue;
        int n = divisor(g, &r->of[number]);
        if (n == NONE) {
            poly_add_term(f, r->of[number].m, c);
            continue;
        }
        add_row(k, r, g->of[n], row(r, g, number), k.p - c);
        if ((terms += g->of[n].count) > TERMS_PER_POLL) {
            terms = 0;
            sam_poll();
        }
    }
}
