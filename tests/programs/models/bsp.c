// Each process puts its number where the next one finds it, in one superstep.
#include <bsp.h>
#include <stdio.h>

int main(void) {
    bsp_begin(bsp_nprocs());
    int me = bsp_pid(), all = bsp_nprocs(), from = -1;
    bsp_push_reg(&from, sizeof from);
    bsp_sync();
    bsp_put((me + 1) % all, &me, &from, 0, sizeof me);
    bsp_sync();
    if (from != (me + all - 1) % all) bsp_abort("%d came from its left neighbour", from);
    if (me == 0) printf("bsp, %d processes\n", all);
    bsp_end();
    return 0;
}
