/* Einstein's equations in vacuum: the formulation of Baumgarte, Shapiro, Shibata and Nakamura. */
#ifndef RELATIVITY_H
#define RELATIVITY_H

#include "../common/grid.h"

/* Symmetric tensors have six components: xx, xy, xz, yy, yz, zz. Metric and curvature are the conformal ones. */
enum { PHI, METRIC, K = METRIC + 6, CURVATURE, CONNECTION = CURVATURE + 6, LAPSE = CONNECTION + 3, VARIABLES, GHOSTS = 3 };
enum start { GAUGE, LINEAR, NOISE, STARTS };

/* The problem; part of a checkpoint. */
struct problem {
    int64_t start, cells[3], mode[3]; /* mode: waves per direction; directions of one cell take no part */
    double amplitude, courant, dissipation;
};

struct spacetime {
    struct problem p;
    struct grid g;
    double cell, dt;                  /* the longest direction of the box has length 1 */
    /* Now; what Runge and Kutta add up; two states between. */
    double *u[VARIABLES], *sum[VARIABLES], *between[2][VARIABLES];
    int64_t step;
    double exchange_seconds;
};

/* The largest of all points, which does not depend on the order of ranks. */
struct norms {
    double hamiltonian, momentum; /* how far the constraints are off */
    double lapse, k;              /* |lapse - 1| and |K| */
};

/* start.c */
int relativity_refuse(const struct app *app, const struct problem *p);
int relativity_split(struct spacetime *s, MPI_Comm comm, const struct problem *p); /* 0: the box cannot be split */
void relativity_start(struct spacetime *s);
void relativity_free(struct spacetime *s);
/* The solution at a place and a time; noise has none. */
void relativity_exact(const struct spacetime *s, const double at[3], double time, double u[VARIABLES]);

/* bssn.c: one stage of Runge and Kutta in a row of points: what changes u now is added to `sum` and `next`:
 * sum = (from) + weight dt u', next = old + part dt u'. */
struct stage {
    double *const *now;        /* with ghosts */
    double *const *from;       /* of the sum: the old state in the first stage */
    double *const *next;       /* NULL in the last stage */
    double *const *sum;
    double weight, part;       /* times dt */
};
void bssn_row(const struct spacetime *s, const struct stage *stage, ptrdiff_t at, int count);

/* constraints.c */
struct norms relativity_norms(const struct spacetime *s);

/* steps.c */
void relativity_exchange(struct spacetime *s, double *const *u);
void relativity_step(struct spacetime *s);

/* state.c */
int relativity_write(const struct app *app, const struct spacetime *s);
int relativity_read(const struct app *app, struct spacetime *s);

/* check.c */
int relativity_check(const struct app *app);

/* picture.c */
int relativity_picture(const struct app *app, const struct spacetime *s);

#endif
