/* Who is in the job: what a program needs for PtlSetMap where it has no other runtime. */
#ifndef PORTALS4_RUNTIME_H
#define PORTALS4_RUNTIME_H

#include "portals4.h"

#ifdef __cplusplus
extern "C" {
#endif

/* PtlInit and PtlFini, as the runtime's. Between them: */
int runtime_init(void);
int runtime_finalize(void);

/* The number of this process in the job, and that of all. -1: no PtlInit before. */
int runtime_get_rank(void);
int runtime_get_size(void);

/* Writes nid and pid of the first size processes to map. */
int runtime_get_nidpid_map(ptl_process_t *map, int size);

/* Returns when all processes of the job have called it. */
int runtime_barrier(void);

#ifdef __cplusplus
}
#endif

#endif
