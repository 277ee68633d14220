/* mpp/shmemx.h: where older programs look for shmemx.h. */
#include <shmemx.h>
