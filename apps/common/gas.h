/* What the programs of a gas in a box (hydro, mhd) share: the problem, its flags, and a run from its arguments to its picture. */
#ifndef GAS_H
#define GAS_H

#include "grid.h"

/* The problem; part of a checkpoint. Starts and borders are numbers in a program's own lists. */
struct problem {
    int64_t start, cells[3], axis; /* axis: along which a tube lies; directions of one cell take no part */
    int64_t border[3];             /* both ends of a direction */
    double gamma, cfl;
    double wave;                   /* amplitude of a wave */
};

static inline int is_active(const struct problem *p, int d)
{
    return p->cells[d] > 1;
}

/* A run as its flags want it; who calls gas_run sets the defaults. */
struct gas_run {
    struct app app;
    struct problem p;
    char start[APP_TEXT_SIZE], axis[APP_TEXT_SIZE], border[3][APP_TEXT_SIZE];
    long cells, n[3], steps, print;
    double end;
    const struct gas_program *program;
};

/* Words that a flag takes: how many there are, and how a sentence names them all. */
struct gas_words {
    const char *const *word;
    int count;
    const char *all;
};

struct gas_program {
    const char *name, *what;
    const char *heading; /* of the lines of output */
    struct gas_words starts, borders;
    struct {
        const char *start, *gamma, *border, *axis, *wave;
    } help; /* of flags */
    long least_cells;

    /* Its state, wherever it is: the box, the clock, the field that is drawn (`at_middle`: as grid_picture wants it). */
    struct grid *g;
    int64_t *step;
    double *time, *exchange_seconds, *const *drawn;
    int at_middle, least; /* least: cells of a part that the box is split into */

    int (*usual_border)(int start);
    void (*complete)(struct gas_run *run); /* what was not given follows from the start */
    int (*refuse)(const struct app *app, const struct problem *p);
    int (*split)(MPI_Comm comm, const struct problem *p); /* 0: the box cannot be split */
    void (*begin)(void);                                  /* the state at time 0 */
    void (*free)(void);
    void (*advance)(double end); /* one step, no further than time `end` */
    int (*line)(int prints);     /* prints one of output, on the rank that does; returns whether the gas has a finite energy */
    int (*write)(const struct app *app);
    int (*read)(const struct app *app);
    int (*check)(const struct app *app);
};

/* From the arguments to the exit code. */
int gas_run(int argc, char **argv, struct gas_run *run, const struct gas_program *program);

/* Cells that were not given: one in directions that are thin. */
void gas_choose_cells(struct gas_run *run, const int thin[3]);

#endif
