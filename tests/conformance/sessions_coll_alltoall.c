/* coll_alltoall.c in a program that never calls MPI_Init. */
#define SESSIONS_ONLY
#include "coll_alltoall.c"
