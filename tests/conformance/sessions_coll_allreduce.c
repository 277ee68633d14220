/* coll_allreduce.c in a program that never calls MPI_Init. */
#define SESSIONS_ONLY
#include "coll_allreduce.c"
