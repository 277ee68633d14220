/* A gas that conducts, with its magnetic field, in three dimensions: finite volumes of second order and constrained transport. */
#ifndef MHD_H
#define MHD_H

#include "../common/gas.h"

/* Conserved: density, momenta, energy in cells, the magnetic field at their lower faces. Primitive: density, velocities, pressure,
 * the field in the middle of cells. */
enum { GAS = 5, VARIABLES = 8, DENSITY = 0, MOMENTUM = 1, ENERGY = 4, PRESSURE = 4, FIELD = 5, GHOSTS = 3 };
enum start { ORSZAG_TANG, BRIO_WU, RYU_JONES, ALFVEN, FAST, SLOW, BLAST, STARTS };
enum border { PERIODIC, OUTFLOW, BORDERS };

struct mhd {
    struct problem p;
    struct grid g;
    double cell;                   /* its side; the longest direction of the box has length 1 */
    ptrdiff_t up[3];               /* how far the next cell lies in memory; 0 in directions that take no part */
    int reach[3];                  /* 1, or 0 in those directions */
    double *u[VARIABLES], *old[VARIABLES], *w[VARIABLES]; /* conserved now and before the step; primitive */
    double *mass[3], *flux[GAS];   /* fluxes of mass through lower faces; of the rest, in one direction at a time */
    double *face_e[3][2];          /* electric field along lower faces: in the next direction and the one after */
    double *cell_e[3], *edge_e[3]; /* in the middle of cells, and along their edges, each in its own direction */
    double time;
    int64_t step;
    double exchange_seconds;
};

struct totals {
    double mass, energy, magnetic, divergence; /* divergence: the largest in a cell, times its side, by the largest field */
};

/* Cells from low to below high. */
struct region {
    int low[3], high[3];
};

/* start.c */
int mhd_refuse(const struct app *app, const struct problem *p);
int mhd_split(struct mhd *m, MPI_Comm comm, const struct problem *p); /* 0: the box cannot be split */
void mhd_start(struct mhd *m);
void mhd_free(struct mhd *m);
double mhd_period(const struct mhd *m); /* of a wave: after it everything is as it was */

/* flux.c: gas and electric fields through the lower faces of `count` cells of a row along d that begins at `at`. */
void flux_row(const struct mhd *m, int d, ptrdiff_t at, int count);

/* electric.c */
void electric_edges(struct mhd *m);                             /* from what is known in cells and at faces */
void electric_turn(struct mhd *m, double a, double b, double dt); /* field = a old + b (field - dt rotation of the electric one) */

/* borders.c: ghosts from neighbours and at the ends of the box */
void mhd_exchange(struct mhd *m);

/* steps.c */
void mhd_step(struct mhd *m, double end); /* no further than time `end` */
double mhd_primitives(struct mhd *m);     /* returns the largest sum over directions of |velocity| + fast speed on this rank */
struct totals mhd_totals(const struct mhd *m);

/* state.c */
int mhd_write(const struct app *app, const struct mhd *m);
int mhd_read(const struct app *app, struct mhd *m);

/* check.c */
int mhd_check(const struct app *app);

#endif
