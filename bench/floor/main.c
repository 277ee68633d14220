/* The command line of the floor measurements. */
#include "floor.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    int (*run)(void);
    const char *help;
} modes[] = {
    {"flag", floor_flag, "a cache line one way between two processors"},
    {"ring", floor_ring, "40 bytes through a multi-producer ring of one-line cells, one way"},
    {"memcpy", floor_memcpy, "memcpy by size"},
    {"vmread", floor_vmread, "process_vm_readv by size"},
    {"words", floor_words, "words with their places from each of two processes to the other, by size; and without"},
};

int main(int argc, char **argv)
{
    int status = 0, found = 0;
    const char *wanted = argc > 1 ? argv[1] : "all";
    raw = argc > 2 && strcmp(argv[2], "raw") == 0;
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        if (strcmp(wanted, "all") != 0 && strcmp(wanted, modes[i].name) != 0)
            continue;
        found = 1;
        status |= modes[i].run();
    }
    if (found)
        return status;
    int help = strcmp(wanted, "--help") == 0;
    if (!help)
        fprintf(stderr, "floor: unknown mode '%s'\n", wanted);
    fprintf(help ? stdout : stderr, "usage: floor [all");
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
        fprintf(help ? stdout : stderr, "|%s", modes[i].name);
    fprintf(help ? stdout : stderr, "] [raw]\n");
    for (size_t i = 0; help && i < sizeof modes / sizeof *modes; i++)
        printf("  %-8s %s\n", modes[i].name, modes[i].help);
    return help ? 0 : 2;
}
