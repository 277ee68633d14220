/* The datatypes that are measured: how they are made and where their data lie. */
#include "hpvmbench.h"
#include "shapes.h"

#include <stdlib.h>
#include <string.h>

enum { WORD = sizeof(double), COLUMNS = 512, DEPTH = 32 };

/* Of such an array everything but `owner` is sent, as a simulation sends its particles. */
struct particle {
    double position[3];
    long owner;
    double velocity[3];
    int kind, cell;
};

/* What of a particle is sent, in bytes. */
enum { PARTICLE = 6 * WORD + 2 * sizeof(int) };

/* The next `length` bytes of the message lie at `offset`. */
static void add(struct shape *s, long offset, long length)
{
    struct block *last = s->block_count > 0 ? &s->blocks[s->block_count - 1] : NULL;
    if (last && last->offset + last->length == offset) {
        last->length += length;
    } else {
        if (s->block_count == s->capacity) {
            s->capacity = s->capacity > 0 ? 2 * s->capacity : 64;
            s->blocks = realloc(s->blocks, (size_t)s->capacity * sizeof *s->blocks);
            if (!s->blocks)
                die("out of memory: the blocks of a datatype; try smaller --sizes");
        }
        s->blocks[s->block_count++] = (struct block){offset, length, s->size};
    }
    s->size += length;
    if (offset + length > s->span)
        s->span = offset + length;
}

/* Two sides whose product is about `words`, the first a power of two and not the larger. */
static void sides(long words, int side[2])
{
    long first = 1;
    while (4 * first * first <= words)
        first *= 2;
    side[0] = (int)first;
    side[1] = (int)(words / first);
}

static void contiguous(struct shape *s, long words)
{
    MPI_Type_contiguous((int)words, MPI_DOUBLE, &s->type);
    add(s, 0, words * WORD);
}

static void every_second(struct shape *s, long words)
{
    MPI_Type_vector((int)words, 1, 2, MPI_DOUBLE, &s->type);
    for (long i = 0; i < words; i++)
        add(s, 2 * i * WORD, WORD);
}

/* Columns of a matrix of 512 columns, one after the other: a column of 512 rows is 4 KiB. */
static void columns(struct shape *s, long words)
{
    MPI_Datatype column;
    long rows = words < COLUMNS ? words : COLUMNS;
    if (words / rows > COLUMNS)
        rows = words / COLUMNS;
    s->count = (int)(words / rows);
    MPI_Type_vector((int)rows, 1, COLUMNS, MPI_DOUBLE, &column);
    MPI_Type_create_resized(column, 0, WORD, &s->type);
    MPI_Type_free(&column);
    for (long c = 0; c < s->count; c++)
        for (long r = 0; r < rows; r++)
            add(s, (r * COLUMNS + c) * WORD, WORD);
}

/* The last `dims` of three dimensions; those before have length 1. */
static void subarray(struct shape *s, int dims, const int whole[3], const int part[3],
                     const int start[3])
{
    int skip = 3 - dims;
    MPI_Type_create_subarray(dims, whole + skip, part + skip, start + skip, MPI_ORDER_C,
                             MPI_DOUBLE, &s->type);
    for (long x = start[0]; x < start[0] + part[0]; x++)
        for (long y = start[1]; y < start[1] + part[1]; y++)
            add(s, ((x * whole[1] + y) * whole[2] + start[2]) * WORD, part[2] * (long)WORD);
}

static void middle(struct shape *s, long words)
{
    int side[2];
    sides(words, side);
    const int whole[3] = {1, 2 * side[0], 2 * side[1]}, part[3] = {1, side[0], side[1]};
    const int start[3] = {0, side[0] / 2, side[1] / 2};
    subarray(s, 2, whole, part, start);
}

/* How far a 3-D array goes on behind its face: as far as the face is wide, within limits. */
static int depth(const int side[2])
{
    return side[1] < DEPTH ? side[1] : DEPTH;
}

static void face_of_rows(struct shape *s, long words)
{
    int side[2];
    sides(words, side);
    const int whole[3] = {side[0], depth(side), side[1]}, part[3] = {side[0], 1, side[1]};
    const int start[3] = {0, depth(side) - 1, 0};
    subarray(s, 3, whole, part, start);
}

static void face_of_points(struct shape *s, long words)
{
    int side[2];
    sides(words, side);
    const int whole[3] = {side[0], side[1], depth(side)}, part[3] = {side[0], side[1], 1};
    const int start[3] = {0, 0, depth(side) - 1};
    subarray(s, 3, whole, part, start);
}

/* A structure of the particle's sent fields at the places `at`, `extent` bytes long. */
static MPI_Datatype particle_type(const MPI_Aint at[3], MPI_Aint extent)
{
    const int lengths[3] = {3, 3, 2};
    const MPI_Datatype types[3] = {MPI_DOUBLE, MPI_DOUBLE, MPI_INT};
    MPI_Datatype fields, type;
    MPI_Type_create_struct(3, lengths, at, types, &fields);
    MPI_Type_create_resized(fields, 0, extent, &type);
    MPI_Type_free(&fields);
    return type;
}

