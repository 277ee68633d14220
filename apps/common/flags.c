/* How an application begins: its arguments, and what restarts say. */
#include "app.h"

#include <errno.h>
#include <libgen.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static char scaling[APP_TEXT_SIZE];

enum { COMMON = 8 };

static void common_flags(struct app *app, struct app_flag flags[COMMON])
{
    const struct app_flag all[COMMON] = {
        {"--check", APP_SWITCH, &app->check, 0, 0, "", "a case of seconds against its reference: PASSED or FAILED"},
        {"--checkpoint", APP_TEXT, app->checkpoint, 0, 0, "FILE", "write the state to FILE, at the end and as --every says"},
        {"--every", APP_WHOLE, &app->every, 0, 1e9, "N", "write it every N steps, too"},
        {"--restart", APP_TEXT, app->restart, 0, 0, "FILE", "go on from the state in FILE"},
        {"--image", APP_TEXT, app->image, 0, 0, "FILE.png", "write a picture of the end"},
        {"--scaling", APP_TEXT, scaling, 0, 0, "KIND", "strong or weak: the speed on 1, 2, 4, ... of the ranks"},
        {"--quiet", APP_SWITCH, &app->quiet, 0, 0, "", "no progress lines"},
        {NULL, APP_SWITCH, NULL, 0, 0, NULL, NULL},
    };
    memcpy(flags, all, sizeof all);
}

static int scaling_kind(struct app *app)
{
    if (*scaling == '\0')
        return 1;
    if (strcmp(scaling, "strong") == 0)
        app->scaling = APP_STRONG;
    else if (strcmp(scaling, "weak") == 0)
        app->scaling = APP_WEAK;
    else
        fprintf(stderr, "%s: '%s' is no good as --scaling: strong or weak is needed\n", app->name,
                scaling);
    return app->scaling != APP_NO_SCALING;
}

/* On rank 0. Returns -1 to go on, or the exit code. */
static int parse(int argc, char **argv, struct app *app, const char *what,
                 const struct app_flag *own, const struct app_flag *common)
{
    char why[2 * APP_TEXT_SIZE];
    int status = arguments_read(argc, argv, own, common, why, sizeof why);
    if (status == ARGUMENTS_HELP)
        arguments_help("mpirun -n RANKS", app->name, what, own, common);
    else if (status == APP_USAGE)
        fprintf(stderr, "%s: %s\n", app->name, why);
    if (status != ARGUMENTS_READ)
        return status;
    if (app->every > 0 && *app->checkpoint == '\0') {
        fprintf(stderr, "%s: --every says when to write a checkpoint, but not where; add --checkpoint FILE\n",
                app->name);
        return APP_USAGE;
    }
    return scaling_kind(app) ? -1 : APP_USAGE;
}

/* Whether a file can be written; by another one that takes its place, if `anew`. If not, `errno` says why. */
static int can_write(const char *path, int anew)
{
    char folder[APP_TEXT_SIZE];
    struct stat found;
    int there = stat(path, &found) == 0;
    if (there && S_ISDIR(found.st_mode)) {
        errno = EISDIR;
        return 0;
    }
    if (there && !anew)
        return access(path, W_OK) == 0;
    snprintf(folder, sizeof folder, "%s", path);
    return access(dirname(folder), W_OK | X_OK) == 0;
}

/* On rank 0. A run of hours shall not find out at its end that there is no place for what it has found. */
static int places(const struct app *app)
{
    if (*app->checkpoint && !can_write(app->checkpoint, 1))
        fprintf(stderr, "%s: checkpoint %s: cannot be opened: %s\n", app->name, app->checkpoint, strerror(errno));
    else if (*app->image && !can_write(app->image, 0))
        fprintf(stderr, "%s: the picture %s could not be written: %s\n", app->name, app->image, strerror(errno));
    else
        return -1;
    return APP_FILE;
}

/* How often this job was started before, or -1 where nobody starts jobs again: mpirun --max-restarts and the queue say
 * it in HPVM_RESTART_COUNT, Slurm from the second start on in a variable of its own. */
static long restarts(void)
{
    const char *count = getenv("HPVM_RESTART_COUNT");
    if (!count)
        count = getenv("SLURM_RESTART_COUNT");
    if (count)
        return strtol(count, NULL, 10);
    return getenv("SLURM_JOB_ID") ? 0 : -1;
}

