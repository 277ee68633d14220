/* A 3-D Poisson problem on the unit cube, solved by conjugate gradients on many ranks. */
#ifndef POISSON_H
#define POISSON_H

#include <mpi.h>

enum { BYTES_PER_VALUE = sizeof(double) };
enum { LOW_X, HIGH_X, LOW_Y, HIGH_Y, LOW_Z, HIGH_Z, FACES };

struct settings {
    int n; /* inner grid points per direction */
    int max_iter;
    int quiet, check;
    double tol; /* residual, relative to the right-hand side */
};

/* One rank's box of the grid with a layer of ghost points around it. Point (i, j, k), each
 * from 0 (ghost) to size + 1 (ghost), lies at (i * (size[1] + 2) + j) * (size[2] + 2) + k. */
struct box {
    int rank, ranks;
    int dims[3];  /* ranks in x, y, z */
    int size[3];  /* own points */
    int first[3]; /* global number of the first own point, from 0 */
    int neighbour[FACES];
    long points; /* ghosts included */
    MPI_Datatype y_face;
    double *pack; /* four z faces: two to send, two received */
};

/* Splits n points per direction over the ranks; 0 when no split gives every rank a point. */
int box_split(int n, int rank, int ranks, struct box *box);

/* Creates and frees the datatype and the packing buffer; init returns 0 when memory is short. */
int box_init(struct box *box);
void box_free(struct box *box);

/* Fills the ghost points of `field` on faces shared with neighbours. Blocks. */
void box_exchange(const struct box *box, double *field);

#endif
