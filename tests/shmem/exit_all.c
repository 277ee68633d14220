/* One PE ends the job for all, with an exit code of its choice, while the others wait. */
#include "osh.h"

int main(int argc, char **argv)
{
    static long never;
    begin();
    if (me == n - 1) {
        printf("No errors\n");
        shmem_global_exit(argc > 1 ? atoi(argv[1]) : 0);
    }
    shmem_long_wait_until(&never, SHMEM_CMP_EQ, 1);
    return 9;
}
