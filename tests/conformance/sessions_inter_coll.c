/* inter_coll.c in a program that never calls MPI_Init. */
#define SESSIONS_ONLY
#include "inter_coll.c"
