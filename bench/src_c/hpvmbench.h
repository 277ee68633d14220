/* hpvmbench: message-passing measurements that use nothing but the MPI standard.
 *
 * One executable, one mode per measurement; rank 0 prints one JSON object per line.
 * Compiled against the standard ABI it runs unchanged on every MPI that has it.
 */
#ifndef HPVMBENCH_H
#define HPVMBENCH_H

#include <mpi.h>
#include <stddef.h>

enum { MAX_SIZES = 64, MAX_BATCHES = 1001 };
enum { TAG_CONTROL = 1, TAG_DATA = 2, TAG_ACK = 3 };

struct options {
    const char *mode;
    long sizes[MAX_SIZES]; /* bytes, when given with --sizes */
    int size_count;        /* 0: from min to max, doubling */
    long min_size, max_size;
    long iters;    /* per batch; 0: found from `batch` */
    int batches;   /* upper limit for one point */
    double batch;  /* seconds that one batch should last */
    double budget; /* seconds to spend on one point */
    int window;    /* messages in flight */
    long offset;   /* bytes by which buffers are moved off their page boundary */
    int mpi_memory; /* buffers come from MPI_Alloc_mem */
    int one_buffer; /* latency: what came last is sent back */
    int noise;      /* what is sent cannot be compressed */
    int touch;      /* latency, collectives: all data are written before each call, and all that came are read after it */
    int calls;      /* collectives: one of the CALLS_ */
    const char *op; /* rma, files: this operation alone; NULL: all */
    int raw;        /* results carry every batch */
    const char *file; /* files: in this folder */
    const char *granularity; /* rma: mpi_accumulate_granularity of the windows; NULL: none */
    int rank, ranks;
};

/* How collectives are called: back to back with a root that goes round, or with the same one; one at a time; the
 * same, with ranks that are late; the same, on a communicator that has just been made. */
enum { CALLS_ROUND, CALLS_AHEAD, CALLS_ALONE, CALLS_LATE, CALLS_FRESH, CALLS };

/* Who takes part in a measurement: rank 0 alone, ranks 0 and 1, or everybody. */
enum scope { SCOPE_SELF, SCOPE_PAIR, SCOPE_ALL };

/* One point of a curve. `run` does `iters` repetitions and returns the seconds
 * they took on this rank; it is called on every rank that takes part, with the
 * same `iters`. `batch_no` changes with every call and seeds the data check. */
struct point {
    const struct options *opt;
    enum scope scope;
    long size;
    char *send, *recv;
    double (*run)(struct point *p, long iters);
    long batch_no;
    void *extra;
};

/* Seconds per iteration over the batches of one point. */
struct summary {
    double median, min, max;
    long iters;
    int batches;
    const double *seconds; /* of the batches, ascending; until the next measurement */
};

/* One mode of the executable: returns on all ranks, idle ones at once. */
struct mode {
    const char *name;
    int (*run)(const struct options *opt);
    int min_ranks;
    const char *help;
};

int run_latency(const struct options *opt);
int run_bandwidth(const struct options *opt);
int run_rate(const struct options *opt);
int run_collective(const struct options *opt);
int run_datatype(const struct options *opt);
int run_wakeup(const struct options *opt);
int run_memory(const struct options *opt);
int run_rma(const struct options *opt);
int run_overlap(const struct options *opt);
int run_pairs(const struct options *opt);
int run_probe(const struct options *opt);
int run_files(const struct options *opt);
int run_spawn(const struct options *opt);
int run_startup(const struct options *opt);

/* Whether --op may name it. */
int is_rma_operation(const char *name);
int is_files_operation(const char *name);

/* Repeats p->run in batches within the time budget; `out` is filled on rank 0. */
void measure(struct point *p, struct summary *out);

/* Sorts the seconds of `count` batches of `iters` repetitions each, and says what there is to say of them. `seconds` stays in use. */
void summarise(double *seconds, int count, long iters, struct summary *out);

/* The sizes to measure: --sizes, or min..max doubling; `floor` drops smaller ones. */
int list_sizes(const struct options *opt, long floor, long *sizes);

/* A page-aligned buffer of `size` bytes plus the chosen offset, touched; aborts the job
 * when memory is short. Freed with bench_free. */
char *bench_alloc(const struct options *opt, size_t size);
void bench_free(const struct options *opt, char *buffer);

/* Marks first, middle and last byte of a message, and checks such a mark: a wrong
 * byte ends the job, a benchmark of wrong data being worth nothing. */
void stamp(char *buffer, long size, long seed);
void check_stamp(const struct point *p, const char *buffer, long seed, const char *what);
/* Reads all of it, as a program does that uses what has come. */
void read_all(const char *buffer, size_t bytes);

/* Prints a message for people on stderr and ends the whole job. */
void die(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

/* Prints one result line: value = numerator / seconds, or seconds * factor when numerator is 0. */
void report(const struct options *opt, const char *unit, long size, const struct summary *s,
            double numerator, double factor);

/* What report prints, of an operation `op` (NULL: none) on a type or kind of memory `type` (NULL: none). */
void report_of(const struct options *opt, const char *op, const char *type, const char *unit, long size,
               const struct summary *s, double numerator, double factor);

#endif
