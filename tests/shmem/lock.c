/* Locks exclude each other; test_lock does not wait; several locks; in the heap and in static data. */
#include "osh.h"

static long static_lock, counter, holder;

static void exclusive(long *lock, int rounds, int tests)
{
    counter = 0;
    holder = 0;
    shmem_barrier_all();
    for (int i = 0; i < rounds; i++) {
        if (tests)
            while (shmem_test_lock(lock))
                ;
        else
            shmem_set_lock(lock);
        CHECK_EQ(shmem_long_g(&holder, 0), 0);
        shmem_long_p(&holder, me + 1, 0);
        long seen = shmem_long_g(&counter, 0);
        shmem_long_p(&counter, seen + 1, 0);
        shmem_quiet();
        CHECK_EQ(shmem_long_g(&holder, 0), me + 1);
        shmem_long_p(&holder, 0, 0);
        shmem_clear_lock(lock);
    }
    shmem_barrier_all();
    CHECK_EQ(shmem_long_g(&counter, 0), (long)rounds * n);
    shmem_barrier_all();
}

int main(void)
{
    begin();
    long *locks = need(5 * sizeof *locks);
    exclusive(&static_lock, 50, 0);
    exclusive(&static_lock, 20, 1);
    for (int i = 0; i < 5; i++)
        exclusive(&locks[i], 30, i % 2);
    if (me == 0) {
        shmem_set_lock(&locks[1]);
        CHECK(shmem_test_lock(&locks[1]) != 0);
        CHECK(shmem_test_lock(&locks[2]) == 0);
        shmem_clear_lock(&locks[2]);
        shmem_clear_lock(&locks[1]);
    }
    return end();
}
