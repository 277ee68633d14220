/* Molecular dynamics of water on SAM's shared objects.
 *
 * The box is divided into cells. The positions of a cell's molecules are a value, pushed to the ranks that compute forces with
 * them; what each of those finds is a value that is pushed back. Forces are multiples of a small number, so that sums are
 * exact and the same in any order: trajectories have the same bits on any number of ranks.
 *
 * Units: angstrom, femtosecond, gram per mole, kilocalorie per mole, elementary charge. */
#ifndef WATER_H
#define WATER_H

#include "../../common/app.h"
#include "../common/together.h"

#include <sam.h>

enum { SITES = 3, NUMBERS = 3 * SITES }; /* oxygen, two hydrogens; coordinates of a molecule */

struct molecule {
    double x[NUMBERS], v[NUMBERS];
    int64_t id;
};

/* model.c: TIP3P, with forces that go to zero at the cutoff. */
extern const double MASS[SITES], MASS_OF_WATER;
extern const double BOND_LENGTH[3]; /* of the constraints: oxygen to hydrogens, hydrogen to hydrogen */
static const double BOLTZMANN = 0.0019872043; /* kcal/mol/K */
static const double ACCELERATION = 4.184e-4;  /* angstrom/fs^2 of 1 kcal/mol/angstrom on 1 g/mol */
/* Sites are no farther than that from their oxygen. */
static const double REACH = 0.96;

/* Molecules around one, as one array per coordinate, and the forces on them. */
struct around {
    double *x[NUMBERS], *f[NUMBERS];
    int *who;
    int count, room;
};
void around_room(struct around *a, int count);
void around_free(struct around *a);

/* Adds to the forces on `x` and on the molecules around it; returns their energy. All are multiples of FORCE_UNIT. */
double model_forces(double cutoff, const double x[NUMBERS], struct around *a, double force[NUMBERS]);
static const double FORCE_UNIT = 0x1p-32;
/* Up to here sums are exact: beyond, molecules lie in each other. */
static const double MOST_FORCE = 0x1p18;

/* constraint.c: the bonds of a molecule by RATTLE (Andersen 1983), its three constraints solved together. */
/* Moves x to x + dt v with the bonds of `old`, and v with it. Returns 0 if it cannot. */
int constrain_positions(double x[NUMBERS], const double old[NUMBERS], double v[NUMBERS], double dt);
/* Takes out of v what would change bonds. */
void constrain_velocities(const double x[NUMBERS], double v[NUMBERS]);
double bond_error(const double x[NUMBERS]); /* relative */

/* A part of the box. */
struct cell {
    int owner;
    int *partners, partner_count; /* cells that this one's molecules are paired with by its owner, itself included */
    unsigned char *readers;       /* for each rank: whether a cell of it has this one as a partner */
    int reader_count;             /* without the owner */
    int first, count;             /* own cells: molecules */
    const double *here;           /* positions, while this rank uses them */
    int present;                  /* how many */
    int base;                     /* where forces on them begin among those that this rank has found */
};

struct water {
    struct app *app;
    int64_t total;
    double box, cutoff, dt;
    uint64_t step;   /* of forces: part of all names */
    int side;        /* cells per direction */
    struct cell *cells;
    int cell_count;
    struct molecule *own; /* by cell, then number */
    double *force;        /* on own molecules */
    double *settled;      /* where the oxygens were when the cells were filled */
    int count;
    double *found;        /* forces that this rank has found, on its own and others' molecules */
    int found_count, found_room;
    int fault;            /* this rank has seen a force that is too large, or a molecule that breaks */
    struct around around;
    wide potential;       /* of the pairs that this rank has computed */
    double work;          /* pairs of molecules, of the last forces */
    double seconds;
};

enum kind_of_object { POSITIONS = KIND_OF_SUMS + 1, FORCES, MOVED };

/* cells.c */
static const double SKIN = 1.5; /* molecules may move by half of it until cells are filled anew */
void make_cells(struct water *w);
void free_cells(struct water *w);
/* Each molecule to the owner of its cell; collective. */
void fill_cells(struct water *w);
/* The same if they have moved too far since. Returns 1 if any rank has seen a fault. */
int fill_cells_if_needed(struct water *w);

/* force.c: collective. */
void find_forces(struct water *w);

/* start.c */
double box_of(int64_t molecules, double density); /* g/cm^3 */
void start_lattice(struct water *w, int64_t seed, double temperature);

/* measure.c */
struct sums {
    double kinetic, potential, momentum, bonds; /* the last: largest relative error */
    double pairs;
    uint64_t bits;
};
struct sums sum_up(struct water *w);
double temperature_of(const struct water *w, double kinetic);
void scale_velocities(struct water *w, double factor);
/* Largest difference of forces from those by differences of the energy, relative to the rms force on a site. */
double compare_with_differences(struct water *w, int molecules);

/* check.c: two molecules without cutoff, at the least energy. */
struct dimer {
    double energy, distance, angle; /* kcal/mol; between the oxygens; degrees */
};
struct dimer best_dimer(void);

/* water.c */
int step(struct water *w); /* 0, or 1: molecules lie in each other */

/* picture.c */
int picture(struct water *w, const char *path);

#endif
