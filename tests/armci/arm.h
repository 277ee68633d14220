/* Shared by the ARMCI programs: their begin and their end. Include it once, in the only C file. */
#ifndef ARM_H
#define ARM_H

#include <armci.h>
#include <complex.h>
#define WHO "process"
#include "../model.h"

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
    return verdict(total);
}

#endif
