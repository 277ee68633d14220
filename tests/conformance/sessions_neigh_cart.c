/* neigh_cart.c in a program that never calls MPI_Init. */
#define SESSIONS_ONLY
#include "neigh_cart.c"
