/* neigh_graph.c in a program that never calls MPI_Init. */
#define SESSIONS_ONLY
#include "neigh_graph.c"
