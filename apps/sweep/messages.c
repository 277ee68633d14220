/* Angular fluxes between ranks. A cell's flux goes into a message for each rank that has a cell downwind of it; messages leave
 * when they are full, when their sender has to wait, and at the end of an octant. So ranks downwind begin with an octant while
 * those upwind are at the next. */
#include "sweep.h"

#include <stdlib.h>
#include <string.h>

enum { MOST = 64 }; /* fluxes of a message, of all bundles of an octant: 17 KB; more would let those downwind wait longer */

struct item {
    int cell, bundle, ready, none; /* none: for the alignment of what follows */
    struct angular flux;
};

struct message {
    struct message *next;
    MPI_Request request;
    int octant, count;
    struct item item[MOST];
};

struct outbox {
    struct message *open;
};

/* One that is spare, if there is one. Those that were used last come first: their memory is in the cache. */
static struct message *new_message(struct sweep *s, int octant)
{
    struct message *m = s->spare;
    if (m)
        s->spare = m->next;
    else
        m = app_memory(1, sizeof *m);
    m->next = NULL;
    m->octant = octant;
    m->count = 0;
    return m;
}

static void set_aside(struct sweep *s, struct message *m)
{
    m->next = s->spare;
    s->spare = m;
}

void messages_start(struct sweep *s)
{
    s->outbox = app_memory((size_t)s->ranks, sizeof *s->outbox);
    memset(s->outbox, 0, (size_t)s->ranks * sizeof *s->outbox);
    s->sends = s->early = s->spare = NULL;
}

/* Frees what has been sent; with `all`, waits for it. */
static void retire(struct sweep *s, int all)
{
    for (struct message **at = &s->sends; *at;) {
        struct message *m = *at;
        int done = 1;
        if (all)
            MPI_Wait(&m->request, MPI_STATUS_IGNORE);
        else
            MPI_Test(&m->request, &done, MPI_STATUS_IGNORE);
        if (done) {
            *at = m->next;
            set_aside(s, m);
        } else {
            at = &m->next;
        }
    }
}

static void flush(struct sweep *s, int to)
{
    struct message *m = s->outbox[to].open;
    if (!m)
        return;
    MPI_Isend(m->item, m->count * (int)sizeof *m->item, MPI_BYTE, to, m->octant, s->comm, &m->request);
    m->next = s->sends;
    s->sends = m;
    s->outbox[to].open = NULL;
}

static void flush_all(struct sweep *s)
{
    for (int r = 0; r < s->ranks; r++)
        flush(s, r);
}

static void put(struct sweep *s, int to, const struct task *t)
{
    struct message *m = s->outbox[to].open;
    if (!m)
        m = s->outbox[to].open = new_message(s, t->bundle / IN_OCTANT);
    struct item *item = &m->item[m->count++];
    item->cell = t->cell;
    item->bundle = t->bundle;
    item->ready = t->ready;
    item->none = 0;
    item->flux = present(s, t->bundle)->angular[t->cell];
    if (m->count == MOST) {
        flush(s, to);
        retire(s, 0);
    }
}

/* Ordinates along a face do not go out: nobody waits for them there. */
static int goes_out(const struct sweep *s, int b, const struct cell_face *f, int ordinates)
{
    int out = 0;
    for (int o = 0; o < BUNDLE; o++)
        out = out || ((ordinates >> o & 1) && ordinate_flow(&s->bundle[b], o, f->normal) > 0);
    return out;
}

void messages_send(struct sweep *s, const struct task *t, int fresh)
{
    int told[MOST_FACES], count = 0;
    for (int k = s->mesh.cell[t->cell].faces; k < s->mesh.cell[t->cell + 1].faces; k++) {
        const struct cell_face *f = &s->mesh.cell_face[k];
        int other = f->other, known = 0;
        if (other < 0 || s->owner[other] == s->rank || !goes_out(s, t->bundle, f, fresh))
            continue;
        for (int i = 0; i < count; i++)
            known = known || told[i] == s->owner[other];
        if (!known) {
            told[count++] = s->owner[other];
            put(s, s->owner[other], t);
        }
    }
}

/* What a cell sent later has all that it sent before. */
static void take(struct sweep *s, const struct message *m)
{
    for (const struct item *item = m->item; item < m->item + m->count; item++) {
        struct present *of = present(s, item->bundle);
        if ((item->ready & ~of->there[item->cell]) == 0)
            continue; /* early messages are not in the order in which they came */
        of->angular[item->cell] = item->flux;
        of->there[item->cell] = (char)item->ready;
    }
}

/* Messages that came before their octant. */
static void take_early(struct sweep *s, int octant)
{
    for (struct message **at = &s->early; *at;) {
        struct message *m = *at;
        if (m->octant == octant) {
            take(s, m);
            *at = m->next;
            set_aside(s, m);
        } else {
            at = &m->next;
        }
    }
}

static int is_missing(struct sweep *s, int b, int cell, int ordinates)
{
    return (ordinates & ~present(s, b)->there[cell]) != 0;
}

void messages_await(struct sweep *s, int b, int cell, int ordinates)
{
    if (is_missing(s, b, cell, ordinates))
        take_early(s, b / IN_OCTANT);
    if (is_missing(s, b, cell, ordinates))
        flush_all(s);
    while (is_missing(s, b, cell, ordinates)) {
        struct message *m = new_message(s, 0);
        MPI_Status status;
        int bytes;
        MPI_Recv(m->item, sizeof m->item, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, s->comm, &status);
        MPI_Get_count(&status, MPI_BYTE, &bytes);
        m->count = bytes / (int)sizeof *m->item;
        m->octant = status.MPI_TAG;
        if (m->octant == b / IN_OCTANT) {
            take(s, m);
            set_aside(s, m);
        } else {
            m->next = s->early;
            s->early = m;
        }
    }
}

void messages_finish(struct sweep *s, int is_last)
{
    flush_all(s);
    retire(s, is_last);
}

void messages_free(struct sweep *s)
{
    retire(s, 1);
    while (s->spare) {
        struct message *m = s->spare;
        s->spare = m->next;
        free(m);
    }
    free(s->outbox);
}
