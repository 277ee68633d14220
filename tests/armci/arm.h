/* Shared by the ARMCI programs: checks that count errors instead of stopping, and a common end. Include it once, in the
 * only C file. */
#ifndef ARM_H
#define ARM_H

#include <armci.h>
#include <complex.h>
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
            fprintf(stderr, "process %d: %s:%d: not true: %s\n", me, __FILE__, __LINE__, #cond); \
    } while (0)

/* Two integers must be equal; says both. */
#define CHECK_EQ(a, b)                                                                         \
    do {                                                                                       \
        long long check_a = (long long)(a), check_b = (long long)(b);                          \
        if (check_a != check_b && ++errors <= 20)                                              \
            fprintf(stderr, "process %d: %s:%d: %s is %lld, %lld expected\n", me, __FILE__,    \
                    __LINE__, #a, check_a, check_b);                                           \
    } while (0)

static inline void begin(int *argc, char ***argv)
{
    MPI_Init(argc, argv);
    ARMCI_Init_args(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
}

/* Memory of all processes, zeroed: the addresses by process. */
static inline void **need(size_t bytes)
{
    void **all = malloc((size_t)n * sizeof *all);
    if (!all || ARMCI_Malloc(all, (armci_size_t)bytes) != 0)
        ARMCI_Error("no memory", (int)bytes);
    memset(all[me], 0, bytes);
    ARMCI_Barrier();
    return all;
}

static inline void give_back(void **all)
{
    ARMCI_Free(all[me]);
    free(all);
}

/* Sums the errors of all processes and ends. What main should return. */
static inline int end(void)
{
    int total = errors;
    ARMCI_Barrier();
    armci_msg_igop(&total, 1, "+");
    ARMCI_Finalize();
    MPI_Finalize();
    if (me == 0) {
        if (total == 0)
            printf("No errors\n");
        else
            printf("%d errors\n", total);
    }
    return total != 0;
}

#endif
