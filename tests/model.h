/* Shared by the programs of several models: checks that count errors instead of stopping, and what a program says at its
 * end. WHO, defined before, is what the model calls a process. Include it once, in the only C file. */
#ifndef MODEL_H
#define MODEL_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int me, n; /* this process, and how many there are */
static int errors = 0;

/* The condition must hold. */
#define CHECK(cond)                                                                            \
    do {                                                                                       \
        if (!(cond) && ++errors <= 20)                                                         \
            fprintf(stderr, WHO " %d: %s:%d: not true: %s\n", me, __FILE__, __LINE__, #cond);  \
    } while (0)

/* Two integers must be equal; says both. */
#define CHECK_EQ(a, b)                                                                         \
    do {                                                                                       \
        long long check_a = (long long)(a), check_b = (long long)(b);                          \
        if (check_a != check_b && ++errors <= 20)                                              \
            fprintf(stderr, WHO " %d: %s:%d: %s is %lld, %lld expected\n", me, __FILE__,       \
                    __LINE__, #a, check_a, check_b);                                           \
    } while (0)

/* The first process tells how many errors all have found. What main should return. */
static inline int verdict(int total)
{
    if (me == 0) {
        if (total == 0)
            printf("No errors\n");
        else
            printf("%d errors\n", total);
    }
    return total != 0;
}

#endif
