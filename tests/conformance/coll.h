/* For programs that test a collective in its blocking, nonblocking and persistent forms: the
 * first argument chooses the form, and COLL calls it. */
#ifndef COLL_H
#define COLL_H

#include "check.h"

enum { FORM_BLOCKING, FORM_NONBLOCKING, FORM_PERSISTENT };
static int coll_form = FORM_BLOCKING;

/* check_init, and the form from the first argument. */
static inline void coll_init(int *argc, char ***argv)
{
    check_init(argc, argv);
    if (*argc > 1 && !strcmp((*argv)[1], "nonblocking"))
        coll_form = FORM_NONBLOCKING;
    if (*argc > 1 && !strcmp((*argv)[1], "persistent"))
        coll_form = FORM_PERSISTENT;
}

/* COLL(Bcast, bcast, buffer, count, ...): the operation is complete afterwards. The persistent
 * form is started once; coll_persistent.c starts again and again. */
#define COLL(Name, name, ...)                                                                  \
    do {                                                                                       \
        MPI_Request coll_request = MPI_REQUEST_NULL;                                           \
        if (coll_form == FORM_BLOCKING) {                                                      \
            CHECK_MPI(MPI_##Name(__VA_ARGS__));                                                \
        } else if (coll_form == FORM_NONBLOCKING) {                                            \
            CHECK_MPI(MPI_I##name(__VA_ARGS__, &coll_request));                                \
            CHECK_MPI(MPI_Wait(&coll_request, MPI_STATUS_IGNORE));                             \
        } else {                                                                               \
            CHECK_MPI(MPI_##Name##_init(__VA_ARGS__, MPI_INFO_NULL, &coll_request));           \
            CHECK_MPI(MPI_Start(&coll_request));                                               \
            CHECK_MPI(MPI_Wait(&coll_request, MPI_STATUS_IGNORE));                             \
            CHECK_MPI(MPI_Request_free(&coll_request));                                        \
        }                                                                                      \
    } while (0)

/* The model's data: what rank contributes at position i. */
static inline int64_t coll_value(int rank, int i)
{
    return (int64_t)rank * 1000003 + (int64_t)i * 7 + 1;
}

static inline void coll_fill(int64_t *data, int rank, int first, int count)
{
    for (int i = 0; i < count; i++)
        data[i] = coll_value(rank, first + i);
}

/* 1 when data holds what rank contributes from position first on. */
static inline int coll_holds(const int64_t *data, int rank, int first, int count)
{
    for (int i = 0; i < count; i++)
        if (data[i] != coll_value(rank, first + i))
            return 0;
    return 1;
}

/* 1 when data is the sum of the contributions of ranks 0 to last. */
static inline int coll_is_sum(const int64_t *data, int last, int first, int count)
{
    for (int i = 0; i < count; i++) {
        int64_t sum = 0;
        for (int r = 0; r <= last; r++)
            sum += coll_value(r, first + i);
        if (data[i] != sum)
            return 0;
    }
    return 1;
}

static inline int64_t *coll_buffer(int count)
{
    int64_t *buffer = malloc(((size_t)count + 1) * sizeof *buffer);
    for (int i = 0; i <= count; i++)
        buffer[i] = -1;
    return buffer;
}

#endif
