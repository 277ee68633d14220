/* Shared by the programs of shared objects: checks that count errors instead of stopping, and a common end. Include it
 * once, in the only C file. */
#ifndef SAM_CHECK_H
#define SAM_CHECK_H

#include <sam.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int me, n; /* this rank, and how many there are */
static int errors = 0;

/* The condition must hold. */
#define CHECK(cond)                                                                            \
    do {                                                                                       \
        if (!(cond) && ++errors <= 20)                                                         \
            fprintf(stderr, "rank %d: %s:%d: not true: %s\n", me, __FILE__, __LINE__, #cond);  \
    } while (0)

/* Two integers must be equal; says both. */
#define CHECK_EQ(a, b)                                                                         \
    do {                                                                                       \
        long long check_a = (long long)(a), check_b = (long long)(b);                          \
        if (check_a != check_b && ++errors <= 20)                                              \
            fprintf(stderr, "rank %d: %s:%d: %s is %lld, %lld expected\n", me, __FILE__,       \
                    __LINE__, #a, check_a, check_b);                                           \
    } while (0)

static inline void begin(void)
{
    sam_init();
    me = sam_rank();
    n = sam_ranks();
}

/* Adds up the errors of all ranks, in an accumulator; rank 0 tells. */
static inline int end(void)
{
    sam_name sum = sam_name_of(~0ull, 0);
    sam_barrier();
    int *all = me == 0 ? sam_accumulator_begin(sum, sizeof(int)) : sam_update(sum, NULL);
    *all += errors;
    sam_end_update(sum);
    sam_barrier();
    int total = errors;
    if (me == 0) {
        total = *(int *)sam_update(sum, NULL);
        sam_end_update(sum);
        if (total == 0)
            printf("No errors\n");
    }
    sam_finish();
    return total != 0;
}

#endif
