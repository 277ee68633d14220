/* Angular fluxes between ranks. A cell's flux goes into a message for each rank that has a cell downwind of it; messages leave
 * when they are full, when their sender has to wait, and at the end of an ordinate. So ranks downwind begin with an ordinate while
 * those upwind are at the next. */
#include "sweep.h"

#include <stdlib.h>
#include <string.h>

enum { MOST = 64 }; /* fluxes of a message: 4.6 KB; more would let those downwind wait longer */

struct item {
    int64_t cell;
    struct linear flux;
};

struct message {
    struct message *next;
    MPI_Request request;
    int ordinate, count;
    struct item item[MOST];
};

struct outbox {
    struct message *open;
};

static struct message *new_message(int ordinate)
{
    struct message *m = app_memory(1, sizeof *m);
    memset(m, 0, sizeof *m);
    m->ordinate = ordinate;
    return m;
}

void messages_start(struct sweep *s)
{
    s->outbox = app_memory((size_t)s->ranks, sizeof *s->outbox);
    memset(s->outbox, 0, (size_t)s->ranks * sizeof *s->outbox);
    s->sends = s->early = NULL;
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
            free(m);
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
    MPI_Isend(m->item, m->count * (int)sizeof *m->item, MPI_BYTE, to, m->ordinate, s->comm, &m->request);
    m->next = s->sends;
    s->sends = m;
    s->outbox[to].open = NULL;
}

static void flush_all(struct sweep *s)
{
    for (int r = 0; r < s->ranks; r++)
        flush(s, r);
}

static void put(struct sweep *s, int a, int to, int cell)
{
    struct message *m = s->outbox[to].open;
    if (!m)
        m = s->outbox[to].open = new_message(a);
    m->item[m->count].cell = cell;
    m->item[m->count++].flux = s->angular[cell];
    if (m->count == MOST) {
        flush(s, to);
        retire(s, 0);
    }
}

void messages_send(struct sweep *s, int a, int cell)
{
    const double *o = s->ordinate[a].direction;
    int told[16], count = 0; /* a cell has 12 faces at most */
    for (int k = s->mesh.cell[cell].faces; k < s->mesh.cell[cell + 1].faces; k++) {
        int face_of = s->mesh.face_of[k], is_first = face_of >= 0;
        const struct face *f = &s->mesh.face[is_first ? face_of : ~face_of];
        int other = f->cell[is_first];
        double out = (is_first ? 1 : -1) * (f->normal[0] * o[0] + f->normal[1] * o[1] + f->normal[2] * o[2]);
        if (out <= 0 || other < 0 || s->owner[other] == s->rank)
            continue;
        int known = 0;
        for (int t = 0; t < count; t++)
            known = known || told[t] == s->owner[other];
        if (!known) {
            told[count++] = s->owner[other];
            put(s, a, s->owner[other], cell);
        }
    }
}

static void take(struct sweep *s, const struct message *m)
{
    for (int i = 0; i < m->count; i++) {
        s->angular[m->item[i].cell] = m->item[i].flux;
        s->stamp[m->item[i].cell] = s->now;
    }
}

/* Messages that came before their ordinate. */
static void take_early(struct sweep *s, int a)
{
    for (struct message **at = &s->early; *at;) {
        struct message *m = *at;
        if (m->ordinate == a) {
            take(s, m);
            *at = m->next;
            free(m);
        } else {
            at = &m->next;
        }
    }
}

void messages_await(struct sweep *s, int a, int cell)
{
    if (s->stamp[cell] != s->now)
        take_early(s, a);
    if (s->stamp[cell] != s->now)
        flush_all(s);
    while (s->stamp[cell] != s->now) {
        struct message *m = new_message(0);
        MPI_Status status;
        int bytes;
        MPI_Recv(m->item, sizeof m->item, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, s->comm, &status);
        MPI_Get_count(&status, MPI_BYTE, &bytes);
        m->count = bytes / (int)sizeof *m->item;
        m->ordinate = status.MPI_TAG;
        if (m->ordinate == a) {
            take(s, m);
            free(m);
        } else {
            m->next = s->early;
            s->early = m;
        }
    }
}

void messages_finish(struct sweep *s, int a, int is_last)
{
    (void)a;
    flush_all(s);
    retire(s, is_last);
}

void messages_free(struct sweep *s)
{
    retire(s, 1);
    free(s->outbox);
}
