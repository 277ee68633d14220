/* p2p_modes.c in a program that never calls MPI_Init. */
#define SESSIONS_ONLY
#include "p2p_modes.c"
