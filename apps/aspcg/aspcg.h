/* Incompressible flow in two dimensions; its pressure by conjugate gradients with an additive Schwarz preconditioner. */
#ifndef ASPCG_H
#define ASPCG_H

#include "../common/grid.h"

/* x is the grid's last direction, whose cells are neighbours in memory; y the one before. The first has one cell. */
enum { X = 2, Y = 1, MOST_OVERLAP = GRID_LINE };
enum flow_case { CAVITY, VORTICES, SHEAR, CASES };

/* The problem; part of a checkpoint. */
struct problem {
    int64_t which, cells[2]; /* a case; cells in x and y, squares whose side is 1 / cells[0] */
    int64_t block, overlap, sweeps;
    double relaxation, tolerance;
    double reynolds, cfl;
};

/* -h^2 times the Laplace operator: what a cell has more than its neighbours, where there are neighbours. */
struct solver {
    struct grid *g;
    int block, overlap, sweeps;
    double relaxation, tolerance;
    double *diagonal;       /* neighbours of a cell; 0 outside the box */
    double *weight;         /* relaxation / diagonal, 0 outside */
    double *r, *z, *p, *q;  /* residual, the preconditioner's answer to it, search direction, operator times it */
    double *now, *next;     /* of the Richardson iteration on one subdomain, with a border of zeros */
    ptrdiff_t pitch;        /* between rows of those two */
    long iterations;
    double seconds;
};

struct flow {
    struct problem p;
    struct grid g;
    struct solver solver;
    double cell, dt, time;
    int64_t step;
    double *velocity[2], *change[2], *before[2]; /* u, v on lower faces; what changes them, now and in the step before */
    double *pressure, *source;
    int iterations; /* of the last step */
};

struct totals {
    double kinetic, divergence; /* the latter is the largest */
};

/* start.c */
int flow_refuse(const struct app *app, const struct problem *p);
int flow_refuse_ranks(const struct app *app, const struct problem *p, int ranks); /* the blocks cannot be split */
int flow_split(struct flow *f, MPI_Comm comm, const struct problem *p);           /* 0: they cannot */
void flow_start(struct flow *f);
void flow_free(struct flow *f);
/* Velocity u (d = 0) or v (d = 1) at a place at time 0. */
double flow_initial(const struct flow *f, int d, double x, double y);

/* flow.c */
int flow_step(struct flow *f); /* 0: the pressure did not converge */
void flow_exchange(struct flow *f);
struct totals flow_totals(struct flow *f);

/* solver.c */
void solver_make(struct solver *s, struct grid *g, const struct problem *p);
void solver_free(struct solver *s);
/* Solves for x, which holds a first guess. Returns the iterations, or -1 when there is no convergence. The norms of the residual,
 * relative to b's, go to `history` if it is not NULL, as many as there is room for. */
int solver_solve(struct solver *s, const double *b, double *x, double *history, int room);

/* schwarz.c: z = M r */
void schwarz_apply(struct solver *s);

/* state.c */
int flow_write(const struct app *app, const struct flow *f);
int flow_read(const struct app *app, struct flow *f);

/* check.c */
int flow_check(const struct app *app);

/* picture.c */
int flow_picture(const struct app *app, struct flow *f);

#endif
