// Each process puts its number where the next one finds it.
#include <shmem.h>
#include <stdio.h>

int main(void) {
    static int from = -1;
    shmem_init();
    int me = shmem_my_pe(), all = shmem_n_pes();
    shmem_int_p(&from, me, (me + 1) % all);
    shmem_barrier_all();
    int right = from == (me + all - 1) % all;
    if (me == 0 && right) printf("shmem, %d processes\n", all);
    shmem_finalize();
    return !right;
}
