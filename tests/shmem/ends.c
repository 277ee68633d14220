/* The last PE ends while the others wait: the job ends with one message where the wait is in vain, and goes on where it is not. The first
 * argument says what they wait in; with a second one the last PE calls shmem_finalize, else its program exits. */
#include "osh.h"
#include <unistd.h>

static long cell, lock, results[2], sync_space[SHMEM_REDUCE_SYNC_SIZE];

/* The PEs that are left wait for the one that has ended. */
static void wait_in_vain(const char *what, shmem_team_t pair)
{
    if (strcmp(what, "barrier") == 0)
        shmem_barrier_all();
    if (strcmp(what, "twice") == 0)
        shmem_barrier_all(), shmem_barrier_all();
    if (strcmp(what, "sync") == 0)
        shmem_sync_all();
    if (strcmp(what, "malloc") == 0)
        shmem_malloc(100);
    if (strcmp(what, "reduce") == 0)
        shmem_long_sum_reduce(SHMEM_TEAM_WORLD, results, results + 1, 1);
    if (strcmp(what, "team") == 0)
        shmem_team_sync(pair);
    if (strcmp(what, "set") == 0 && n > 1 && me >= n - 2)
        shmem_barrier(n - 2, 0, 2, sync_space);
    if (strcmp(what, "split") == 0)
        shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, n, NULL, 0, &pair);
    if (strcmp(what, "wait") == 0)
        shmem_long_wait_until(&cell, SHMEM_CMP_EQ, 1);
    if (strcmp(what, "any") == 0)
        shmem_long_wait_until_any(results, 2, NULL, SHMEM_CMP_EQ, 1);
    if (strcmp(what, "lock") == 0)
        shmem_set_lock(&lock);
}

/* PE 0 is left alone with PE 1, which takes its time. */
static void wait_for_another(const char *what)
{
    if (strcmp(what, "third") == 0 && me == 0) {
        shmem_long_wait_until(&cell, SHMEM_CMP_EQ, 1);
        CHECK(cell == 1);
    }
    if (strcmp(what, "third") == 0 && me == 1)
        sleep(3), shmem_long_p(&cell, 1, 0);
    if (strcmp(what, "slow") == 0 && me == 0)
        sleep(3);
    if (strcmp(what, "third_lock") == 0 && me < n - 1) {
        shmem_set_lock(&lock);
        sleep(2);
        shmem_clear_lock(&lock);
    }
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    begin();
    shmem_team_t pair;
    shmem_team_split_strided(SHMEM_TEAM_WORLD, n > 1 ? n - 2 : 0, 1, n > 1 ? 2 : 1, NULL, 0, &pair);
    if (strcmp(what, "lock") == 0 && me == n - 1)
        shmem_set_lock(&lock);
    shmem_barrier_all();
    if (me == n - 1) {
        /* Where the others wait for nothing in vain, they say so. */
        if (argc > 2)
            shmem_finalize();
        exit(0);
    }
    wait_in_vain(what, pair);
    wait_for_another(what);
    if (me == 0)
        printf(errors ? "%d errors\n" : "No errors\n", errors);
    return errors != 0;
}
