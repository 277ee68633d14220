/* mpp/shmem.h: where older programs look for shmem.h. */
#include <shmem.h>
