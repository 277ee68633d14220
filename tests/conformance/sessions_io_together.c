/* io_together.c in a program that never calls MPI_Init. */
#define SESSIONS_ONLY
#include "io_together.c"