/* On rank 0. A job that is started again goes on from its last checkpoint. When it is started first, a file of that name
 * is another run's: it is set aside, so that no later start takes it for this run's. Returns -1, or the exit code. */
static int go_on(struct app *app)
{
    long count = restarts();
    if (count < 0 || *app->checkpoint == '\0' || access(app->checkpoint, F_OK) != 0)
        return -1;
    if (count > 0) {
        strcpy(app->restart, app->checkpoint);
        fprintf(stderr, "%s: restart %ld of the job, from checkpoint %s\n", app->name, count, app->checkpoint);
        return -1;
    }
    if (strcmp(app->restart, app->checkpoint) == 0)
        return -1;
    char old[APP_TEXT_SIZE + 4];
    snprintf(old, sizeof old, "%s.old", app->checkpoint);
    if (rename(app->checkpoint, old) != 0) {
        fprintf(stderr, "%s: checkpoint %s, of another run, cannot be renamed to %s: %s\n", app->name,
                app->checkpoint, old, strerror(errno));
        return APP_FILE;
    }
    fprintf(stderr, "%s: checkpoint %s, of another run, is now %s\n", app->name, app->checkpoint, old);
    return -1;
}

static void share(const struct app_flag *flags)
{
    static const size_t size[] = {sizeof(int), sizeof(long), sizeof(double), APP_TEXT_SIZE};
    for (; flags->name; flags++)
        MPI_Bcast(flags->value, (int)size[flags->kind], MPI_BYTE, 0, MPI_COMM_WORLD);
}

int app_begin(int *argc, char ***argv, struct app *app, const char *name, const char *what,
              const struct app_flag *own)
{
    struct app_flag common[COMMON];
    int status = -1;
    memset(app, 0, sizeof *app);
    app->name = name;
    common_flags(app, common);
    MPI_Init(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &app->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &app->ranks);
    if (app->rank == 0)
        status = parse(*argc, *argv, app, what, own, common);
    if (status < 0 && app->rank == 0)
        status = places(app);
    if (status < 0 && app->rank == 0)
        status = go_on(app);
    MPI_Bcast(&status, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (status >= 0)
        return app_end(status);
    share(own);
    share(common);
    MPI_Bcast(&app->scaling, sizeof app->scaling, MPI_BYTE, 0, MPI_COMM_WORLD);
    return -1;
}

int app_end(int code)
{
    MPI_Finalize();
    return code;
}

int app_find(const char *word, const char *const *list, int count)
{
    for (int w = 0; w < count; w++)
        if (strcmp(word, list[w]) == 0)
            return w;
    return -1;
}

int app_refuse(const struct app *app, int code, const char *format, ...)
{
    if (app->rank == 0) {
        va_list with;
        va_start(with, format);
        fprintf(stderr, "%s: ", app->name);
        vfprintf(stderr, format, with);
        fputc('\n', stderr);
        va_end(with);
    }
    return code;
}

/* The new memory, if there is any. */
static void *given(void *new, size_t count, size_t size)
{
    if (!new) {
        int rank = 0;
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        fprintf(stderr, "rank %d has no memory for %zu times %zu bytes; take a smaller problem or more hosts\n",
                rank, count, size);
        MPI_Abort(MPI_COMM_WORLD, APP_MEMORY);
        exit(APP_MEMORY);
    }
    return new;
}

void *app_more_memory(void *old, size_t count, size_t size)
{
    if (count == 0)
        count = 1;
    return given(count <= SIZE_MAX / size ? realloc(old, count * size) : NULL, count, size);
}

/* Pages of 2 MiB where there are so many, if the system gives such ones: what is read in no order misses few translations then. */
void *app_lines(size_t count, size_t size)
{
    enum { LINE = 64, LARGE = 1 << 21 };
    if (count > (SIZE_MAX - LARGE) / size)
        return given(NULL, count, size);
    size_t unit = count * size >= 2 * LARGE ? LARGE : LINE, whole = count * size / unit * unit + unit; /* aligned_alloc wants whole units */
    void *memory = aligned_alloc(unit, whole);
#ifdef MADV_HUGEPAGE
    if (memory && unit == LARGE)
        madvise(memory, whole, MADV_HUGEPAGE);
#endif
    return given(memory, count, size);
}

void *app_memory(size_t count, size_t size)
{
    return app_more_memory(NULL, count, size);
}
