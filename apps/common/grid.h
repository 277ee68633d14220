/* A box of cells on many ranks: who has which part, ghost layers around it, cells in checkpoints. */
#ifndef GRID_H
#define GRID_H

#include "app.h"

enum { GRID_LINE = 8 }; /* numbers of a cache line: where own rows begin */

/* Cell (i, j, k) of this rank counts from its own first cell; ghosts have indices below 0 and from size on.
 * Cells of a row (k) are neighbours in memory. */
struct grid {
    MPI_Comm comm;
    int rank, ranks;
    int n[3], periodic[3];
    int dims[3], at[3];      /* ranks per direction; this rank's position */
    int first[3], size[3];   /* own cells in the whole box */
    int block[3];            /* a part is a whole number of blocks of so many cells */
    int ghost[3];            /* layers that there is room for */
    ptrdiff_t row, plane;    /* distance in memory of neighbours in j and in i */
    size_t points, origin;   /* numbers of a field; where cell (0, 0, 0) lies in its memory */
    int neighbour[3][2];     /* below and above; MPI_PROC_NULL behind a border */
    int has_faces;           /* fields may be at lower faces: behind an upper border is a layer that is nobody's ghosts */
    double *buffer;
    size_t buffer_size;
    MPI_Request requests[4]; /* of messages on their way */
};

/* Splits a box of n cells with the least surface between ranks, each part at least `least` cells thick.
 * Returns 0 when there is no such split. */
int grid_split(struct grid *g, MPI_Comm comm, const int n[3], const int periodic[3], int ghost, int least);
/* The same for parts that are whole blocks of `block` cells per direction. Directions of one cell have no blocks and no ghosts. */
int grid_split_blocks(struct grid *g, MPI_Comm comm, const int n[3], const int periodic[3], int ghost, int block);
int grid_fits(const int64_t n[3], int ranks, int least); /* whether there is one */
void grid_free(struct grid *g);

/* What a run prints at its beginning and its end, on rank 0: how the box is split, without an end of the line; how fast it was. */
void grid_print_size(const struct grid *g);
void grid_print_speed(const struct grid *g, int64_t steps, double seconds, double exchange);

/* Says that there is none, for all ranks; returns the exit code. */
int grid_refuse(const struct app *app, const int64_t n[3], int ranks, int least);

/* A field of zeros with ghosts, as a pointer to cell (0, 0, 0), and room for two lines behind it; NULL is free to free. */
double *grid_field(const struct grid *g);
void grid_field_free(const struct grid *g, double *field);

static inline ptrdiff_t grid_at(const struct grid *g, int i, int j, int k)
{
    return i * g->plane + j * g->row + k;
}

/* Copies the neighbours' cells into `width` layers of ghosts, corners included. */
void grid_exchange(struct grid *g, double *const *fields, int count, int width);
/* The same in two parts. Between them the first and the last `width` planes in x are read, and must be what is to be copied; other cells
 * may still change, and no other exchange of this box may run. */
void grid_exchange_begin(struct grid *g, double *const *fields, int count, int width);
void grid_exchange_end(struct grid *g, double *const *fields, int count, int width);

/* Adds what stands in ghosts to the cells that they are ghosts of. */
void grid_add(struct grid *g, double *const *fields, int count, int width);

/* The plane of cells whose index in direction d is `at`, all of it on rank 0 (elsewhere NULL), row by row of
 * the direction after next; the caller frees it. */
double *grid_plane(const struct grid *g, const double *field, int d, int at);

/* grid_picture.c: writes a field as `app->image`: the plane across the first direction of one cell, else the lowest across x or the
 * middle one. Returns 0, or APP_FILE after a sentence. */
int grid_picture(const struct grid *g, const struct app *app, const double *field, int at_middle);

/* Number of an own cell in the whole box. */
static inline int64_t grid_number(const struct grid *g, int i, int j, int k)
{
    return ((int64_t)(g->first[0] + i) * g->n[1] + g->first[1] + j) * g->n[2] + g->first[2] + k;
}

/* Rank of a position among the parts. */
int grid_rank(const struct grid *g, const int at[3]);

/* grid_state.c: cells in checkpoints. A record begins with an int64_t: the number of its cell, times `kinds`, plus a kind. */

/* The cell with a number, as own cell of this rank. */
void grid_cell(const struct grid *g, int64_t number, int cell[3]);

/* Takes records of own cells; returns whether they are what they should be. */
typedef int grid_take(void *with, const void *records, int64_t count);

/* After app_checkpoint_read: sends the records to the ranks of their cells, where `take` gets them, in the order of the file
 * if the ranks are as many as wrote it. Returns 0, or APP_FILE after the sentence `wrong` when a cell is not in the box or a
 * rank's take says no. */
int grid_restore(const struct grid *g, const struct app *app, const struct app_state *state, int64_t kinds, grid_take *take,
                 void *with, const char *wrong);

/* Writes a checkpoint of fields, one record of size GRID_RECORD per cell; returns 0 or the exit code. */
#define GRID_RECORD(fields) (sizeof(int64_t) + (size_t)(fields) * sizeof(double))
int grid_write(const struct grid *g, const struct app *app, void *head, size_t head_size, double *const *fields, int count);

/* A grid_take for such records: whether every cell is there and holds numbers. */
int grid_take_fields(const struct grid *g, const void *records, int64_t count, double *const *fields, int fields_count);

#endif
