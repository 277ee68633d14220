#include "arguments.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HELP_COLUMN = 22 };

static const struct app_flag *find(const struct app_flag *flags, const char *name)
{
    for (; flags->name; flags++)
        if (strcmp(flags->name, name) == 0)
            return flags;
    return NULL;
}

/* Of those that are not in `own` again, if it is there. */
static void help_on(const struct app_flag *flags, const struct app_flag *own)
{
    for (; flags->name; flags++) {
        if (flags->kind == APP_ABSENT || (own && find(own, flags->name)))
            continue;
        int width = printf("  %s %s", flags->name, flags->argument ? flags->argument : "");
        printf("%*s%s\n", width < HELP_COLUMN ? HELP_COLUMN - width : 1, "", flags->help);
    }
}

void arguments_help(const char *launcher, const char *name, const char *what, const struct app_flag *own,
                    const struct app_flag *common)
{
    printf("%s: %s\n\nusage: %s %s [flags]\n\n", name, what, launcher, name);
    help_on(own, NULL);
    printf("\n");
    help_on(common, own);
    printf("  --help              this text\n");
}

/* Stores the number; returns whether the flag takes it. */
static int number(const struct app_flag *flag, const char *text, char *why, size_t size)
{
    char *end = NULL;
    errno = 0;
    double value = strtod(text, &end);
    int whole = flag->kind == APP_WHOLE;
    if (errno != 0 || end == text || *end != '\0' || !(value >= flag->least && value <= flag->most) ||
        (whole && value != (double)(long)value)) {
        snprintf(why, size, "'%s' is no good as %s: a %s from %.10g to %.10g is needed", text, flag->name,
                 whole ? "whole number" : "number", flag->least, flag->most);
        return 0;
    }
    if (whole)
        *(long *)flag->value = (long)value;
    else
        *(double *)flag->value = value;
    return 1;
}

static int take(const struct app_flag *flag, const char *text, char *why, size_t size)
{
    if (!text) {
        snprintf(why, size, "%s needs a value: %s %s", flag->name, flag->name, flag->argument);
        return 0;
    }
    if (flag->kind != APP_TEXT)
        return number(flag, text, why, size);
    if (*text == '\0' || strlen(text) >= APP_TEXT_SIZE) {
        snprintf(why, size, "the value of %s has %zu characters; 1 to %d are possible", flag->name, strlen(text),
                 APP_TEXT_SIZE - 1);
        return 0;
    }
    strcpy(flag->value, text);
    return 1;
}

int arguments_read(int argc, char **argv, const struct app_flag *own, const struct app_flag *common, char *why, size_t size)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            return ARGUMENTS_HELP;
        const struct app_flag *flag = find(own, argv[i]);
        if (!flag)
            flag = find(common, argv[i]);
        if (!flag) {
            snprintf(why, size, "unknown argument '%s'; --help lists the flags", argv[i]);
            return APP_USAGE;
        }
        if (flag->kind == APP_ABSENT) {
            snprintf(why, size, "%s", flag->help);
            return APP_USAGE;
        }
        if (flag->kind == APP_SWITCH)
            *(int *)flag->value = 1;
        else if (!take(flag, argv[++i], why, size))
            return APP_USAGE;
    }
    return ARGUMENTS_READ;
}
