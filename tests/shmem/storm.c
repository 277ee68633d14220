/* Puts, updates, waits and barriers without end, for tests that kill it. Prints "ready" when all PEs have begun. */
#include "osh.h"

int main(void)
{
    static long data[100];
    begin();
    long *heap = need(100000);
    shmem_barrier_all();
    if (me == 0) {
        printf("ready\n");
        fflush(stdout);
    }
    for (long round = 1;; round++) {
        int pe = (int)((me + round) % n);
        shmem_long_put(heap, data, 100, pe);
        shmem_long_put_nbi(data, data, 100, pe);
        shmem_long_atomic_add(&heap[round % 100], 1, pe);
        shmem_long_atomic_inc(&data[7], pe);
        if (round % 50 == 0)
            shmem_barrier_all();
        if (round % 80 == 0)
            shmem_free(shmem_malloc(1000));
    }
}
