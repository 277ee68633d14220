/* Arguments: one table of flags makes the reader and the help. Nothing of MPI, so that programs of all models read theirs by it. */
#ifndef ARGUMENTS_H
#define ARGUMENTS_H

#include <stddef.h>

enum { APP_TEXT_SIZE = 1024 }; /* of a text argument: a path name, its end included */

/* Exit codes beside 0. */
enum { APP_WRONG = 1, APP_USAGE = 2, APP_FILE = 3, APP_MEMORY = 4 };

/* A program's own table says with APP_ABSENT, and a sentence as the help, that it does not have a common flag. */
enum app_kind { APP_SWITCH, APP_WHOLE, APP_REAL, APP_TEXT, APP_ABSENT };

/* A flag. `value` is an int (switch), a long (whole), a double (real) or a char[APP_TEXT_SIZE]
 * (text) that holds the default. Arrays of flags end with a name of NULL. */
struct app_flag {
    const char *name;
    enum app_kind kind;
    void *value;
    double least, most;
    const char *argument; /* its name in the help */
    const char *help;     /* with the default */
};

enum { ARGUMENTS_READ = -1, ARGUMENTS_HELP = 0 };

/* Reads the arguments by both tables. Returns ARGUMENTS_READ, ARGUMENTS_HELP where the help is asked for, or APP_USAGE, with a
 * sentence in `why`. */
int arguments_read(int argc, char **argv, const struct app_flag *own, const struct app_flag *common, char *why, size_t size);

/* Prints the help: `launcher` is "mpirun -n RANKS". */
void arguments_help(const char *launcher, const char *name, const char *what, const struct app_flag *own,
                    const struct app_flag *common);

#endif
