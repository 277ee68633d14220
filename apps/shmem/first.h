/* Who speaks for an OpenSHMEM program. */
#include <shmem.h>

static int is_first(void)
{
    return shmem_my_pe() == 0;
}
