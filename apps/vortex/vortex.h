/* Vortex particles: an incompressible fluid without walls, as its vorticity. */
#ifndef VORTEX_H
#define VORTEX_H

#include "../common/app.h"

/* A particle has a place (3 numbers) and a strength: vorticity times volume (3 more). */
enum { NUMBERS = 6, STAGES = 4 };

/* The problem; part of a checkpoint. The rings' radius is 1, their circulation 1. */
struct problem {
    int64_t around, layers; /* particles around a ring; layers of its core, 0: one thread */
    int64_t rings;          /* 1 or 2 */
    double core;            /* radius of the core, from which the layers reach outward */
    double smoothing;       /* radius over which a particle's vorticity is spread */
    double distance, tilt;  /* of two rings' centres; of their axes toward each other, degrees */
    double dt;
};

struct vortex {
    struct problem p;
    MPI_Comm comm;
    int rank, ranks;
    int64_t all, first, count; /* particles; own ones */
    int *counts, *begins;      /* of all ranks, in numbers */
    double *now, *slope[STAGES], *trial; /* own particles, NUMBERS each; the trial state of a stage */
    double *sources[NUMBERS];  /* all particles, component by component */
    double *gathered;
    int64_t step;
    double exchange_seconds;
};

/* Invariants of a fluid without walls: total strength, linear impulse; and the rings' mean place. */
struct invariants {
    double strength[3], impulse[3], centre[3], stretched; /* sum of the strengths' sizes */
};

/* start.c */
int64_t vortex_particles(const struct problem *p);
int vortex_refuse(const struct app *app, const struct problem *p);
void vortex_share(struct vortex *v, MPI_Comm comm, const struct problem *p);
void vortex_start(struct vortex *v);
void vortex_free(struct vortex *v);

/* velocity.c: velocities and changes of strengths of the own particles of a state, NUMBERS each. */
void vortex_slope(struct vortex *v, const double *state, double *slope);

/* steps.c */
void vortex_step(struct vortex *v);
struct invariants vortex_invariants(const struct vortex *v);

/* state.c */
int vortex_write(const struct app *app, const struct vortex *v);
int vortex_read(const struct app *app, struct vortex *v);

/* check.c */
int vortex_check(const struct app *app);

/* picture.c */
int vortex_picture(const struct app *app, const struct vortex *v);

#endif
