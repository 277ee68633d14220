/* Buchberger's algorithm on all ranks.
 *
 * The pairs of one degree are tasks. Who finds a new polynomial counts up the accumulator, if nobody has found another
 * one meanwhile, and writes the polynomial as the value of that number; all others get it. When the tasks are done all
 * ranks know the same basis and so the same next pairs. */
#include "grobner.h"
#include "../common/among.h"

#include <stdlib.h>
#include <string.h>

enum kind { COUNT, ELEMENT, REDUCED };
/* The space of a name: the series, how many ranks it is of, the kind. */
enum { KIND_BITS = 2, RANK_BITS = 24 };

struct work {
    const struct team *team;
    struct app *app;
    struct field k;
    struct reducers known;
    struct pairs pairs;
    struct poly s; /* the polynomial that is reduced */
    long reduced, zero;
};

static sam_name name_of(const struct work *w, enum kind kind, int number)
{
    uint64_t run = w->team->series << RANK_BITS | (uint64_t)w->app->ranks;
    return sam_name_of(run << KIND_BITS | kind, (uint64_t)number);
}

/* Ranks that have no part in a run are nobody's home in it: they do not answer. */
int basis_home(sam_name name, int ranks)
{
    uint64_t some = name.space >> KIND_BITS & (((uint64_t)1 << RANK_BITS) - 1);
    return (int)(name.key % (some > 0 ? some : (uint64_t)ranks));
}

/* A polynomial as a value: its monomials, then its coefficients. */
static void write_poly(sam_name name, struct view f)
{
    size_t n = (size_t)f.count;
    char *at = sam_value_begin(name, n * (sizeof *f.m + sizeof *f.c));
    memcpy(at, f.m, n * sizeof *f.m);
    memcpy(at + n * sizeof *f.m, f.c, n * sizeof *f.c);
    sam_value_end(name, SAM_STAYS);
}

static struct view use_poly(sam_name name)
{
    size_t bytes;
    const char *at = sam_use(name, &bytes);
    size_t n = bytes / (sizeof(mono) + sizeof(uint32_t));
    return (struct view){(int)n, (const mono *)at, (const uint32_t *)(at + n * sizeof(mono))};
}

/* The elements before number `count` are used until the end. */
static void learn(struct work *w, int64_t count)
{
    while (w->known.count < count)
        reducers_add(&w->known, use_poly(name_of(w, ELEMENT, w->known.count)));
}

/* What others have found, as far as this rank has heard. */
static void look(struct work *w)
{
    sam_name name = name_of(w, COUNT, 0);
    sam_refresh(name);
    int64_t count = *(const int64_t *)sam_chaotic(name, NULL, NULL);
    sam_end_chaotic(name);
    learn(w, count);
}

/* Reduces w->s; what is left becomes an element. */
static void reduce_and_add(struct work *w)
{
    sam_name name = name_of(w, COUNT, 0);
    int64_t *count;
    w->reduced++;
    for (;;) {
        normal_form(w->k, &w->s, &w->known, 0);
        if (w->s.count == 0) {
            w->zero++;
            return;
        }
        count = sam_update(name, NULL);
        int64_t now = *count;
        if (now == w->known.count)
            break;
        sam_end_update(name);
        learn(w, now);
    }
    poly_monic(w->k, &w->s);
    sam_name element = name_of(w, ELEMENT, w->known.count);
    write_poly(element, poly_view(&w->s));
    ++*count;
    sam_end_update(name);
    for (int to = 0; to < w->app->ranks; to++)
        sam_push(element, to);
    learn(w, w->known.count + 1);
}

/* All ranks know all elements, and the pairs with the new ones. */
static void agree(struct work *w)
{
    long long count = w->known.count;
    meet(w->team->comm);
    MPI_Allreduce(MPI_IN_PLACE, &count, 1, MPI_LONG_LONG, MPI_MAX, w->team->comm);
    learn(w, count);
    while (w->pairs.elements < w->known.count)
        pairs_update(&w->pairs, w->known.lead, w->pairs.elements);
}

static void do_pairs(struct work *w)
{
    struct pair *mine, task;
    int count = pairs_take(&w->pairs, &mine);
    for (int n = w->app->rank; n < count; n += w->app->ranks)
        sam_task_add(&mine[n], sizeof mine[n]);
    free(mine);
    while (sam_task_next(&task, sizeof task, NULL)) {
        look(w);
        s_polynomial(w->k, w->known.of[task.i], w->known.of[task.j], &w->s);
        reduce_and_add(w);
    }
}

static int by_lead(const void *a, const void *b)
{
    const struct view *f = a, *g = b;
    return mono_greater(g->m[0], f->m[0]) - mono_greater(f->m[0], g->m[0]);
}

/* Elements whose leads no other lead divides, by descending leads. */
static void minimal(const struct reducers *all, struct reducers *some)
{
    struct view *of = app_memory((size_t)all->count + 1, sizeof *of);
    int count = 0;
    for (int a = 0; a < all->count; a++) {
        int needed = 1;
        for (int b = 0; b < all->count; b++)
            needed &= b == a || !mono_divides(all->lead[b], all->lead[a]);
        if (needed)
            of[count++] = all->of[a];
    }
    qsort(of, (size_t)count, sizeof *of, by_lead);
    for (int n = 0; n < count; n++)
        reducers_add(some, of[n]);
    free(of);
}

