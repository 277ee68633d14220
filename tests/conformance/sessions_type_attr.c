/* type_attr.c in a program that never calls MPI_Init. */
#define SESSIONS_ONLY
#include "type_attr.c"
