/* Shared by the OpenSHMEM programs: checks that count errors instead of stopping, and a common end. Include it once,
 * in the only C file. */
#ifndef OSH_H
#define OSH_H

#include <shmem.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int me, n; /* this PE, and how many there are */
static int errors = 0;
static int all_errors = 0; /* symmetric: PE 0 has the sum */

/* The condition must hold. */
#define CHECK(cond)                                                                            \
    do {                                                                                       \
        if (!(cond) && ++errors <= 20)                                                         \
            fprintf(stderr, "PE %d: %s:%d: not true: %s\n", me, __FILE__, __LINE__, #cond);    \
    } while (0)

/* Two integers must be equal; says both. */
#define CHECK_EQ(a, b)                                                                         \
    do {                                                                                       \
        long long check_a = (long long)(a), check_b = (long long)(b);                          \
        if (check_a != check_b && ++errors <= 20)                                              \
            fprintf(stderr, "PE %d: %s:%d: %s is %lld, %lld expected\n", me, __FILE__,         \
                    __LINE__, #a, check_a, check_b);                                           \
    } while (0)

static inline void begin(void)
{
    shmem_init();
    me = shmem_my_pe();
    n = shmem_n_pes();
}

/* Memory of the symmetric heap, or the end. */
static inline void *need(size_t bytes)
{
    void *memory = shmem_calloc(1, bytes);
    if (!memory) {
        fprintf(stderr, "PE %d: no symmetric memory of %zu bytes\n", me, bytes);
        shmem_global_exit(3);
    }
    return memory;
}

/* Sums the errors of all PEs and ends. What main should return. */
static inline int end(void)
{
    shmem_int_atomic_add(&all_errors, errors, 0);
    shmem_barrier_all();
    int total = shmem_int_atomic_fetch(&all_errors, 0);
    shmem_finalize();
    if (me == 0) {
        if (total == 0)
            printf("No errors\n");
        else
            printf("%d errors\n", total);
    }
    return total != 0;
}

#endif
