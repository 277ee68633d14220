/* How often, how long, and what comes out: the part that all measurements share. */
#include "hpvmbench.h"
#include "batches.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MIN_BATCHES = 5, CALIBRATIONS = 12 };

void summarise(double *seconds, int count, long iters, struct summary *out)
{
    qsort(seconds, (size_t)count, sizeof *seconds, ascending);
    out->median = count % 2 ? seconds[count / 2]
                            : 0.5 * (seconds[count / 2 - 1] + seconds[count / 2]);
    out->min = seconds[0];
    out->max = seconds[count - 1];
    out->iters = iters;
    out->batches = count;
    out->seconds = seconds;
}

/* Tells everybody how many repetitions come next; 0 ends the point. Both sides
 * have arrived when it returns, so that no batch times its partner's lateness. */
static long agree(struct point *p, long iters)
{
    if (p->scope == SCOPE_SELF)
        return iters;
    if (p->scope == SCOPE_ALL) {
        MPI_Bcast(&iters, 1, MPI_LONG, 0, MPI_COMM_WORLD);
        MPI_Barrier(MPI_COMM_WORLD);
    } else if (p->opt->rank == 0) {
        MPI_Send(&iters, 1, MPI_LONG, 1, TAG_CONTROL, MPI_COMM_WORLD);
        MPI_Recv(NULL, 0, MPI_BYTE, 1, TAG_ACK, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        MPI_Recv(&iters, 1, MPI_LONG, 0, TAG_CONTROL, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(NULL, 0, MPI_BYTE, 0, TAG_ACK, MPI_COMM_WORLD);
    }
    return iters;
}

/* One batch; the seconds of the slowest rank that takes part, on rank 0. */
static double batch(struct point *p, long iters)
{
    p->batch_no++;
    double seconds = p->run(p, iters), slowest = seconds;
    if (p->scope == SCOPE_ALL)
        MPI_Reduce(&seconds, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    return slowest;
}

/* Finds a number of repetitions that lasts about opt->batch; warms up meanwhile. */
static long calibrate(struct point *p, double start)
{
    const struct options *opt = p->opt;
    long iters = opt->iters > 0 ? opt->iters : 1;
    for (int step = 0; step < CALIBRATIONS; step++) {
        agree(p, iters);
        double seconds = batch(p, iters);
        /* The first pass is cold: it only counts when it is long beyond doubt. */
        double enough = step == 0 ? 20 * opt->batch : 0.7 * opt->batch;
        if (opt->iters > 0 || seconds >= enough || MPI_Wtime() - start > opt->budget)
            break;
        double wanted = seconds > 0 ? opt->batch / seconds * (double)iters : 10.0 * (double)iters;
        long next = wanted > 10.0 * (double)iters ? 10 * iters : (long)wanted + 1;
        iters = next > iters ? next : iters + 1;
    }
    return iters;
}

static void lead(struct point *p, struct summary *out)
{
    static double seconds[MAX_BATCHES];
    const struct options *opt = p->opt;
    double start = MPI_Wtime();
    long iters = calibrate(p, start);
    int count = 0;
    int least = opt->batches < MIN_BATCHES ? opt->batches : MIN_BATCHES;
    while (count < least || (count < opt->batches && MPI_Wtime() - start < opt->budget)) {
        agree(p, iters);
        seconds[count++] = batch(p, iters) / (double)iters;
    }
    agree(p, 0);
    summarise(seconds, count, iters, out);
}

void measure(struct point *p, struct summary *out)
{
    long iters;
    if (p->opt->rank == 0) {
        lead(p, out);
        return;
    }
    while ((iters = agree(p, 0)) > 0)
        batch(p, iters);
}

int list_sizes(const struct options *opt, long floor, long *sizes)
{
    int count = 0;
    if (opt->size_count > 0) {
        for (int i = 0; i < opt->size_count; i++)
            if (opt->sizes[i] >= floor)
                sizes[count++] = opt->sizes[i];
        return count;
    }
    long size = opt->min_size > floor ? opt->min_size : floor;
    while (size <= opt->max_size && count < MAX_SIZES) {
        sizes[count++] = size;
        if (size > opt->max_size / 2)
            break;
        size = size == 0 ? 1 : 2 * size;
    }
    return count;
}

char *bench_alloc(const struct options *opt, size_t size)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t whole = (size + (size_t)opt->offset + page) / page * page;
    void *memory = NULL;
    if (opt->mpi_memory)
        MPI_Alloc_mem((MPI_Aint)whole, MPI_INFO_NULL, &memory); /* fails by ending the job */
    else if (posix_memalign(&memory, page, whole) != 0)
        die("out of memory: a buffer of %zu bytes; try a smaller --max", size);
    memset(memory, 0x5a, whole);
    if (opt->noise) {
        unsigned long long state = 0x9e3779b97f4a7c15ULL;
        for (size_t i = 0; i < whole; i++) {
            state = state * 6364136223846793005ULL + 1;
            ((unsigned char *)memory)[i] = (unsigned char)(state >> 56);
        }
    }
    return (char *)memory + opt->offset;
}

void bench_free(const struct options *opt, char *buffer)
{
    if (opt->mpi_memory)
        MPI_Free_mem(buffer - opt->offset);
    else
        free(buffer - opt->offset);
}

static char mark(long seed, int place)
{
    return (char)(17 * seed + 59 * place + 1);
}

void stamp(char *buffer, long size, long seed)
{
    if (size <= 0)
        return;
    buffer[size / 2] = mark(seed, 1);
    buffer[0] = mark(seed, 0);
    if (size > 2)
        buffer[size - 1] = mark(seed, 2);
}

void check_stamp(const struct point *p, const char *buffer, long seed, const char *what)
{
    const long places[3] = {0, p->size / 2, p->size - 1};
    for (int i = 0; i < 3; i++) {
        if (p->size <= 0 || (i == 1 && p->size < 2) || (i == 2 && p->size < 3))
            continue;
        if (buffer[places[i]] != mark(seed, i))
            die("wrong data: %s of %ld bytes, byte %ld is 0x%02x, expected 0x%02x, rank %d", what,
                p->size, places[i], (unsigned char)buffer[places[i]],
                (unsigned char)mark(seed, i), p->opt->rank);
    }
}

void read_all(const char *buffer, size_t bytes)
{
    uint64_t sum = 0, word = 0;
    size_t at = 0;
    for (; at + sizeof word <= bytes; at += sizeof word) {
        memcpy(&word, buffer + at, sizeof word);
        sum += word;
    }
    for (; at < bytes; at++)
        sum += (unsigned char)buffer[at];
    /* The sum is wanted, as far as the compiler knows. */
    volatile uint64_t wanted = sum;
    (void)wanted;
}

void die(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fputs("hpvmbench: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    MPI_Abort(MPI_COMM_WORLD, 3);
    exit(3);
}

/* Every batch, for statistics that need more than three numbers. */
static void print_samples(const struct summary *s, double numerator, double factor)
{
    printf(",\"samples\":[");
    for (int i = 0; s->seconds && i < s->batches; i++) {
        double value = numerator > 0 ? numerator / s->seconds[i] * factor : s->seconds[i] * factor;
        printf("%s%.5g", i == 0 ? "" : ",", value);
    }
    printf("]");
}

void report_of(const struct options *opt, const char *op, const char *type, const char *unit, long size,
               const struct summary *s, double numerator, double factor)
{
    double median = s->median * factor, least = s->min * factor, most = s->max * factor;
    if (opt->rank != 0)
        return;
    if (numerator > 0) {
        median = numerator / s->median * factor;
        least = numerator / s->max * factor;
        most = numerator / s->min * factor;
    }
    printf("{\"mode\":\"%s\",", opt->mode);
    if (op)
        printf("\"op\":\"%s\",", op);
    if (type)
        printf("\"type\":\"%s\",", type);
    printf("\"ranks\":%d,\"size\":%ld,\"unit\":\"%s\",\"median\":%.6g,"
           "\"min\":%.6g,\"max\":%.6g,\"iters\":%ld,\"batches\":%d",
           opt->ranks, size, unit, median, least, most, s->iters, s->batches);
    if (opt->raw)
        print_samples(s, numerator, factor);
    puts("}");
    fflush(stdout);
}

void report(const struct options *opt, const char *unit, long size, const struct summary *s,
            double numerator, double factor)
{
    report_of(opt, NULL, NULL, unit, size, s, numerator, factor);
}
