/* Gravity of N bodies by a tree (Barnes and Hut, Nature 324, 1986) on SAM's shared objects.
 *
 * The tree has a top, which every rank knows, and below it subtrees of some hundred bodies. Each of these is a value, written
 * by the rank that moves its bodies and fetched by those that need to look into it. How many bodies the cells of the top have is
 * counted in accumulators. Nothing depends on which rank does what but the time that it takes: positions are the same bits on
 * any number of ranks. */
#ifndef BARNES_H
#define BARNES_H

#include "../../common/app.h"
#include "../../common/gravity.h"
#include "../common/together.h"

#include <sam.h>

/* A cell with more bodies than that is divided: of the top, and in a subtree. Bodies of a group share a walk. Measured for 25,000 bodies. */
enum { SUBTREE_BODIES = 256, GROUP_BODIES = 64, LEAF_BODIES = 16 };

/* Levels of the top that are counted together: one accumulator has the counts of so many cells. */
enum { BLOCK_LEVELS = 3, BLOCK_CELLS = 512 };

/* A cell of the top. Children are side by side, without the empty ones. */
struct top {
    struct cell cell;
    int level;
    int64_t count;
    uint64_t work;
    int subtree; /* its number, or -1: divided */
};

/* A subtree as a value: this, then its cells, of which the first is the root, then its points. */
struct tree {
    _Alignas(64) int32_t cells;
    int32_t points;
};

struct subtree {
    int top, owner;
    const struct tree *here; /* while this rank uses it */
    int asked;
    int first, count;        /* own ones: bodies */
    struct cell root;        /* own ones, until all know it */
};

/* Bodies of an own subtree that are near each other. */
struct group {
    int first, count, done;
    double low[3], high[3], tolerance;
};

struct universe {
    struct app *app;
    struct body *bodies; /* own ones, by key */
    int count;
    int64_t total;
    double softening, accuracy;
    double half; /* the tree's cube is from -half to half, a power of two */
    uint64_t step; /* of forces: part of all names */
    struct top *tops;
    int top_count, top_room;
    struct subtree *subtrees; /* by key */
    int subtree_count, subtree_room;
    struct group *groups;
    int group_count, group_room;
    struct cell *cells; /* of the subtree that is built */
    int cell_count, cell_room;
    struct lists lists;
    uint64_t interactions; /* of the last forces, own bodies */
    double seconds;        /* of forces */
    int bounded;           /* whether accelerations of an earlier step say what may be left out */
};

/* Objects of a step. */
enum kind_of_object { COUNTS = KIND_OF_SUMS + 1, BODIES, ROOTS, SUBTREE };

/* top.c: counts all bodies, which have keys and are in their order; then the top and its subtrees are known, and their owners. */
void make_top(struct universe *u);
void free_top(struct universe *u);
/* The first key of a cell. */
uint64_t first_key(const struct top *t);
/* Moments of the top, when those of the subtrees are there. */
void finish_top(struct universe *u);

/* exchange.c */
void give_keys(struct universe *u);       /* to the own bodies, which it sorts */
void exchange_bodies(struct universe *u); /* each to the owner of its subtree */

/* subtree.c: builds the own subtrees; all know the roots of all. */
void build_subtrees(struct universe *u);
const struct cell *cells_of(const struct tree *t);
const struct point *points_of(const struct tree *t);
void free_subtrees(struct universe *u);

/* force.c: accelerations and potentials of all bodies. Collective, as all that follows. */
void find_forces(struct universe *u);

/* measure.c */
struct sums {
    double kinetic, potential, momentum, speed; /* the last: root of the mean square */
    uint64_t bits;                              /* changes with any bit of any body */
    uint64_t interactions;
};
struct sums sum_up(struct universe *u);
struct errors {
    double rms, percentile99, largest;
    int sample;
};
struct errors compare_with_direct(struct universe *u, int sample);
void centre(struct universe *u);

/* picture.c */
int picture(struct universe *u, const char *path);

#endif
