/* hpvmbsp: the parameters of the BSP machine. Rank 0 prints one JSON object per line, as hpvmbench does.
 *
 * Every measurement is the time of a superstep in which each process has h bytes for the others and gets h bytes from
 * them: as words of 8 bytes that go to the others in turn, or as one block for each. Beside them: an empty superstep,
 * MPI_Barrier, and memcpy of as many bytes by all processes at once. Data is checked once per point.
 *
 *     hpvmbsp [--budget SECONDS_PER_POINT] [--max BYTES] [--raw yes]
 */
#include "batches.h"
#include <bsp.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORD = 8, BATCHES = 15, TAG = 4 };

static double budget = 0.2;
static int raw;
static long most = 4 << 20;

static int p, s;
static char *source, *target;

/* Moves `bytes` to, or from, process `peer`, at `offset` of both blocks. */
typedef void move(char *from, char *to, int peer, long offset, int bytes);

static inline void put(char *from, char *to, int peer, long offset, int bytes)
{
    bsp_put(peer, from + offset, to, (int)offset, bytes);
}

static inline void hpput(char *from, char *to, int peer, long offset, int bytes)
{
    bsp_hpput(peer, from + offset, to, (int)offset, bytes);
}

static inline void get(char *from, char *to, int peer, long offset, int bytes)
{
    bsp_get(peer, from, (int)offset, to + offset, bytes);
}

static inline void hpget(char *from, char *to, int peer, long offset, int bytes)
{
    bsp_hpget(peer, from, (int)offset, to + offset, bytes);
}

static inline void message(char *from, char *to, int peer, long offset, int bytes)
{
    int32_t tag = (int32_t)(offset / WORD);
    (void)to;
    bsp_send(peer, &tag, from + offset, bytes);
}

/* The moves of a superstep to the other processes in turn, in a loop of its own for each operation, as programs have it. */
static inline __attribute__((always_inline)) void moves(move *by, long h, long bytes, int words)
{
    const int own = s, others = p > 1 ? p - 1 : 1, all = p;
    char *from = source, *to = target;
    for (long offset = 0, turn = 0; offset < h; offset += bytes) {
        int peer = own + 1 + (int)turn;
        by(from, to, peer < all ? peer : peer - all, offset, words ? WORD : (int)(h - offset < bytes ? h - offset : bytes));
        turn = turn + 1 == others ? 0 : turn + 1;
    }
}

#define LOOPS(op)                                                                                                      \
    static void op##_words(long h)                                                                                     \
    {                                                                                                                  \
        moves(op, h, WORD, 1);                                                                                         \
    }                                                                                                                  \
    static void op##_blocks(long h, long bytes)                                                                        \
    {                                                                                                                  \
        moves(op, h, bytes, 0);                                                                                        \
    }
LOOPS(put)
LOOPS(hpput)
LOOPS(get)
LOOPS(hpget)
LOOPS(message)

struct operation {
    const char *name;
    void (*words)(long h);
    void (*blocks)(long h, long bytes);
    int queue; /* messages have to be taken out of the queue */
    int reads; /* data comes from the others' source */
};

static const struct operation operations[] = {
    {"put", put_words, put_blocks, 0, 0},         {"hpput", hpput_words, hpput_blocks, 0, 0},
    {"get", get_words, get_blocks, 0, 1},         {"hpget", hpget_words, hpget_blocks, 0, 1},
    {"send", message_words, message_blocks, 1, 0},
};

enum { OPERATIONS = sizeof operations / sizeof operations[0] };

/* Takes all messages, and looks at each. */
static void take(void)
{
    void *tag, *payload;
    uint64_t word, sum = 0;
    while (bsp_hpmove(&tag, &payload) >= 0) {
        memcpy(&word, payload, sizeof word);
        sum += word;
    }
    __asm__ volatile("" : : "r"(sum));
}

/* One superstep in which this process moves h bytes in pieces of `bytes`. */
static void superstep(const struct operation *op, long h, long bytes)
{
    if (bytes == WORD)
        op->words(h);
    else
        op->blocks(h, bytes);
    bsp_sync();
    if (op->queue)
        take();
}

/* Messages come with what was sent, and gets with the others' source, which holds the same everywhere. */
static void check(const struct operation *op, long h, long bytes)
{
    memset(target, 0, (size_t)h);
    superstep(op, 0, 1);
    superstep(op, h, bytes);
    long sum = 0;
    if (op->queue)
        return;
    for (long i = 0; i < h; i++)
        sum += target[i] == source[i];
    /* With more than two processes puts come from several; they are the same, and cover the same bytes. */
    if (sum != h)
        bsp_abort("hpvmbsp: %s of %ld bytes in pieces of %ld: %ld bytes are wrong\n", op->name, h, bytes, h - sum);
}

struct work {
    const struct operation *op;
    long h, bytes;
};

static void run_superstep(const struct work *w)
{
    superstep(w->op, w->h, w->bytes);
}

