/* Some of the ranks at work on shared objects while the others wait: for --scaling. */
#ifndef AMONG_H
#define AMONG_H

#include <mpi.h>
#include <stdint.h>

/* A barrier of the ranks of `comm`, at which they answer others. */
void meet(MPI_Comm comm);

/* A number that no rank of `comm` has had before, the same on all of them: names are used once, and not all ranks take part
 * in every run. Collective. */
uint64_t new_series(MPI_Comm comm);

/* What app_time does, by ranks that answer others meanwhile: the seconds of `count` steps, those of the slowest rank. */
double time_among(MPI_Comm comm, long count, int (*step)(void *with), void *with);

#endif
