/* For programs on intercommunicators: the world is split into a low and a high group, of unequal
 * size where there are more than two ranks. */
#ifndef INTER_H
#define INTER_H

#include "coll.h"

static MPI_Comm inter_local = MPI_COMM_NULL, inter_comm = MPI_COMM_NULL;
static int inter_low;       /* 1 in the low group */
static int inter_rank;      /* rank in the local group */
static int inter_size;      /* size of the local group */
static int inter_remote;    /* size of the remote group */
static int inter_first;     /* world rank of the remote group's first process */

static inline void inter_create(void)
{
    int low = check_size > 2 ? (check_size + 1) / 3 : 1;
    inter_low = check_rank < low;
    inter_first = inter_low ? low : 0;
    CHECK_MPI(MPI_Comm_split(MPI_COMM_WORLD, inter_low, check_rank, &inter_local));
    CHECK_MPI(MPI_Intercomm_create(inter_local, 0, MPI_COMM_WORLD, inter_first, 77, &inter_comm));
    CHECK_MPI(MPI_Comm_rank(inter_comm, &inter_rank));
    CHECK_MPI(MPI_Comm_size(inter_comm, &inter_size));
    CHECK_MPI(MPI_Comm_remote_size(inter_comm, &inter_remote));
    CHECK_EQ(inter_remote, check_size - inter_size);
}

static inline void inter_free(void)
{
    CHECK_MPI(MPI_Comm_free(&inter_comm));
    CHECK_MPI(MPI_Comm_free(&inter_local));
}

/* The root argument of a rooted operation whose root is `root` in the group `low`. */
static inline int inter_root(int low, int root)
{
    if (inter_low != low)
        return root;
    return inter_rank == root ? MPI_ROOT : MPI_PROC_NULL;
}

#endif
