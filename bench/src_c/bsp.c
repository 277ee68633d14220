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

struct operation {
    const char *name;
    /* Moves `bytes` to, or from, process `peer`, at `offset` of both blocks. */
    void (*move)(int peer, long offset, int bytes);
    int queue; /* messages have to be taken out of the queue */
    int reads; /* data comes from the others' source */
};

static void put(int peer, long offset, int bytes)
{
    bsp_put(peer, source + offset, target, (int)offset, bytes);
}

static void hpput(int peer, long offset, int bytes)
{
    bsp_hpput(peer, source + offset, target, (int)offset, bytes);
}

static void get(int peer, long offset, int bytes)
{
    bsp_get(peer, source, (int)offset, target + offset, bytes);
}

static void hpget(int peer, long offset, int bytes)
{
    bsp_hpget(peer, source, (int)offset, target + offset, bytes);
}

static void message(int peer, long offset, int bytes)
{
    int32_t tag = (int32_t)(offset / WORD);
    bsp_send(peer, &tag, source + offset, bytes);
}

static const struct operation operations[] = {
    {"put", put, 0, 0},     {"hpput", hpput, 0, 0}, {"get", get, 0, 1},
    {"hpget", hpget, 0, 1}, {"send", message, 1, 0},
};

enum { OPERATIONS = sizeof operations / sizeof operations[0] };

/* One superstep in which this process moves h bytes in pieces of `bytes`. */
static void superstep(const struct operation *op, long h, long bytes)
{
    long offset = 0;
    for (int peer = s; offset < h; offset += bytes) {
        peer = peer + 1 == p ? 0 : peer + 1;
        if (peer == s && p > 1)
            peer = peer + 1 == p ? 0 : peer + 1;
        op->move(peer, offset, (int)(h - offset < bytes ? h - offset : bytes));
    }
    bsp_sync();
    if (op->queue) {
        void *tag, *payload;
        while (bsp_hpmove(&tag, &payload) >= 0)
            continue;
    }
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

/* Prints the median of some batches of one kind of superstep. */
static void measure(const char *mode, const char *op, const char *shape, void (*run)(const struct work *),
                    const struct work *w)
{
    double once = timed(run, w, 3), batch[BATCHES];
    long iterations = (long)(budget / BATCHES / (once > 1e-9 ? once : 1e-9));
    if (iterations < 1)
        iterations = 1;
    for (int i = 0; i < BATCHES; i++)
        batch[i] = timed(run, w, iterations) * 1e6;
    qsort(batch, BATCHES, sizeof batch[0], ascending);
    if (s == 0) {
        printf("{\"mode\":\"%s\",\"op\":\"%s\",\"type\":\"%s\",\"ranks\":%d,\"size\":%ld,\"unit\":\"us\",\"median\":%.6g,"
               "\"min\":%.6g,\"max\":%.6g,\"iters\":%ld,\"batches\":%d",
               mode, op, shape, p, w->h, batch[BATCHES / 2], batch[0], batch[BATCHES - 1], iterations, BATCHES);
        for (int i = 0; raw && i < BATCHES; i++)
            printf("%s%.5g", i == 0 ? ",\"samples\":[" : ",", batch[i]);
        puts(raw ? "]}" : "}");
        fflush(stdout);
    }
}

static void measure_all(void)
{
    struct work nothing = {&operations[0], 0, WORD};
    measure("barrier", "MPI_Barrier", "-", run_barrier, &nothing);
    measure("sync", "bsp_sync", "-", run_superstep, &nothing);
    for (long h = 64; h <= most; h *= 4) {
        struct work copy = {NULL, h, h};
        measure("memcpy", "memcpy", "-", run_memcpy, &copy);
        for (int i = 0; i < OPERATIONS; i++) {
            long others = p > 1 ? p - 1 : 1;
            struct work words = {&operations[i], h, WORD};
            struct work blocks = {&operations[i], h, (h / others + WORD - 1) / WORD * WORD};
            check(&operations[i], h, words.bytes);
            measure("h-relation", operations[i].name, "words", run_superstep, &words);
            check(&operations[i], h, blocks.bytes);
            measure("h-relation", operations[i].name, "blocks", run_superstep, &blocks);
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
