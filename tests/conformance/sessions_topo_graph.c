/* topo_graph.c in a program that never calls MPI_Init. */
#define SESSIONS_ONLY
#include "topo_graph.c"
