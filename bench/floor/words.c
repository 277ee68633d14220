/* Words as a total exchange moves them: two pinned processes, each of which appends words with their places to shared memory
 * and then writes what the other one has appended into memory of its own. For comparison words without places, the same bytes
 * in one block, and a call that does nothing. */
#include "floor.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORD = 8, RECORD = 12, MOST = 4 << 20, RECORDS = MOST / WORD };

enum kind { IN_ORDER, AT_RANDOM, WITHOUT_PLACES, BLOCK };

/* What one process tells the other: the round, and how many records of what kind lie in `records[round % 2]`. */
struct side {
    _Alignas(LINE) atomic_long round;
    struct told {
        long words;
        enum kind kind;
    } told[2];
    _Alignas(LINE) char records[2][RECORDS * RECORD];
};

struct exchange {
    struct side sides[2];
    _Alignas(LINE) atomic_long bytes; /* of each process, in each round */
    atomic_int kind;
};

struct process {
    struct exchange *exchange;
    int own;
    long round;
    uint32_t *places; /* in another order */
    uint64_t *source, *target;
};

static void append(const struct process *p, char *at, long words, enum kind kind)
{
    if (kind == BLOCK) {
        memcpy(at, p->source, (size_t)words * WORD);
        return;
    }
    for (long i = 0; i < words; i++) {
        uint32_t place = kind == AT_RANDOM ? p->places[i] : (uint32_t)i;
        if (kind != WITHOUT_PLACES) {
            memcpy(at, &place, sizeof place);
            at += sizeof place;
        }
        memcpy(at, &p->source[i], WORD);
        at += WORD;
        /* A word after the other, as calls bring them. */
        __asm__ volatile("" : : "r"(at) : "memory");
    }
}

static void apply(const struct process *p, const char *at, long words, enum kind kind)
{
    if (kind == WITHOUT_PLACES || kind == BLOCK) {
        memcpy(p->target, at, (size_t)words * WORD);
        return;
    }
    for (long i = 0; i < words; i++, at += RECORD) {
        uint32_t place;
        memcpy(&place, at, sizeof place);
        memcpy(&p->target[place], at + sizeof place, WORD);
    }
}

static void superstep(struct process *p)
{
    struct side *own = &p->exchange->sides[p->own], *other = &p->exchange->sides[1 - p->own];
    enum kind kind = (enum kind)atomic_load_explicit(&p->exchange->kind, memory_order_relaxed);
    long words = atomic_load_explicit(&p->exchange->bytes, memory_order_relaxed) / WORD, turn = ++p->round % 2;
    append(p, own->records[turn], words, kind);
    own->told[turn] = (struct told){words, kind};
    atomic_store_explicit(&own->round, p->round, memory_order_release);
    while (atomic_load_explicit(&other->round, memory_order_acquire) < p->round)
        ;
    apply(p, other->records[turn], other->told[turn].words, other->told[turn].kind);
}

static int prepare(struct process *p, struct exchange *exchange, int own)
{
    *p = (struct process){exchange, own, 0, malloc(RECORDS * sizeof(uint32_t)), malloc(MOST), malloc(MOST)};
    if (!p->places || !p->source || !p->target) {
        fprintf(stderr, "floor: out of memory for twice %d bytes\n", MOST);
        return -1;
    }
    memset(p->source, 1, MOST);
    memset(p->target, 0, MOST);
    return 0;
}

/* The places of so many words in an order that no processor foresees. */
static void shuffle(struct process *p, long words)
{
    uint64_t state = 88172645463325252u;
    for (long i = 0; i < words; i++)
        p->places[i] = (uint32_t)i;
    for (long i = words - 1; i > 0; i--) {
        state ^= state << 13, state ^= state >> 7, state ^= state << 17;
        long j = (long)(state % (uint64_t)(i + 1));
        uint32_t place = p->places[i];
        p->places[i] = p->places[j], p->places[j] = place;
    }
}

static double rounds(void *context, long iters)
{
    double start = now();
    for (long i = 0; i < iters; i++)
        superstep(context);
    return now() - start;
}

__attribute__((noinline)) static void nothing(int to, const void *from, void *base, int offset, int bytes)
{
    __asm__ volatile("" : : "r"(to), "r"(from), "r"(base), "r"(offset), "r"(bytes) : "memory");
}

/* What a library's function for each word costs before it does anything: `iters` calls, through a pointer as to another
 * library. */
static double calls(void *context, long iters)
{
    struct process *p = context;
    void (*volatile hidden)(int, const void *, void *, int, int) = nothing;
    void (*call)(int, const void *, void *, int, int) = hidden;
    double start = now();
    for (long i = 0; i < iters; i++)
        call(1, &p->source[i % RECORDS], p->target, (int)(i % RECORDS) * WORD, WORD);
    return now() - start;
}

static void words_partner(void *context)
{
    struct process p;
    long shuffled = 0;
    if (prepare(&p, context, 1) != 0)
        return;
    for (;;) {
        long words = atomic_load_explicit(&p.exchange->bytes, memory_order_relaxed) / WORD;
        if (words != shuffled)
            shuffle(&p, shuffled = words);
        superstep(&p);
    }
}

static void words_lead(void *context)
{
    static const char *const names[] = {"words", "words_random", "words_packed", "words_block"};
    struct process p;
    if (prepare(&p, context, 0) != 0)
        return;
    measure("call", WORD, calls, &p, 0.2, 0);
    for (long bytes = 1024; bytes <= MOST; bytes *= 8) {
        shuffle(&p, bytes / WORD);
        atomic_store(&p.exchange->bytes, bytes);
        for (int kind = IN_ORDER; kind <= BLOCK; kind++) {
            atomic_store(&p.exchange->kind, kind);
            superstep(&p);
            superstep(&p);
            measure(names[kind], bytes, rounds, &p, 0.2, 0);
        }
    }
}

int floor_words(void)
{
    return with_partner(shared_memory(sizeof(struct exchange)), words_partner, words_lead);
}
