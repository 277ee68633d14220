/* rma_pscw.c in a program that never calls MPI_Init. */
#define SESSIONS_ONLY
#include "rma_pscw.c"
