/* Gravity of N bodies by a hashed oct-tree that is spread over all ranks. */
#ifndef TREECODE_H
#define TREECODE_H

#include "../common/app.h"
#include "../common/gravity.h"

enum { LEAF_BODIES = 16, GROUP_BODIES = 128 };

/* Bodies that are near each other share a walk and its lists. */
struct group {
    int first, count; /* bodies */
    double low[3], high[3];
    double tolerance; /* error of an interaction that is allowed */
    int openings, opening_count; /* other ranks' branches that it opens */
};

/* Key to local cell, open addressing. */
struct table {
    uint64_t *keys;
    int *cells;
    size_t mask;
};

/* Keys that are asked for together. */
struct question {
    uint64_t key;
    int64_t cell; /* the asker's index, which comes back with the answer */
};
enum { BATCH = 64 };
struct batch {
    struct question items[BATCH];
    int count;
};

struct tree {
    MPI_Comm comm; /* of its own: questions and answers meet nothing else */
    int rank, ranks;
    double corner[3], size; /* the root's cube */
    uint64_t *borders;      /* rank r owns keys from borders[r] to before borders[r + 1] */
    struct cell *cells;
    int count, room, own_count; /* own_count: those of own branches, which others may ask for */
    struct point *points;       /* own bodies, then what answers brought */
    int point_count, point_room;
    int *branches, branch_count, branch_room; /* own ones */
    int root;
    struct table table;
    struct group *groups;
    int group_count, group_room;
    struct lists lists;
    struct batch *batches;
    int waiting; /* questions without answer, sent or not */
    int done;    /* on rank 0: ranks that need no more answers */
    struct sending *sendings;
    int sending_count, sending_room;
    int *openings, opening_count, opening_room;
    int *stack, stack_room;
    int bounded; /* whether groups have a tolerance; else the opening is by angle */
    uint64_t interactions;
};

struct universe {
    struct body *bodies;
    int count;
    int64_t total;
    double softening;
    double accuracy; /* relative error of the force that is wanted, rms */
    double time;
    struct tree tree;
    double force_seconds;
};

/* start.c: n bodies, each made from the seed and its number alone. */
void start_plummer(struct universe *u, int64_t seed);
void start_sphere(struct universe *u, int64_t seed, double redshift);

/* domain.c: gives every rank an interval of keys with its share of the work, bodies in order. */
void split_domains(struct universe *u);

/* build.c, branches.c */
void build_tree(struct universe *u);
void join_branches(struct tree *t);
int new_cells(struct tree *t, int count);
int new_points(struct tree *t, int count);
/* The interval of keys of a cell: first, and the one behind the last. */
void cell_interval(uint64_t cell, uint64_t *first, uint64_t *behind);
int find_cell(const struct tree *t, uint64_t key);

/* walk.c: fills the lists of a group from the own part of the tree. Returns how many branches of other
 * ranks the group opens; what is below them is asked for. */
int walk_own(struct tree *t, struct group *g);
/* Fills the lists from what is below those branches. Returns how many cells are not here: they are asked
 * for, and the lists are not whole. */
int walk_others(struct tree *t, const struct group *g);

/* kernel.c */
void direct_sum(const struct body *bodies, int count, const double x[3], double softening,
                double a[3]);

/* remote.c */
void ask(struct tree *t, int cell);
void send_questions(struct tree *t);
/* Receives what is there, or, if `wait`, at least one message. Returns 0 when all ranks are done. */
int serve(struct tree *t, int wait);
void say_done(struct tree *t);
void finish_messages(struct tree *t);

/* force.c: domains, tree and accelerations of the present positions. */
void find_forces(struct universe *u, int bounded);
void tree_free(struct tree *t);

/* measure.c */
struct sums {
    double kinetic, potential, momentum[3], mass, centre[3];
};
struct sums sum_up(const struct universe *u);
struct errors {
    double rms, percentile99, largest;
    int sample;
};
struct errors compare_with_direct(const struct universe *u, int sample);

/* picture.c */
int picture(const struct app *app, const struct universe *u, double half_width, const char *path);

#endif
