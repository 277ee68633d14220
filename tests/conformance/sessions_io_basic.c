/* io_basic.c in a program that never calls MPI_Init. */
#define SESSIONS_ONLY
#include "io_basic.c"
