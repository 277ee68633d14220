/* Two electrons by quantum Monte Carlo: the helium atom and the hydrogen molecule. */
#ifndef QMC_H
#define QMC_H

#include "../common/app.h"

/* Lengths in bohr, energies in hartree. */
enum { COORDINATES = 6, MOST_BLOCKS = 4096, MOST_MEMORY = 1024, DRAWS = 8 };
enum system { HELIUM, HYDROGEN };

/* The problem; part of a checkpoint. */
struct problem {
    int64_t system, diffusion; /* 0: variational */
    int64_t walkers, seed;
    int64_t block;             /* steps of a line of output */
    int64_t branch;            /* steps between reconfigurations; a block has a whole number of them */
    double distance;           /* of the two protons */
    double zeta;               /* decay of the orbitals */
    double jastrow;            /* b of the electrons' correlation; below 0: none */
    double tau;                /* time step */
    double settle;             /* time that is not averaged */
    double memory;             /* time over which the population's growth is remembered */
    double trial_energy;       /* diffusion: what weights are relative to */
};

struct walker {
    double x[COORDINATES];     /* both electrons */
    double drift[COORDINATES]; /* gradient of log psi */
    double log_psi, energy;    /* there; energy: local */
    double weight;
};

/* Numerator and denominator of a block's energy, and how many of its moves were accepted. */
struct block {
    double energy, weight, accepted;
};

/* What has been measured; the same on all ranks, part of a checkpoint. */
struct averages {
    int64_t blocks, skipped;         /* of MOST_BLOCKS; those of the settling time in front */
    struct block now, done[MOST_BLOCKS];
    int64_t generations;             /* log_growth is a ring */
    double log_growth[MOST_MEMORY];
};

struct qmc {
    struct problem p;
    MPI_Comm comm;
    int rank, ranks;
    int64_t first, count, capacity;  /* own walkers: slots first to first + count - 1 of all */
    struct walker *walkers, *spare;
    int64_t *copies;
    struct averages *a;
    int64_t step;
    double sums[3];                  /* of own walkers: weight times energy, weight, accepted moves */
    double *image;                   /* where electrons have been; NULL: not wanted */
    double exchange_seconds;
};

/* wave.c: drift, log psi and local energy where the walker is. */
void wave_at(const struct problem *p, struct walker *w);

/* philox.c: numbers that depend on the seed, the walker's slot and the step only. */
void philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]);
/* `gauss` gets normal deviates; the result is uniform in (0, 1). */
double draw_step(int64_t seed, int64_t slot, int64_t step, double gauss[COORDINATES]);
double draw_one(int64_t seed, int64_t step);

/* walkers.c */
void walkers_share(struct qmc *q, MPI_Comm comm, const struct problem *p);
void walkers_free(struct qmc *q);
void walkers_room(struct qmc *q, int64_t count);
/* Each walker becomes as many as its weight says, none, one or several of weight 1, as many in all as before and as many on
 * each rank. Returns the mean weight. */
double walkers_reconfigure(struct qmc *q);
/* Walkers in the order of their slots, wherever they are, to the ranks of their slots. `copies` of each. */
void walkers_send(struct qmc *q, const struct walker *from, const int64_t *copies, int64_t count, int64_t first_slot);
int64_t walkers_first(const struct qmc *q, int rank);

/* steps.c */
void qmc_begin(struct qmc *q); /* walkers that stand as psi squared says; the trial energy */
void qmc_step(struct qmc *q);

/* averages.c */
void averages_add(struct qmc *q); /* the sums since the last reconfiguration, of all ranks */
void averages_growth(struct averages *a, double mean_weight);
/* Mean energy and its error bar of the blocks so far. */
void averages_energy(const struct averages *a, double *mean, double *error);

/* state.c */
int qmc_write(const struct app *app, const struct qmc *q);
int qmc_read(const struct app *app, struct qmc *q);

/* qmc.c */
int qmc_refuse(const struct app *app, const struct problem *p);

/* check.c */
int qmc_check(const struct app *app, const struct problem *normal);

/* picture.c */
void picture_begin(struct qmc *q);
void picture_add(struct qmc *q);
int picture_write(const struct app *app, const struct qmc *q);

#endif
