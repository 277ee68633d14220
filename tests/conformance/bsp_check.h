/* For programs of BSPlib: the checks of check.h, and a common begin and end. */
#ifndef BSP_CHECK_H
#define BSP_CHECK_H

#include "check.h"
#include <bsp.h>

/* To be called behind bsp_begin. */
static inline void bsp_check_init(void)
{
    check_rank = bsp_pid();
    check_size = bsp_nprocs();
}

/* Sums the errors of all processes and calls bsp_end; what main returns. */
static inline int bsp_check_finish(void)
{
    static int sum;
    bsp_push_reg(&sum, sizeof sum);
    bsp_sync();
    int total = 0, all[64] = {0};
    sum = check_errors;
    for (int i = 0; i < check_size && i < 64; i++)
        bsp_get(i, &sum, 0, &all[i], sizeof sum);
    bsp_sync();
    for (int i = 0; i < 64; i++)
        total += all[i];
    if (check_rank == 0)
        puts(total == 0 ? "No errors" : "errors were found");
    bsp_end();
    return total != 0;
}

#endif
