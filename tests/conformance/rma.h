/* For the programs about windows: the same test on windows of every flavour. */
#ifndef RMA_H
#define RMA_H

#include "check.h"

enum rma_flavor { RMA_CREATE, RMA_ALLOC_MEM, RMA_ALLOCATE, RMA_SHARED, RMA_DYNAMIC, RMA_FLAVORS };

struct rma {
    enum rma_flavor flavor;
    MPI_Comm comm; /* of the window */
    int rank, size;
    MPI_Win win;
    void *base;      /* this rank's memory */
    MPI_Aint bytes;  /* of it */
    MPI_Aint *at;    /* displacement of byte 0 at each rank */
};

/* A window of `bytes` bytes of zeros at each rank, with displacements in bytes. All ranks of MPI_COMM_WORLD
 * call it. 0: this flavour can't be had here, or RMA_FLAVOR=N asks for another one alone. */
static inline int rma_open_with(struct rma *r, enum rma_flavor flavor, MPI_Aint bytes, MPI_Info info)
{
    MPI_Aint mine = 0;
    if (getenv("RMA_FLAVOR") && atoi(getenv("RMA_FLAVOR")) != (int)flavor) return 0;
    r->flavor = flavor;
    r->bytes = bytes;
    r->base = NULL;
    r->comm = MPI_COMM_WORLD;
    r->win = MPI_WIN_NULL;
    if (flavor == RMA_SHARED) {
        /* Only where all ranks share memory. */
        MPI_Comm host;
        int here;
        MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
        MPI_Comm_size(host, &here);
        MPI_Comm_free(&host);
        if (here != check_size) return 0;
    }
    MPI_Comm_rank(r->comm, &r->rank);
    MPI_Comm_size(r->comm, &r->size);
    switch (flavor) {
    case RMA_CREATE:
        r->base = calloc(1, (size_t)bytes + 1);
        CHECK_MPI(MPI_Win_create(r->base, bytes, 1, info, r->comm, &r->win));
        break;
    case RMA_ALLOC_MEM:
        CHECK_MPI(MPI_Alloc_mem(bytes + 65536, MPI_INFO_NULL, &r->base));
        CHECK_MPI(MPI_Win_create(r->base, bytes, 1, info, r->comm, &r->win));
        break;
    case RMA_ALLOCATE:
        CHECK_MPI(MPI_Win_allocate(bytes, 1, info, r->comm, &r->base, &r->win));
        break;
    case RMA_SHARED:
        CHECK_MPI(MPI_Win_allocate_shared(bytes, 1, info, r->comm, &r->base, &r->win));
        break;
    default:
        r->base = calloc(1, (size_t)bytes + 1);
        CHECK_MPI(MPI_Win_create_dynamic(info, r->comm, &r->win));
        CHECK_MPI(MPI_Win_attach(r->win, r->base, bytes));
        MPI_Get_address(r->base, &mine);
    }
    if (bytes) memset(r->base, 0, (size_t)bytes);
    MPI_Win_set_errhandler(r->win, MPI_ERRORS_RETURN);
    r->at = malloc(sizeof(MPI_Aint) * (size_t)r->size);
    MPI_Allgather(&mine, 1, MPI_AINT, r->at, 1, MPI_AINT, r->comm);
    return 1;
}

static inline int rma_open(struct rma *r, enum rma_flavor flavor, MPI_Aint bytes)
{
    return rma_open_with(r, flavor, bytes, MPI_INFO_NULL);
}

static inline void rma_close(struct rma *r)
{
    /* Nobody accesses it any more. */
    if (r->flavor == RMA_DYNAMIC) MPI_Barrier(r->comm);
    if (r->flavor == RMA_DYNAMIC) CHECK_MPI(MPI_Win_detach(r->win, r->base));
    CHECK_MPI(MPI_Win_free(&r->win));
    CHECK(r->win == MPI_WIN_NULL);
    if (r->flavor == RMA_CREATE || r->flavor == RMA_DYNAMIC) free(r->base);
    if (r->flavor == RMA_ALLOC_MEM) MPI_Free_mem(r->base);
    free(r->at);
}

#endif
