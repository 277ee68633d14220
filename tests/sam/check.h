/* Shared by the programs of shared objects: their begin and their end. Include it once, in the only C file. */
#ifndef SAM_CHECK_H
#define SAM_CHECK_H

#include <sam.h>
#define WHO "rank"
#include "../model.h"

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
