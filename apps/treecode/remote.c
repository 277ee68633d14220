/* Questions for what lies below cells of other ranks, and the answers. Both go in batches and are
 * received whenever a rank looks; a rank that has all it needs goes on answering until rank 0 has
 * heard from everybody. */
#include "treecode.h"

#include <stdlib.h>
#include <string.h>

enum { QUESTION, ANSWER, DONE, STOP };
/* Levels of the tree in an answer: fewer ways to and fro, more bytes. */
enum { ANSWER_LEVELS = 3 };

struct sending {
    MPI_Request request;
    void *data;
};

/* Starts to send; `data` is freed when it is gone. */
static void start_sending(struct tree *t, void *data, size_t size, int to, int tag)
{
    for (int s = 0; s < t->sending_count;) {
        int gone = 0;
        MPI_Test(&t->sendings[s].request, &gone, MPI_STATUS_IGNORE);
        if (gone) {
            free(t->sendings[s].data);
            t->sendings[s] = t->sendings[--t->sending_count];
        } else {
            s++;
        }
    }
    if (t->sending_count == t->sending_room) {
        t->sending_room = 2 * t->sending_room + 64;
        t->sendings = app_more_memory(t->sendings, (size_t)t->sending_room, sizeof *t->sendings);
    }
    struct sending *new = &t->sendings[t->sending_count++];
    new->data = data;
    MPI_Isend(data, (int)size, MPI_BYTE, to, tag, t->comm, &new->request);
}

static void send_batch(struct tree *t, int to)
{
    struct batch *batch = &t->batches[to];
    size_t size = (size_t)batch->count * sizeof *batch->items;
    if (size == 0)
        return;
    void *data = app_memory(size, 1);
    memcpy(data, batch->items, size);
    batch->count = 0;
    start_sending(t, data, size, to, QUESTION);
}

void ask(struct tree *t, int at)
{
    struct cell *cell = &t->cells[at];
    if (cell->kind != REMOTE)
        return; /* here, or on the way */
    struct batch *batch = &t->batches[cell->owner];
    cell->kind = ASKED;
    batch->items[batch->count++] = (struct question){cell->key, at};
    t->waiting++;
    if (batch->count == BATCH)
        send_batch(t, cell->owner);
}

void send_questions(struct tree *t)
{
    for (int r = 0; r < t->ranks; r++)
        send_batch(t, r);
}

/* An answer while it is made, or read. */
struct bytes {
    char *data;
    size_t size, room;
};

static void put(struct bytes *b, const void *data, size_t size)
{
    if (b->size + size > b->room) {
        b->room = 2 * (b->size + size) + 4096;
        b->data = app_more_memory(b->data, b->room, 1);
    }
    memcpy(b->data + b->size, data, size);
    b->size += size;
}

static void get(struct bytes *b, void *data, size_t size)
{
    memcpy(data, b->data + b->size, size);
    b->size += size;
}

/* What is below a cell: its kind and count, and its points or cells, these with what is below them
 * while levels remain. */
static void put_content(struct bytes *b, const struct tree *t, int at, int levels)
{
    const struct cell *cell = &t->cells[at];
    int32_t head[2] = {cell->kind, cell->count};
    put(b, head, sizeof head);
    if (cell->kind == LEAF) {
        put(b, t->points + cell->first, (size_t)cell->count * sizeof *t->points);
        return;
    }
    put(b, t->cells + cell->first, (size_t)cell->count * sizeof *t->cells);
    for (int c = 0; c < cell->count && levels > 1; c++)
        put_content(b, t, cell->first + c, levels - 1);
}

static void get_content(struct bytes *b, struct tree *t, int at, int levels)
{
    int32_t head[2];
    get(b, head, sizeof head);
    int first = head[0] == LEAF ? new_points(t, head[1]) : new_cells(t, head[1]);
    t->cells[at].kind = head[0];
    t->cells[at].first = first;
    t->cells[at].count = head[1];
    if (head[0] == LEAF) {
        get(b, t->points + first, (size_t)head[1] * sizeof *t->points);
        return;
    }
    get(b, t->cells + first, (size_t)head[1] * sizeof *t->cells);
    for (int c = 0; c < head[1]; c++)
        t->cells[first + c].kind = REMOTE;
    for (int c = 0; c < head[1] && levels > 1; c++)
        get_content(b, t, first + c, levels - 1);
}

static void answer(struct tree *t, const struct question *questions, int count, int to)
{
    struct bytes b = {NULL, 0, 0};
    for (int q = 0; q < count; q++) {
        int at = find_cell(t, questions[q].key);
        if (at < 0)
            MPI_Abort(t->comm, APP_WRONG); /* no rank asks for what it has not been told of */
        put(&b, &questions[q].cell, sizeof questions[q].cell);
        put_content(&b, t, at, ANSWER_LEVELS);
    }
    start_sending(t, b.data, b.size, to, ANSWER);
}

static void take_answer(struct tree *t, char *data, size_t size)
{
    struct bytes b = {data, 0, size};
    while (b.size < size) {
        int64_t at;
        get(&b, &at, sizeof at);
        get_content(&b, t, (int)at, ANSWER_LEVELS);
        t->waiting--;
    }
}

/* Rank 0 hears that a rank needs no more answers; when all have said so, it tells them. */
static void one_is_done(struct tree *t)
{
    if (++t->done < t->ranks)
        return;
    for (int r = 1; r < t->ranks; r++)
        start_sending(t, NULL, 0, r, STOP);
}

static void receive(struct tree *t, MPI_Message *message, const MPI_Status *status)
{
    int size;
    MPI_Get_count(status, MPI_BYTE, &size);
    char *data = app_memory((size_t)size, 1);
    MPI_Mrecv(data, size, MPI_BYTE, message, MPI_STATUS_IGNORE);
    switch (status->MPI_TAG) {
    case QUESTION:
        answer(t, (struct question *)data, size / (int)sizeof(struct question), status->MPI_SOURCE);
        break;
    case ANSWER:
        take_answer(t, data, (size_t)size);
        break;
    case DONE:
        one_is_done(t);
        break;
    default: /* STOP */
        t->done = t->ranks;
    }
    free(data);
}

int serve(struct tree *t, int wait)
{
    MPI_Message message;
    MPI_Status status;
    int there = wait;
    if (wait)
        MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, t->comm, &message, &status);
    else
        MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, t->comm, &there, &message, &status);
    while (there) {
        receive(t, &message, &status);
        MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, t->comm, &there, &message, &status);
    }
    return t->done < t->ranks;
}

void say_done(struct tree *t)
{
    if (t->rank == 0)
        one_is_done(t);
    else
        start_sending(t, NULL, 0, 0, DONE);
}

void finish_messages(struct tree *t)
{
    for (int s = 0; s < t->sending_count; s++) {
        MPI_Wait(&t->sendings[s].request, MPI_STATUS_IGNORE);
        free(t->sendings[s].data);
    }
    t->sending_count = 0;
    t->done = 0;
}
