/* Datatypes to measure, each with a description of its own of where the data lie: what the
 * library does with the type is checked against that, not against the library. */
#ifndef SHAPES_H
#define SHAPES_H

#include <mpi.h>

enum { SHAPES = 8, SHAPE_GUARD = 64 };

/* A piece of data without a gap: where it lies in memory and where in the message, in bytes. */
struct block {
    long offset, length, at;
};

/* `count` of `type` have the signature of `dense_count` of `dense`, which has no gaps. */
struct shape {
    const char *name;
    MPI_Datatype type, dense;
    int count, dense_count;
    long size;            /* bytes of data */
    long span;            /* bytes from the first to behind the last, gaps included */
    struct block *blocks; /* in the order of the message */
    long block_count, capacity;
};

/* Makes shape number `which` (below SHAPES) with about `bytes` of data, at least 512. */
void make_shape(struct shape *s, int which, long bytes);
void free_shape(struct shape *s);

/* Writes data that depend on `seed` in a few bytes only, the same ones that mark_data writes:
 * as they lie in memory (`typed`) or without gaps. Bytes between them are left alone. */
void write_data(const struct shape *s, int typed, long seed, char *buffer);
void mark_data(const struct shape *s, int typed, long seed, char *buffer);

/* Whether the bytes that depend on `seed` are right. */
int has_marks(const struct shape *s, int typed, long seed, const char *buffer);

/* The first wrong byte of a buffer that was full of `gap` before the data came, the gaps and
 * SHAPE_GUARD bytes behind the end included; -1 if there is none. */
long first_wrong(const struct shape *s, int typed, long seed, char gap, const char *buffer);

#endif
