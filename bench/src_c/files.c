/* MPI's files. Every rank writes `size` bytes: independently, together as one block each, together with blocks of 4 KiB
 * of all ranks by turns, together as its box of an array of three dimensions, and together with MPI_File_sync; and reads
 * its block, its blocks and its box; writes by blocks and boxes also with MPI_File_sync. Beside them write(2), fsync and read(2) of as many bytes of all ranks by rank 0 alone.
 * MB/s of all ranks together. */
#include "hpvmbench.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { STRIPE = 4096, ROW = 64 /* elements of a box in its first two dimensions */ };

struct work {
    const char *op, *path;
    MPI_File file;
    int plain; /* rank 0's descriptor */
};

static void done(int code, const char *what)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    if (code == MPI_SUCCESS)
        return;
    MPI_Error_string(code, text, &length);
    die("%s: %s", what, text);
}

static void write_plain(const struct point *p, const struct work *w, int sync)
{
    if (p->opt->rank != 0)
        return;
    for (int part = 0; part < p->opt->ranks; part++)
        for (long at = 0; at < p->size;) {
            ssize_t wrote = pwrite(w->plain, p->send + at, (size_t)(p->size - at), (off_t)part * p->size + at);
            if (wrote <= 0)
                die("cannot write %s", w->path);
            at += wrote;
        }
    if (sync && fsync(w->plain) != 0)
        die("cannot bring %s to the disk", w->path);
}

static void read_plain(const struct point *p, const struct work *w)
{
    if (p->opt->rank != 0)
        return;
    for (int part = 0; part < p->opt->ranks; part++)
        for (long at = 0; at < p->size;) {
            ssize_t got = pread(w->plain, p->recv + at, (size_t)(p->size - at), (off_t)part * p->size + at);
            if (got <= 0)
                die("cannot read %s", w->path);
            at += got;
        }
}

static int reads(const char *op)
{
    return strncmp(op, "read", 4) == 0;
}

static void act(const struct point *p, const struct work *w)
{
    MPI_Offset own = (MPI_Offset)p->opt->rank * p->size;
    int count = (int)p->size;
    if (strcmp(w->op, "write_at") == 0)
        done(MPI_File_write_at(w->file, own, p->send, count, MPI_BYTE, MPI_STATUS_IGNORE), w->op);
    else if (strcmp(w->op, "read_at_all") == 0)
        done(MPI_File_read_at_all(w->file, own, p->recv, count, MPI_BYTE, MPI_STATUS_IGNORE), w->op);
    else if (strncmp(w->op, "write_strided", 13) == 0 || strncmp(w->op, "write_box", 9) == 0)
        done(MPI_File_write_at_all(w->file, 0, p->send, count, MPI_BYTE, MPI_STATUS_IGNORE), w->op);
    else if (strcmp(w->op, "read_strided") == 0 || strcmp(w->op, "read_box") == 0)
        done(MPI_File_read_at_all(w->file, 0, p->recv, count, MPI_BYTE, MPI_STATUS_IGNORE), w->op);
    else if (strcmp(w->op, "read(2)") == 0)
        read_plain(p, w);
    else if (strcmp(w->op, "write(2)") == 0 || strcmp(w->op, "write(2)+fsync") == 0)
        write_plain(p, w, strcmp(w->op, "write(2)") != 0);
    else
        done(MPI_File_write_at_all(w->file, own, p->send, count, MPI_BYTE, MPI_STATUS_IGNORE), w->op);
    if (strstr(w->op, "+sync"))
        done(MPI_File_sync(w->file), w->op);
}

static double repeat(struct point *p, long iters)
{
    const struct work *w = p->extra;
    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime();
    for (long i = 0; i < iters; i++)
        act(p, w);
    MPI_Barrier(MPI_COMM_WORLD);
    return MPI_Wtime() - start;
}

/* Blocks of all ranks by turns. */
static MPI_Datatype stripes(const struct point *p)
{
    MPI_Datatype stripe, type;
    MPI_Type_contiguous(STRIPE, MPI_BYTE, &stripe);
    MPI_Type_create_resized(stripe, 0, (MPI_Aint)STRIPE * p->opt->ranks, &type);
    MPI_Type_free(&stripe);
    return type;
}

/* The box of a rank: ROW * ROW elements of 8 bytes by as many as make up its size, in an array that is divided in all
 * dimensions, first in the one in which elements follow each other. */
