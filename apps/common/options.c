#include "options.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Each process comes here, so that nobody ends the job before the first one has spoken. */
static _Noreturn void leave(const struct run *run, int code)
{
    fflush(NULL);
    if (run->end)
        run->end();
    exit(code);
}

void read_options(struct run *run, int argc, char **argv, const char *what, const struct app_flag *own)
{
    const struct app_flag common[] = {
        {"--check", APP_SWITCH, &run->check, 0, 0, "", "a small problem, checked; the last line is PASSED or FAILED, the exit code 0 or 1"},
        {"--quiet", APP_SWITCH, &run->quiet, 0, 0, "", "no progress lines"},
        {NULL, APP_SWITCH, NULL, 0, 0, NULL, NULL},
    };
    char why[2 * APP_TEXT_SIZE];
    run->began = run->said = now();
    int status = arguments_read(argc, argv, own, common, why, sizeof why);
    if (status == ARGUMENTS_READ)
        return;
    if (run->first() && status == ARGUMENTS_HELP)
        arguments_help(run->launcher, run->name, what, own, common);
    else if (run->first())
        fprintf(stderr, "%s: %s\n", run->name, why);
    leave(run, status);
}

void progress(struct run *run, const char *step, long done, long total)
{
    double at = now();
    if (run->quiet || (at - run->said < 1 && done < total) || !run->first())
        return;
    run->said = at;
    fprintf(stderr, "%s: %s %ld of %ld (%ld %%), %.1f s\n", run->name, step, done, total, 100 * done / total, at - run->began);
}

int verdict(const struct run *run, int passed)
{
    if (run->first()) {
        puts(passed ? "PASSED" : "FAILED");
        fflush(stdout);
    }
    return passed ? 0 : APP_WRONG;
}
