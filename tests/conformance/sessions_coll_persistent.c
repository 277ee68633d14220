/* coll_persistent.c in a program that never calls MPI_Init. */
#define SESSIONS_ONLY
#include "coll_persistent.c"
