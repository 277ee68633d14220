/* For the programs about files: a name of its own for each run, in TMPDIR or /tmp. */
#ifndef IO_H
#define IO_H

#include "check.h"
#include <unistd.h>

static char io_name[1024];

/* Makes up a name at rank 0 and tells it to all. */
static inline void io_make_name(const char *what)
{
    if (check_rank == 0) {
        const char *folder = getenv("TMPDIR");
        snprintf(io_name, sizeof io_name, "%s/hpvm-%s-%ld", folder ? folder : "/tmp", what, (long)getpid());
    }
    MPI_Bcast(io_name, (int)sizeof io_name, MPI_CHAR, 0, MPI_COMM_WORLD);
}

/* Opens the file of this run. */
static inline MPI_File io_open(int amode)
{
    MPI_File file = MPI_FILE_NULL;
    CHECK_MPI(MPI_File_open(MPI_COMM_WORLD, io_name, amode, MPI_INFO_NULL, &file));
    return file;
}

/* A number that depends on where it is. */
static inline int io_value(long at)
{
    return (int)((at * 2654435761u) >> 3 & 0x7fffffff);
}

#endif
