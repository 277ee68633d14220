/* What the applications share: arguments, progress, checkpoints, pictures, scaling runs. */
#ifndef APP_H
#define APP_H

#include "arguments.h"

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

/* Before a loop: one text, compiled for several kinds of processor; the loader takes the best. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define FOR_EACH_PROCESSOR __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define FOR_EACH_PROCESSOR
#endif

enum app_scaling_kind { APP_NO_SCALING, APP_STRONG, APP_WEAK };

/* The run as the common flags want it. */
struct app {
    const char *name;
    int rank, ranks;
    int check, quiet;
    long every; /* steps between checkpoints, 0: only at the end */
    char checkpoint[APP_TEXT_SIZE], restart[APP_TEXT_SIZE], image[APP_TEXT_SIZE];
    enum app_scaling_kind scaling;
    double started, said; /* MPI_Wtime of the first step and of the last progress line */
};

/* What an application does with its flags; each part gets `with`. Exit codes, but for the seconds of `timed`, which is
 * what app_scaling wants. Problems that refuse --scaling have none. */
struct app_parts {
    int (*problem)(void *with);  /* makes a problem of the flags, or says why they make none */
    int (*check)(void *with);    /* --check */
    int (*simulate)(void *with); /* the run itself */
    double (*timed)(MPI_Comm comm, int times, void *with);
    void (*end)(void *with);     /* the last of all, whatever happened; or NULL */
};

/* An application from its arguments to its exit code. */
int app_run(int argc, char **argv, struct app *app, const char *name, const char *what, const struct app_flag *own,
            const struct app_parts *parts, void *with);

/* Starts MPI and reads the arguments, on rank 0 for all. Returns -1 when the run is to go on, else
 * the exit code with which to end (help was printed, or a sentence says what is wrong). */
int app_begin(int *argc, char ***argv, struct app *app, const char *name, const char *what,
              const struct app_flag *own);

/* Ends MPI; returns `code`. */
int app_end(int code);

/* Says on standard error, once for all ranks, why the run can't go on. Returns `code`. */
int app_refuse(const struct app *app, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Number of a word in a list of `count`, or -1. */
int app_find(const char *word, const char *const *list, int count);

/* Memory that is there, or the end of the job with a sentence. The content is undefined. */
void *app_memory(size_t count, size_t size);
void *app_more_memory(void *old, size_t count, size_t size);
void *app_lines(size_t count, size_t size); /* begins with a line of the cache */

/* Prints a line on rank 0 when the last one is some seconds old, with an estimate of what remains. */
void app_progress(struct app *app, long first, long done, long total);

/* The steps of a run, with lines of output and checkpoints on the way. Parts get `with`; those that make something return 0, or
 * the exit code with which the run ends. */
struct app_steps {
    const int64_t *done; /* number of the last step that was made */
    long last, print;    /* that of the end; steps between lines, 0: only at the end */
    int (*step)(void *with);
    int (*line)(void *with);           /* of output */
    int (*keep)(void *with);           /* writes a checkpoint */
    int (*is_over)(const void *with);  /* whether the end has come before the last step; NULL: never */
    int (*may_keep)(const void *with); /* whether a run that is restarted here goes on with the same bits; NULL: after every step */
};

/* Makes all steps to the end; then the checkpoint, if one is wanted. Returns 0 or the exit code. */
int app_advance(struct app *app, const struct app_steps *steps, void *with);

/* The seconds of `count` steps, those of the slowest rank; a step that fails ends the job. For --scaling. */
double app_time(MPI_Comm comm, long count, int (*step)(void *with), void *with);

/* The most seconds that any rank gives. */
double app_slowest(MPI_Comm comm, double seconds);

/* Prints on rank 0 a line of --check: what was found, and whether that is right. Returns `good`. */
int app_judge(const struct app *app, int good, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Prints the verdict on rank 0 and returns the exit code that goes with it. */
int app_verdict(const struct app *app, int passed);

/* What a checkpoint holds. `head` is the same on all ranks: parameters and clock; `records` are
 * this rank's, all of one size. */
struct app_state {
    void *head;
    size_t head_size;
    void *records;
    size_t record_size;
    int64_t count;
};

/* Writes `path` through MPI's files; collective. The old file is replaced when the new one is
 * whole and on the disk. Returns 0, or APP_FILE after a sentence on standard error. */
int app_checkpoint_write(const struct app *app, MPI_Comm comm, const char *path,
                         const struct app_state *state);

/* Reads `path`; collective. With as many ranks as wrote it, each gets its own records in their
 * order; otherwise whole ranks' records are dealt. `records` is allocated here, with
 * room for one record at least. Returns 0, or APP_FILE after a sentence. */
int app_checkpoint_read(const struct app *app, MPI_Comm comm, const char *path,
                        struct app_state *state);

/* Writes an image of 3 bytes per point, row by row from the top. Returns 0, or APP_FILE after a
 * sentence. Not collective. */
int app_png(const struct app *app, const char *path, int width, int height,
            const unsigned char *rgb);

/* The colour of a value from 0 (black) by red and yellow to 1 (white). */
void app_colour(double value, unsigned char rgb[3]);

/* The colour of a value from -1 (blue) by 0 (dark) to 1 (orange). */
void app_colour_signed(double value, unsigned char rgb[3]);

/* Runs `timed` on 1, 2, 4, ... and all ranks and prints a table of speeds. `timed` returns seconds,
 * the same on all ranks of `comm`. It is told how many times the problem is to be enlarged. */
int app_scaling(const struct app *app, double (*timed)(MPI_Comm comm, int times, void *with),
                void *with);

#endif
