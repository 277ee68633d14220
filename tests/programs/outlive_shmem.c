/* A PE that is killed while it has a lock: outlive_shmem, on 3 PEs with --enable-recovery. OpenSHMEM knows no errors, so who
 * waits for the lock ends the job, with words, instead of waiting for ever. */
#include <shmem.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

static long lock = 0;

int main(void)
{
    shmem_init();
    int me = shmem_my_pe();
    if (me == 1) shmem_set_lock(&lock);
    shmem_barrier_all();
    if (me == 1) kill(getpid(), SIGKILL);
    shmem_set_lock(&lock);
    printf("PE %d has it\n", me);
    fflush(stdout);
    shmem_clear_lock(&lock);
    return 0;
}
