/* rma_windows.c in a program that never calls MPI_Init. */
#define SESSIONS_ONLY
#include "rma_windows.c"