static void structures(struct shape *s, long words)
{
    const MPI_Aint at[3] = {offsetof(struct particle, position),
                            offsetof(struct particle, velocity), offsetof(struct particle, kind)};
    const MPI_Aint dense[3] = {0, 3 * WORD, 6 * WORD};
    const long lengths[3] = {3 * WORD, 3 * WORD, 2 * sizeof(int)};
    s->count = (int)(words * WORD / PARTICLE);
    s->type = particle_type(at, sizeof(struct particle));
    s->dense = particle_type(dense, PARTICLE);
    s->dense_count = s->count;
    for (long i = 0; i < s->count; i++)
        for (int f = 0; f < 3; f++)
            add(s, i * (long)sizeof(struct particle) + (long)at[f], lengths[f]);
}

/* A vector of pairs of vectors, of pairs of doubles themselves: 16 doubles out of 42. */
static void nested(struct shape *s, long words)
{
    MPI_Datatype inner;
    long outer = words / 16;
    MPI_Type_vector(4, 2, 4, MPI_DOUBLE, &inner);
    MPI_Type_vector((int)outer, 2, 3, inner, &s->type);
    MPI_Type_free(&inner);
    for (long i = 0; i < outer; i++)
        for (long j = 0; j < 2; j++)
            for (long k = 0; k < 4; k++)
                add(s, (42 * i + 14 * j + 4 * k) * WORD, 2 * WORD);
}

static const struct {
    const char *name;
    void (*make)(struct shape *s, long words);
} makers[SHAPES] = {
    {"contiguous", contiguous},     {"stride 2", every_second},
    {"columns of 512", columns},    {"2-D middle", middle},
    {"3-D face, rows", face_of_rows}, {"3-D face, points", face_of_points},
    {"structures", structures},     {"nested vectors", nested},
};

void make_shape(struct shape *s, int which, long bytes)
{
    *s = (struct shape){.name = makers[which].name, .count = 1, .dense = MPI_DOUBLE};
    makers[which].make(s, bytes / WORD);
    MPI_Type_commit(&s->type);
    if (s->dense_count > 0)
        MPI_Type_commit(&s->dense);
    else
        s->dense_count = (int)(s->size / WORD);
}

void free_shape(struct shape *s)
{
    MPI_Type_free(&s->type);
    if (s->dense != MPI_DOUBLE)
        MPI_Type_free(&s->dense);
    free(s->blocks);
}

/* Not the same for any two neighbouring bytes, doubles or rows. */
static char plain(long k)
{
    return (char)(131 * k + 17 * (k >> 3) + 7 * (k >> 8) + 3 * (k >> 12));
}

static char marked(long seed, int place)
{
    return (char)(17 * seed + 59 * place + 1);
}

/* The bytes that change from batch to batch: the first, one in the middle, the last. */
static void mark_places(const struct shape *s, int typed, long places[3])
{
    const struct block *half = &s->blocks[s->block_count / 2];
    const struct block *last = &s->blocks[s->block_count - 1];
    places[0] = typed ? s->blocks[0].offset : 0;
    places[1] = (typed ? half->offset : half->at) + half->length / 2;
    places[2] = (typed ? last->offset : last->at) + last->length - 1;
}

void mark_data(const struct shape *s, int typed, long seed, char *buffer)
{
    long places[3];
    mark_places(s, typed, places);
    for (int i = 0; i < 3; i++)
        buffer[places[i]] = marked(seed, i);
}

int has_marks(const struct shape *s, int typed, long seed, const char *buffer)
{
    long places[3];
    mark_places(s, typed, places);
    for (int i = 0; i < 3; i++)
        if (buffer[places[i]] != marked(seed, i))
            return 0;
    return 1;
}

void write_data(const struct shape *s, int typed, long seed, char *buffer)
{
    for (const struct block *b = s->blocks; b < s->blocks + s->block_count; b++)
        for (long i = 0; i < b->length; i++)
            buffer[(typed ? b->offset : b->at) + i] = plain(b->at + i);
    mark_data(s, typed, seed, buffer);
}

long first_wrong(const struct shape *s, int typed, long seed, char gap, const char *buffer)
{
    long length = (typed ? s->span : s->size) + SHAPE_GUARD, wrong = 0;
    char *expected = malloc((size_t)length);
    if (!expected)
        die("out of memory: a copy of %ld bytes; try smaller --sizes", length);
    memset(expected, gap, (size_t)length);
    write_data(s, typed, seed, expected);
    while (wrong < length && buffer[wrong] == expected[wrong])
        wrong++;
    free(expected);
    return wrong < length ? wrong : -1;
}
