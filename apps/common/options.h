/* What the applications of BSPlib and OpenSHMEM share: arguments, progress, the verdict. */
#ifndef OPTIONS_H
#define OPTIONS_H

#include "arguments.h"

struct run {
    const char *launcher, *name; /* of the usage: "bsprun -n PROCESSES", "bsp_fft" */
    int (*first)(void);          /* whether this process is the one that speaks */
    void (*end)(void);           /* what all processes call before exit, if not NULL */
    int check, quiet;            /* --check, --quiet */
    double began, said;          /* seconds: read_options, and the last progress line */
};

/* Reads the arguments in each process. Ends the process for --help and for mistakes, of which every process would
 * tell; so the first one does. */
void read_options(struct run *run, int argc, char **argv, const char *what, const struct app_flag *own);

/* The first process says, at most every second, how far the work is. */
void progress(struct run *run, const char *step, long done, long total);

/* The first process prints the verdict; returns the exit code that goes with it. */
int verdict(const struct run *run, int passed);

#endif
