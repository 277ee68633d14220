/* Shared by the OpenSHMEM programs: their begin and their end. Include it once, in the only C file. */
#ifndef OSH_H
#define OSH_H

#include <shmem.h>
#define WHO "PE"
#include "../model.h"

static int all_errors = 0; /* symmetric: PE 0 has the sum */

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
    return verdict(total);
}

#endif