static void run_barrier(const struct work *w)
{
    (void)w;
    MPI_Barrier(MPI_COMM_WORLD);
}

static void run_memcpy(const struct work *w)
{
    memcpy(target, source, (size_t)w->h);
    __asm__ volatile("" : : "r"(target) : "memory");
}

static double timed(void (*run)(const struct work *), const struct work *w, long iterations)
{
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = MPI_Wtime();
    for (long i = 0; i < iterations; i++)
        run(w);
    double own = MPI_Wtime() - begin, slowest;
    MPI_Allreduce(&own, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return slowest / (double)iterations;
}

struct series {
    const char *mode, *op, *shape;
    void (*run)(const struct work *);
    struct work work;
    long iterations;
    double batch[BATCHES];
};

static void print(struct series *of)
{
    qsort(of->batch, BATCHES, sizeof of->batch[0], ascending);
    printf("{\"mode\":\"%s\",\"op\":\"%s\",\"type\":\"%s\",\"ranks\":%d,\"size\":%ld,\"unit\":\"us\",\"median\":%.6g,"
           "\"min\":%.6g,\"max\":%.6g,\"iters\":%ld,\"batches\":%d",
           of->mode, of->op, of->shape, p, of->work.h, of->batch[BATCHES / 2], of->batch[0], of->batch[BATCHES - 1],
           of->iterations, BATCHES);
    for (int i = 0; raw && i < BATCHES; i++)
        printf("%s%.5g", i == 0 ? ",\"samples\":[" : ",", of->batch[i]);
    puts(raw ? "]}" : "}");
    fflush(stdout);
}

/* Prints the medians of some batches of each kind of superstep, measured in turn: what disturbs one disturbs the others. */
static void measure(struct series *of, int count)
{
    for (int k = 0; k < count; k++) {
        double once = timed(of[k].run, &of[k].work, 3);
        of[k].iterations = (long)(budget / BATCHES / (once > 1e-9 ? once : 1e-9));
        if (of[k].iterations < 1)
            of[k].iterations = 1;
    }
    for (int i = 0; i < BATCHES; i++)
        for (int k = 0; k < count; k++)
            of[k].batch[i] = timed(of[k].run, &of[k].work, of[k].iterations) * 1e6;
    for (int k = 0; k < count && s == 0; k++)
        print(&of[k]);
}

static void measure_all(void)
{
    struct series empty[] = {{.mode = "barrier", .op = "MPI_Barrier", .shape = "-", .run = run_barrier},
                             {.mode = "sync", .op = "bsp_sync", .shape = "-", .run = run_superstep}};
    empty[0].work = empty[1].work = (struct work){&operations[0], 0, WORD};
    measure(empty, 2);
    for (long h = 64; h <= most; h *= 4) {
        struct series copy = {.mode = "memcpy", .op = "memcpy", .shape = "-", .run = run_memcpy, .work = {NULL, h, h}};
        measure(&copy, 1);
        for (int i = 0; i < OPERATIONS; i++) {
            long others = p > 1 ? p - 1 : 1, block = (h / others + WORD - 1) / WORD * WORD;
            struct series exchange = {
                .mode = "h-relation", .op = operations[i].name, .shape = "words", .run = run_superstep};
            exchange.work = (struct work){&operations[i], h, WORD};
            check(&operations[i], h, WORD);
            measure(&exchange, 1);
            exchange.shape = "blocks";
            exchange.work.bytes = block;
            check(&operations[i], h, block);
            measure(&exchange, 1);
        }
    }
}

static void options(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        char *end = NULL;
        if (i + 1 < argc && strcmp(argv[i], "--budget") == 0)
            budget = strtod(argv[++i], &end);
        else if (i + 1 < argc && strcmp(argv[i], "--max") == 0)
            most = strtol(argv[++i], &end, 10);
        else if (i + 1 < argc && strcmp(argv[i], "--raw") == 0) {
            raw = strcmp(argv[++i], "yes") == 0;
            end = argv[i] + strlen(argv[i]);
        }
        if (end == NULL || *end != '\0' || budget <= 0 || most < 64 || most > 1 << 30)
            bsp_abort("hpvmbsp: '%s'; expected [--budget SECONDS] [--max BYTES] [--raw yes], 64 to 2^30 bytes\n", argv[i]);
    }
}

int main(int argc, char **argv)
{
    bsp_begin(bsp_nprocs());
    options(argc, argv);
    p = bsp_nprocs();
    s = bsp_pid();
    source = malloc((size_t)most);
    target = malloc((size_t)most);
    if (source == NULL || target == NULL)
        bsp_abort("hpvmbsp: no memory for twice %ld bytes\n", most);
    for (long i = 0; i < most; i++)
        source[i] = (char)(i * 7 + i / 251 + 1);
    int tag = TAG;
    bsp_push_reg(source, (int)most);
    bsp_push_reg(target, (int)most);
    bsp_set_tagsize(&tag);
    bsp_sync();
    measure_all();
    bsp_end();
    free(source);
    free(target);
    return 0;
}
