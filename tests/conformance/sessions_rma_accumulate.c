/* rma_accumulate.c in a program that never calls MPI_Init. */
#define SESSIONS_ONLY
#include "rma_accumulate.c"