static void copy_poly(struct poly *f, struct view of)
{
    f->count = 0;
    for (int t = 0; t < of.count; t++)
        poly_add_term(f, of.m[t], of.c[t]);
}

/* The tails are reduced, one task for each element. */
static void reduce_basis(struct work *w, struct basis *b)
{
    struct reducers some = {0};
    int n;
    minimal(&w->known, &some);
    for (n = w->app->rank; n < some.count; n += w->app->ranks)
        sam_task_add(&n, sizeof n);
    while (sam_task_next(&n, sizeof n, NULL)) {
        copy_poly(&w->s, some.of[n]);
        normal_form(w->k, &w->s, &some, 1);
        write_poly(name_of(w, REDUCED, n), poly_view(&w->s));
    }
    b->count = some.count;
    b->of = app_memory((size_t)some.count + 1, sizeof *b->of);
    memset(b->of, 0, ((size_t)some.count + 1) * sizeof *b->of);
    for (n = 0; n < some.count; n++) {
        copy_poly(&b->of[n], use_poly(name_of(w, REDUCED, n)));
        sam_end_use(name_of(w, REDUCED, n));
    }
    reducers_free(&some);
}

static void forget(struct work *w, const struct basis *b)
{
    for (int n = 0; n < w->known.count; n++)
        sam_end_use(name_of(w, ELEMENT, n));
    meet(w->team->comm);
    if (w->app->rank == 0) {
        for (int n = 0; n < w->known.count; n++)
            sam_free(name_of(w, ELEMENT, n));
        for (int n = 0; n < b->count; n++)
            sam_free(name_of(w, REDUCED, n));
        sam_free(name_of(w, COUNT, 0));
    }
    meet(w->team->comm);
    reducers_free(&w->known);
    pairs_free(&w->pairs);
    poly_free(&w->s);
}

void basis_compute(const struct team *team, struct field k, const struct system *s, struct basis *b)
{
    struct app *app = team->app;
    struct work w = {.team = team, .app = app, .k = k};
    if (app->rank == 0) {
        sam_accumulator_begin(name_of(&w, COUNT, 0), sizeof(int64_t));
        sam_end_update(name_of(&w, COUNT, 0));
        for (int n = 0; n < s->count; n++) {
            copy_poly(&w.s, poly_view(&s->of[n]));
            reduce_and_add(&w);
        }
        w.reduced = w.zero = 0;
    }
    for (agree(&w); w.pairs.count > 0; agree(&w)) {
        do_pairs(&w);
        app_progress(app, 0, w.known.count, w.known.count + w.pairs.count);
    }
    reduce_basis(&w, b);
    long counts[2] = {w.reduced, w.zero};
    forget(&w, b);
    MPI_Allreduce(MPI_IN_PLACE, counts, 2, MPI_LONG, MPI_SUM, team->comm);
    b->reduced = counts[0], b->zero = counts[1];
}

/* A task of this check: two elements of the basis, or a polynomial of the system. */
struct checked {
    int i, j;
};
enum { OF_SYSTEM = -1 };

/* Every `ranks`-th of the tasks that `number` counts is this rank's. */
static void deal(const struct app *app, int *number, int i, int j)
{
    struct checked task = {i, j};
    if ((*number)++ % app->ranks == app->rank)
        sam_task_add(&task, sizeof task);
}

/* The pairs that the criteria leave: if these reduce to 0, all do. */
static void deal_needed(const struct app *app, int *number, const struct reducers *g)
{
    struct pairs needed = {0, 0, NULL, NULL, 0};
    struct pair *some;
    for (int n = 0; n < g->count; n++)
        pairs_update(&needed, g->lead, n);
    while (needed.count > 0) {
        int count = pairs_take(&needed, &some);
        for (int n = 0; n < count; n++)
            deal(app, number, some[n].i, some[n].j);
        free(some);
    }
    pairs_free(&needed);
}

long basis_wrong(struct app *app, struct field k, const struct system *s, const struct basis *b, int every)
{
    struct reducers g = {0};
    struct poly f = {0, 0, NULL, NULL};
    struct checked task;
    long wrong = 0;
    int number = 0;
    for (int n = 0; n < b->count; n++)
        reducers_add(&g, poly_view(&b->of[n]));
    for (int n = 0; n < s->count; n++)
        deal(app, &number, OF_SYSTEM, n);
    if (!every)
        deal_needed(app, &number, &g);
    for (int i = 0; i < b->count && every; i++)
        for (int j = 0; j < i; j++)
            deal(app, &number, i, j);
    while (sam_task_next(&task, sizeof task, NULL)) {
        if (task.i == OF_SYSTEM)
            copy_poly(&f, poly_view(&s->of[task.j]));
        else
            s_polynomial(k, g.of[task.i], g.of[task.j], &f);
        normal_form(k, &f, &g, 0);
        wrong += f.count != 0;
    }
    sam_barrier();
    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    reducers_free(&g);
    poly_free(&f);
    return wrong;
}

void basis_free(struct basis *b)
{
    for (int n = 0; n < b->count; n++)
        poly_free(&b->of[n]);
    free(b->of);
    b->of = NULL;
    b->count = 0;
}
