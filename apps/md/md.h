/* A Lennard-Jones liquid on many ranks: a box of its own for each, ghost atoms around it. */
#ifndef MD_H
#define MD_H

#include "../common/app.h"

/* Positions and forces have 4 numbers per atom (x, y, z, unused): one atom is one aligned load. */
enum { WIDE = 4, SWAPS = 6 };

/* The problem; part of a checkpoint. Lengths in sigma, energies in epsilon, masses 1. */
struct problem {
    int64_t cells[3]; /* cubic unit cells, 4 atoms each */
    int64_t seed;
    int64_t rebuild; /* steps between neighbour lists; 0: when an atom has gone half the skin */
    double density, temperature, cutoff, skin, dt;
};

/* An atom as it travels and as it stands in a checkpoint. */
struct atom {
    int64_t id;
    double x[3], v[3];
};

/* One exchange of ghosts: what goes to one neighbour, and where what comes from the opposite one
 * lies. Swap 2d goes down in direction d, 2d + 1 up; later directions pass ghosts on. */
struct swap {
    int to, from;
    int *send; /* atoms */
    int count, capacity;
    int first, received; /* ghosts */
    double shift;        /* added to the coordinate at the border of the periodic box */
};

struct md {
    struct problem p;
    MPI_Comm comm;
    int rank, ranks;
    int dims[3], at[3];         /* ranks per direction; this rank's position */
    double box[3];              /* the whole box, from 0 */
    double low[3], high[3];     /* this rank's part */
    int64_t total;              /* atoms in the whole box */
    int own, ghosts, capacity;  /* atoms: own ones first */
    int64_t *id;                /* of own atoms, as v */
    double *x, *f;              /* WIDE per atom, ghosts included */
    double *v;                  /* WIDE per own atom */
    double *built;              /* positions when the list was made, if p.rebuild is 0 */
    struct swap swaps[SWAPS];
    double *buffer;
    size_t buffer_size;
    int *list, *begin; /* neighbours of own atom i: list[begin[i]] to list[begin[i + 1] - 1] */
    size_t list_capacity;
    double *pair;  /* room for the longest list of an atom, 3 numbers each */
    double energy, virial, pairs; /* this rank's part, from the last md_forces with sums */
    int64_t step;
    int lost; /* an atom has gone as far as the box is wide since the list was made: nothing follows from that */
    double exchange_seconds, list_seconds;
};

/* What LAMMPS prints: per atom, except the pressure. */
struct thermo {
    double temperature, potential, total, pressure;
    double conserved; /* total with the potential shifted to 0 at the cutoff */
};

/* domain.c: boxes. Returns 0 when no split leaves boxes as thick as cutoff and skin. */
int md_split(struct md *md, MPI_Comm comm, const struct problem *p);
void md_free(struct md *md);
/* Makes `count` atoms, wherever they are, own atoms of the ranks whose boxes they lie in. */
void md_distribute(struct md *md, const struct atom *atoms, int count);
/* The own atoms, as records; the caller frees them. */
struct atom *md_atoms(const struct md *md);
void md_room(struct md *md, int atoms);

/* lattice.c: the start of LAMMPS' benchmark, velocities included. */
void md_start(struct md *md);

/* ghosts.c */
void md_borders(struct md *md);  /* chooses ghosts and sends them, before a list is made */
void md_forward(struct md *md);  /* positions of ghosts */
void md_reverse(struct md *md);  /* adds the ghosts' forces to those of their atoms */
void md_distribute_again(struct md *md);

/* neighbours.c */
void md_list(struct md *md);
double md_farthest(const struct md *md); /* way of an own atom since the list was made, infinite if it is no number; local */

/* force.c */
void md_forces(struct md *md, int sums);

/* motion.c */
void md_prepare(struct md *md);           /* ghosts, list and forces of the present positions */
int md_step(struct md *md, int sums);     /* returns whether a list was made; not if an atom is lost */
struct thermo md_thermo(const struct md *md);

/* picture.c */
int md_picture(const struct app *app, const struct md *md, const char *path);

#endif
