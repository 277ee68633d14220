/* Compressible gas in three dimensions: finite volumes of second order. */
#ifndef HYDRO_H
#define HYDRO_H

#include "../common/gas.h"

/* Conserved: density, momenta, energy. Primitive: density, velocities, pressure. */
enum { VARIABLES = 5, DENSITY = 0, MOMENTUM = 1, ENERGY = 4, PRESSURE = 4, GHOSTS = 2 };
enum start { SOD, SEDOV, WAVE, SHEAR, STARTS };
enum border { PERIODIC, OUTFLOW, REFLECTING, BORDERS };

struct hydro {
    struct problem p;
    struct grid g;
    double cell;              /* its side; the longest direction of the box has length 1 */
    double *u[VARIABLES], *old[VARIABLES], *w[VARIABLES]; /* conserved now and before the step; primitive */
    double *flux;             /* of faces below the present row, a plane of them in x */
    double time;
    int64_t step;
    double exchange_seconds;
};

struct totals {
    double mass, energy, kinetic, most; /* most: largest density */
};

/* start.c */
int hydro_refuse(const struct app *app, const struct problem *p);
int hydro_split(struct hydro *h, MPI_Comm comm, const struct problem *p); /* 0: the box cannot be split */
void hydro_start(struct hydro *h);
void hydro_free(struct hydro *h);
/* Density, velocities, pressure at a place at time 0. */
void hydro_initial(const struct hydro *h, const double at[3], double w[VARIABLES]);

/* exact.c: the two states of Sod's tube with a diaphragm at 0, at x / t. */
void exact_sod(double gamma, double speed, double w[VARIABLES]);

/* flux.c: fluxes through the lower faces of `count` cells of a row along d, from primitive variables that begin at `at`. */
void flux_row(const struct hydro *h, int d, ptrdiff_t at, int count, double *const flux[VARIABLES]);

/* borders.c: ghosts from neighbours and at the ends of the box */
void hydro_exchange(struct hydro *h);

/* steps.c */
void hydro_step(struct hydro *h, double end); /* no further than time `end` */
struct totals hydro_totals(const struct hydro *h);

/* state.c */
int hydro_write(const struct app *app, const struct hydro *h);
int hydro_read(const struct app *app, struct hydro *h);

/* check.c */
int hydro_check(const struct app *app);

#endif
