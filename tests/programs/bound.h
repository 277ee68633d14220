/* Binding a rank to a processor of a list: for machines that are made up (tests/jobs/hardware.rs). */
#ifndef BOUND_H
#define BOUND_H

#include <mpi.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

/* Binds this process to the processor at place `rank` of a list with commas; "-", or a list that is too short: to none. */
static void bind_to(char *list, int rank)
{
    cpu_set_t set;
    char *processor = strtok(list, ",");
    for (int i = 0; i < rank && processor; i++)
        processor = strtok(NULL, ",");
    if (!processor || !strcmp(processor, "-"))
        return;
    CPU_ZERO(&set);
    CPU_SET(atoi(processor), &set);
    if (sched_setaffinity(0, sizeof set, &set))
        MPI_Abort(MPI_COMM_WORLD, 4);
}

#endif
