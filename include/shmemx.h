/* shmemx.h: extensions of OpenSHMEM by hpvm. There are none; what programs expect here of the standard is in shmem.h. */
#ifndef SHMEMX_H
#define SHMEMX_H

#include <shmem.h>

#endif /* SHMEMX_H */