static MPI_Datatype box(const struct point *p)
{
    int dims[3] = {0}, sizes[3], parts[3] = {(int)(p->size / (8L * ROW * ROW)), ROW, ROW}, starts[3], rest = p->opt->rank;
    MPI_Datatype element, type;
    MPI_Dims_create(p->opt->ranks, 3, dims);
    for (int i = 2; i >= 0; i--) {
        /* The largest number of parts is that of the first of dims, and goes to the last dimension. */
        int n = dims[2 - i];
        sizes[i] = parts[i] * n;
        starts[i] = parts[i] * (rest % n);
        rest /= n;
    }
    MPI_Type_contiguous(8, MPI_BYTE, &element);
    MPI_Type_create_subarray(3, sizes, parts, starts, MPI_ORDER_C, element, &type);
    MPI_Type_free(&element);
    return type;
}

static void set_view(const struct point *p, struct work *w)
{
    MPI_Offset first = 0;
    MPI_Datatype type = MPI_BYTE;
    if (strstr(w->op, "_strided")) {
        first = (MPI_Offset)STRIPE * p->opt->rank;
        type = stripes(p);
    } else if (strstr(w->op, "_box")) {
        type = box(p);
    }
    if (type != MPI_BYTE)
        MPI_Type_commit(&type);
    done(MPI_File_set_view(w->file, first, MPI_BYTE, type, "native", MPI_INFO_NULL), "MPI_File_set_view");
    if (type != MPI_BYTE)
        MPI_Type_free(&type);
}

static const char *const ops[] = {"write_at",  "write_at_all", "read_at_all",        "write_strided",  "read_strided",
                                  "write_box", "read_box",     "write_strided+sync", "write_box+sync", "write+sync",
                                  "write(2)",  "read(2)",      "write(2)+fsync"};
enum { OPS = sizeof ops / sizeof *ops };

int is_files_operation(const char *name)
{
    for (int i = 0; i < OPS; i++)
        if (strcmp(ops[i], name) == 0)
            return 1;
    return 0;
}

/* What is read has to be written before. */
static int is_wanted(const char *asked, const char *op)
{
    return strcmp(asked, op) == 0 || (reads(asked) && !reads(op) && strcmp(asked + strlen("read"), op + strlen("write")) == 0);
}

static void measure_size(const struct options *opt, struct work *w, long size)
{
    struct point p = {.opt = opt, .scope = SCOPE_ALL, .size = size, .run = repeat, .extra = w};
    p.send = bench_alloc(opt, (size_t)size);
    p.recv = bench_alloc(opt, (size_t)size);
    for (int i = 0; i < OPS; i++) {
        struct summary s = {0};
        w->op = ops[i];
        if (opt->op && !is_wanted(opt->op, w->op))
            continue;
        if (strstr(w->op, "_box") && size % (8L * ROW * ROW) != 0)
            continue;
        set_view(&p, w);
        stamp(p.send, size, opt->rank);
        p.batch_no = opt->rank;
        /* What is read was written by the line before in the same places. */
        measure(&p, &s);
        if (reads(w->op) && strcmp(w->op, "read(2)") != 0)
            check_stamp(&p, p.recv, opt->rank, "block of a file");
        report_of(opt, w->op, NULL, "MB/s", size, &s, (double)size * opt->ranks, 1e-6);
    }
    bench_free(opt, p.send);
    bench_free(opt, p.recv);
}

int run_files(const struct options *opt)
{
    long sizes[MAX_SIZES];
    int count = list_sizes(opt, STRIPE, sizes);
    char path[PATH_MAX], plain[PATH_MAX + 8];
    long job = (long)getpid();
    MPI_Bcast(&job, 1, MPI_LONG, 0, MPI_COMM_WORLD);
    snprintf(path, sizeof path, "%s/hpvmbench.%ld", opt->file ? opt->file : ".", job);
    snprintf(plain, sizeof plain, "%s.plain", path);
    struct work w = {.path = plain, .plain = -1};
    done(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                       MPI_INFO_NULL, &w.file), path);
    if (opt->rank == 0) {
        w.plain = open(plain, O_CREAT | O_RDWR | O_TRUNC, 0600);
        if (w.plain < 0)
            die("cannot create %s", plain);
        unlink(plain);
    }
    for (int i = 0; i < count; i++)
        measure_size(opt, &w, sizes[i]);
    if (opt->rank == 0)
        close(w.plain);
    done(MPI_File_close(&w.file), "MPI_File_close");
    return 0;
}
