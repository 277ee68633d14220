/* Two pinned processes: a flag in one cache line, and rings of one-line cells. */
#include "floor.h"

#include <string.h>

enum { CELLS = 64, PAYLOAD = 40 };

struct flag {
    _Alignas(LINE) atomic_long there;
    _Alignas(LINE) atomic_long back;
};

static double flag_round(void *context, long iters)
{
    struct flag *f = context;
    long turn = atomic_load_explicit(&f->back, memory_order_relaxed);
    double start = now();
    for (long i = 0; i < iters; i++) {
        atomic_store_explicit(&f->there, ++turn, memory_order_release);
        while (atomic_load_explicit(&f->back, memory_order_acquire) != turn)
            ;
    }
    return 0.5 * (now() - start);
}

static void flag_partner(void *context)
{
    struct flag *f = context;
    for (long turn = 1;; turn++) {
        while (atomic_load_explicit(&f->there, memory_order_acquire) != turn)
            ;
        atomic_store_explicit(&f->back, turn, memory_order_release);
    }
}

static void flag_lead(void *context)
{
    measure("flag", 8, flag_round, context, 0.3, 0);
}

int floor_flag(void)
{
    return with_partner(shared_memory(sizeof(struct flag)), flag_partner, flag_lead);
}

/* A cell's sequence number says whose turn it is: n to be filled, n + 1 filled. */
struct cell {
    _Alignas(LINE) atomic_long sequence;
    long length;
    char payload[PAYLOAD];
};

struct ring {
    struct cell cells[CELLS];
};

/* A multi-producer ring: producers share `claim`, which the consumer never touches. */
struct channel {
    _Alignas(LINE) atomic_long claim;
    struct ring ring;
};

static void channel_init(struct channel *c)
{
    for (long i = 0; i < CELLS; i++)
        atomic_store(&c->ring.cells[i].sequence, i);
}

static void put(struct channel *c, const char *data, long length)
{
    long n = atomic_fetch_add_explicit(&c->claim, 1, memory_order_relaxed);
    struct cell *cell = &c->ring.cells[n % CELLS];
    while (atomic_load_explicit(&cell->sequence, memory_order_acquire) != n)
        ;
    cell->length = length;
    memcpy(cell->payload, data, PAYLOAD);
    atomic_store_explicit(&cell->sequence, n + 1, memory_order_release);
}

static void take(struct channel *c, long *next, char *data)
{
    long n = (*next)++;
    struct cell *cell = &c->ring.cells[n % CELLS];
    while (atomic_load_explicit(&cell->sequence, memory_order_acquire) != n + 1)
        ;
    memcpy(data, cell->payload, PAYLOAD);
    atomic_store_explicit(&cell->sequence, n + CELLS, memory_order_release);
}

struct pair {
    struct channel there, back;
    long next; /* the leader's place in `back`, kept between batches */
};

static double ring_round(void *context, long iters)
{
    struct pair *p = context;
    char data[PAYLOAD] = "forty bytes";
    double start = now();
    for (long i = 0; i < iters; i++) {
        put(&p->there, data, PAYLOAD);
        take(&p->back, &p->next, data);
    }
    return 0.5 * (now() - start);
}

static void ring_partner(void *context)
{
    struct pair *p = context;
    char data[PAYLOAD];
    for (long next = 0;;) {
        take(&p->there, &next, data);
        put(&p->back, data, PAYLOAD);
    }
}

static void ring_lead(void *context)
{
    measure("ring", PAYLOAD, ring_round, context, 0.3, 0);
}

int floor_ring(void)
{
    struct pair *p = shared_memory(sizeof *p);
    if (!p)
        return 1;
    channel_init(&p->there);
    channel_init(&p->back);
    return with_partner(p, ring_partner, ring_lead);
}
