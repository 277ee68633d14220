/* Sparse block Cholesky factorisation A = L Lt on SAM's shared objects.
 *
 * The columns are cut into panels, the rows likewise, and L into blocks: what panel J has in the rows of panel I.
 * A block is a value of SAM, which the rank that owns it writes and others read. */
#ifndef CHOLESKY_H
#define CHOLESKY_H

#include "../common/app.h"

#include <sam.h>

/* Doubles that the kernels take at a time; columns of blocks have room for a multiple of it. */
enum { WIDE = 8, MOST_WIDTH = 128 };

/* Where the key of a block's name has the block's owner, who is its home as well: nobody else needs to know where it is. */
enum { OWNER_SHIFT = 40 };

/* A symmetric matrix, both triangles, row by row; the columns of a row ascend. */
struct matrix {
    int n;
    int64_t *begin; /* of a row, n + 1 */
    int *column;
    double *value;
};

struct entry {
    int row, column;
    double value;
};

/* Of L: the rows of panel i in the columns of panel j. It lies column by column, `stride` doubles each. */
struct block {
    int i, j;
    int first, count; /* its rows: so many of the rows of panel j */
    int stride;
    int owner;
    int reads;            /* by updates and solutions of this rank that are still to be done */
    double *written;      /* while this rank writes it */
    const double *values; /* when this rank can read it */
};

/* Where L has entries: the same on all ranks. */
struct structure {
    int n, panels;
    int *order;          /* which row of the given matrix is row k here */
    int *first;          /* column of a panel, panels + 1 */
    int *panel_of;       /* a column */
    int64_t *rows_begin; /* of a panel, panels + 1 */
    int *rows;           /* ascending; the first are its columns */
    int *blocks_begin;   /* of a panel, panels + 1; the first block is the diagonal one */
    struct block *blocks;
    double entries, work; /* of L without the zeros that blocks add; floating-point operations */
};

/* L[target] -= L[a] times the transpose of L[b]. */
struct update {
    int a, b;
};

/* What a rank does for a block of its own. */
struct target {
    int block;
    int64_t next, end; /* updates that are left */
};

struct factor {
    struct app *app;
    MPI_Comm comm;
    int rank, ranks;
    uint64_t run; /* part of the names: each factorisation has its own */
    struct matrix a; /* in the order of the structure */
    struct structure s;
    struct target *targets; /* by column, then by row */
    int target_count;
    struct update *updates;
    uint64_t *readers; /* of each block: a bit for each rank */
    int reader_words;
};

/* matrix.c */
struct matrix matrix_of(int n, const struct entry *entries, int64_t count); /* adds what is there twice */
struct matrix matrix_copy(const struct matrix *a);
struct matrix matrix_permuted(const struct matrix *a, const int *order);
struct matrix matrix_dense(int n);
void matrix_free(struct matrix *a);

/* beam.c */
struct matrix matrix_beam(int nx, int ny, int nz);

/* read.c: collective. Returns 0, or an exit code after a sentence. */
int matrix_read(const struct app *app, const char *path, struct matrix *a);

/* order.c: order[k] is the row to eliminate as number k. */
void order_dissect(const struct matrix *a, int *order);
void order_natural(const struct matrix *a, int *order);

/* symbolic.c: a is the matrix as given; order is changed to an equivalent one. The structure owns it afterwards. */
struct structure structure_make(const struct matrix *a, int *order, int width, struct matrix *permuted);
void structure_free(struct structure *s);
int structure_width(const struct structure *s, int panel);
size_t block_bytes(const struct structure *s, const struct block *b);
int block_find(const struct structure *s, int i, int j);

/* distribute.c */
void distribute(struct factor *f);

/* factor.c */
void factor_make(struct factor *f, struct app *app, MPI_Comm comm, const struct matrix *a, int *order, int width);
double factor_compute(struct factor *f); /* collective; seconds */
void factor_forget(struct factor *f);    /* the blocks; collective */
void factor_again(struct factor *f);     /* ready for another computation */
void factor_free(struct factor *f);

/* kernel.c */
void kernel_product(double *c, int c_stride, const double *a, int a_stride, const double *b, int b_stride, int rows,
                    int columns, int depth);
int kernel_factor(double *a, int stride, int width);
void kernel_solve(double *x, int x_stride, const double *l, int l_stride, int width);

/* solve.c */
void factor_solve(const struct factor *f, double *x); /* b in, x out, in the order of the structure; collective */
void matrix_times(const struct matrix *a, const double *x, double *b);
double residual(const struct matrix *a, const double *x, const double *b);

/* check.c */
double compare_with_sequential(const struct factor *f);
uint64_t factor_sum(const struct factor *f);

/* picture.c */
int factor_picture(const struct factor *f, const char *path);

#endif
