/* What the BSP applications share: arguments, progress, the verdict. */
#ifndef BSP_OPTIONS_H
#define BSP_OPTIONS_H

/* Exit codes beside 0. */
enum { WRONG = 1, USAGE = 2 };

/* A whole number that the user may choose. Arrays end with a name of NULL. */
struct option {
    const char *name; /* --name VALUE */
    long *value;      /* holds the default */
    long least, most;
    const char *help;
};

struct run {
    const char *name;
    int check, quiet; /* --check, --quiet */
    double said;      /* bsp_time of the last progress line */
};

/* Reads the arguments, before bsp_begin, in each process. Ends the process for --help and for mistakes, of which
 * every process would tell; so process 0 does (HPVM_RANK, or the only one). */
void read_options(struct run *run, int argc, char **argv, const char *what, const struct option *options);

/* Process 0 says, at most every second, how far the work is. */
void progress(struct run *run, const char *step, long done, long total);

/* Prints the verdict on process 0; returns the exit code that goes with it. Between bsp_begin and bsp_end. */
int verdict(int passed);

#endif
