/* Maxwell's equations on a staggered grid (Yee), with absorbing layers or charged particles. */
#ifndef FDTD_H
#define FDTD_H

#include "../common/grid.h"

/* Lengths in cells, speeds in that of light, vacuum's permittivity 1. Cell (i, j, k) has E on the edges and H on the
 * faces that meet in its lowest corner: Ex at (i + 1/2, j, k), Hx at (i, j + 1/2, k + 1/2) and so on. */
enum kind { DIPOLE, CAVITY, PLASMA };
enum { GHOSTS = 2, SIDES = 6 };

/* The problem; part of a checkpoint. */
struct problem {
    int64_t kind, cells[3];
    int64_t layers;      /* thickness of the absorbing layers; dipole only */
    int64_t mode[3];     /* half waves per direction; cavity only */
    int64_t per_cell;    /* particles per cell and direction; plasma only */
    double courant;      /* time step */
    double wavelength;   /* of the dipole, or of the plasma's wave; cells */
    double pulse;        /* width of a single pulse; 0: the dipole oscillates */
    double sphere;       /* radius of a conducting sphere beside the dipole; 0: none */
    double frequency, drift, thermal; /* of the plasma; speed of its two beams; of its particles */
};

struct particle {
    double x[3], u[3]; /* place in the whole box; velocity times gamma */
};

/* One side's absorbing layer (convolutional PML) as far as this rank has it: the cells from low to high. psi[0] and [1]
 * belong to the two components of E that change along the layer's direction, psi[2] and [3] to those of H. */
struct layer {
    int d, low[3], high[3];
    double *psi[4];
    double *b[2], *c[2]; /* for E and for H: one row per plane of the layer; one row in all if d is 2 */
    int length;          /* of these rows */
};

struct fdtd {
    struct problem p;
    struct grid g;
    double dt;
    double *e[3], *h[3], *j[3]; /* j: current, plasma only */
    int low[3], high[3];        /* cells whose H this rank computes: its own and some ghosts */
    struct layer layers[SIDES];
    int layer_count;
    ptrdiff_t *conductor;       /* own edges in the sphere: component * points + offset */
    size_t conductor_count;
    struct particle *particles;
    int64_t count, capacity, all_particles;
    double charge;              /* of a particle; its charge over mass is -1 */
    int64_t step;
    double exchange_seconds, particle_seconds;
};

struct energies {
    double electric, magnetic, kinetic;
};

/* start.c */
/* Says what is wrong with a problem, if anything is; returns the exit code. */
int fdtd_refuse(const struct app *app, const struct problem *p);
/* Makes fields and particles of a problem. Returns 0 when the box cannot be split. */
int fdtd_split(struct fdtd *f, MPI_Comm comm, const struct problem *p);
void fdtd_start(struct fdtd *f);
void fdtd_free(struct fdtd *f);
void cavity_mode(const struct fdtd *f, int c, const double at[3], double *e, double *h);
double cavity_frequency(const struct problem *p);
double dipole_moment(const struct problem *p, double t, int derivative);
void fdtd_source(const struct problem *p, int cell[3]); /* the dipole's edge, an Ez */

/* fields.c */
void fdtd_step(struct fdtd *f);
void fdtd_exchange(struct fdtd *f); /* E into ghosts */
struct energies fdtd_energies(const struct fdtd *f);

/* layers.c */
void layers_make(struct fdtd *f);
void layers_free(struct fdtd *f);
void layers_h(struct fdtd *f, int i);
void layers_e(struct fdtd *f, int i);
void layers_exchange(struct fdtd *f); /* after a restart: what ghosts of H remember */

/* push.c: moves particles, and leaves their current in j */
void particles_push(struct fdtd *f);

/* particles.c */
void particles_start(struct fdtd *f);
void particles_settle(struct fdtd *f); /* to the ranks where they are now */
double particles_gauss(struct fdtd *f); /* largest |div E - rho| in units of the background's charge */
void particles_room(struct fdtd *f, int64_t count);

/* state.c */
int fdtd_write(const struct app *app, const struct fdtd *f);
/* `f` is made from the file; returns the exit code. */
int fdtd_read(const struct app *app, struct fdtd *f);

/* check.c */
int fdtd_check(const struct app *app);

/* picture.c */
int fdtd_picture(const struct app *app, const struct fdtd *f);

#endif
