/* p2p_partitioned.c in a program that never calls MPI_Init. */
#define SESSIONS_ONLY
#include "p2p_partitioned.c"
