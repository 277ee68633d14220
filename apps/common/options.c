#include "options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void help(const struct run *run, const char *what, const struct option *options)
{
    printf("usage: %s %s [OPTION]...\n\n%s\n\n", run->launcher, run->name, what);
    for (; options->name != NULL; options++)
        printf("  --%-12s %s, %ld to %ld [%ld]\n", options->name, options->help, options->least, options->most,
               *options->value);
    puts("  --check        a small problem, checked; the last line is PASSED or FAILED, the exit code 0 or 1\n"
         "  --quiet        no progress lines\n"
         "  --help         print this text");
}

/* Each process comes here, so that nobody ends the job before the first one has spoken. */
static _Noreturn void leave(const struct run *run, int code)
{
    fflush(NULL);
    if (run->end)
        run->end();
    exit(code);
}

static _Noreturn void refuse(const struct run *run, const char *argument, const char *why)
{
    if (run->first())
        fprintf(stderr, "%s: '%s': %s (%s --help)\n", run->name, argument, why, run->name);
    leave(run, USAGE);
}

static void set(const struct run *run, const struct option *option, const char *text)
{
    char why[200], *end;
    snprintf(why, sizeof why, "--%s is a whole number, %ld to %ld", option->name, option->least, option->most);
    if (text == NULL)
        refuse(run, "(nothing)", why);
    errno = 0;
    long value = strtol(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || value < option->least || value > option->most)
        refuse(run, text, why);
    *option->value = value;
}

void read_options(struct run *run, int argc, char **argv, const char *what, const struct option *options)
{
    run->began = run->said = now();
    for (int i = 1; i < argc; i++) {
        const struct option *option = options;
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            if (run->first())
                help(run, what, options);
            leave(run, 0);
        }
        if (strcmp(argv[i], "--check") == 0) {
            run->check = 1;
            continue;
        }
        if (strcmp(argv[i], "--quiet") == 0) {
            run->quiet = 1;
            continue;
        }
        while (option->name != NULL && (strncmp(argv[i], "--", 2) != 0 || strcmp(argv[i] + 2, option->name) != 0))
            option++;
        if (option->name == NULL)
            refuse(run, argv[i], "no such option");
        i++;
        set(run, option, i < argc ? argv[i] : NULL);
    }
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
    return passed ? 0 : WRONG;
}
