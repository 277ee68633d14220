/* Initialised several times, nested and one after the other; ended by returning from main. */
#include "osh.h"

static long cell;

int main(void)
{
    for (int round = 0; round < 5; round++) {
        begin();
        shmem_init();
        long *heap = need(1000 * sizeof *heap);
        shmem_long_p(&cell, round, (me + 1) % n);
        shmem_long_p(&heap[7], round, (me + 1) % n);
        shmem_finalize();
        CHECK(cell == round && heap[7] == round);
        shmem_team_t team;
        shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, 1, NULL, 0, &team);
        shmem_finalize();
        int on = -1;
        shmem_query_initialized(&on);
        CHECK_EQ(on, 0);
    }
    begin();
    shmem_int_atomic_add(&all_errors, errors, 0);
    shmem_barrier_all();
    if (me == 0)
        printf(all_errors ? "errors\n" : "No errors\n");
    return all_errors != 0;
}
