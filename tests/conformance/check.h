/* Shared by all conformance programs: checks that count errors instead of stopping, so that one
 * run tells everything that is wrong, and a common end. Include it once, in the only C file. */
#ifndef CHECK_H
#define CHECK_H

#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef SESSIONS_ONLY
/* The same programs without MPI_Init: their world and self are communicators of a session. */
static MPI_Session check_session = MPI_SESSION_NULL;
static MPI_Comm check_world = MPI_COMM_NULL, check_self = MPI_COMM_NULL;

static inline MPI_Comm check_comm_of(const char *set)
{
    MPI_Group group;
    MPI_Comm comm;
    MPI_Group_from_session_pset(check_session, set, &group);
    MPI_Comm_create_from_group(group, set, MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm);
    MPI_Group_free(&group);
    return comm;
}

static inline int check_begin_session(void)
{
    int code = MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &check_session);
    check_world = check_comm_of("mpi://WORLD");
    check_self = check_comm_of("mpi://SELF");
    return code;
}

static inline int check_end_session(void)
{
    int started = 1;
    MPI_Initialized(&started);
    if (started)
        fprintf(stderr, "MPI_Init has been called\n");
    MPI_Comm_free(&check_world);
    MPI_Comm_free(&check_self);
    return MPI_Session_finalize(&check_session) | started;
}

#undef MPI_COMM_WORLD
#undef MPI_COMM_SELF
#define MPI_COMM_WORLD check_world
#define MPI_COMM_SELF check_self
#define MPI_Init(argc, argv) check_begin_session()
#define MPI_Finalize() check_end_session()
#endif

static int check_errors = 0; /* failed checks of this rank */
static int check_rank = -1;
static int check_size = 0;

/* Reports a failed check; after 20 of them only counts. Safe to call from threads: at worst the
 * count is too low, but not zero. */
static inline void check_fail(const char *file, int line, const char *what)
{
    if (++check_errors <= 20) {
        fprintf(stderr, "rank %d: %s:%d: %s\n", check_rank, file, line, what);
        fflush(stderr);
    }
}

/* The condition must hold. */
#define CHECK(cond)                                                                            \
    do {                                                                                       \
        if (!(cond))                                                                           \
            check_fail(__FILE__, __LINE__, "not true: " #cond);                                \
    } while (0)

/* Two integers must be equal; says both. */
#define CHECK_EQ(a, b)                                                                         \
    do {                                                                                       \
        long long check_a = (long long)(a), check_b = (long long)(b);                          \
        if (check_a != check_b) {                                                              \
            char check_text[512];                                                              \
            snprintf(check_text, sizeof check_text, "%s is %lld, %lld (%s) expected", #a,      \
                     check_a, check_b, #b);                                                    \
            check_fail(__FILE__, __LINE__, check_text);                                        \
        }                                                                                      \
    } while (0)

/* The MPI call must return MPI_SUCCESS. */
#define CHECK_MPI(call)                                                                        \
    do {                                                                                       \
        int check_code = (call);                                                               \
        if (check_code != MPI_SUCCESS) {                                                       \
            char check_text[512];                                                              \
            snprintf(check_text, sizeof check_text, "error code %d from %s", check_code,       \
                     #call);                                                                   \
            check_fail(__FILE__, __LINE__, check_text);                                        \
        }                                                                                      \
    } while (0)

/* The MPI call must return a code of this error class. */
#define CHECK_CLASS(call, wanted)                                                              \
    do {                                                                                       \
        int check_code = (call), check_class = -1;                                             \
        MPI_Error_class(check_code, &check_class);                                             \
        if (check_class != (wanted)) {                                                         \
            char check_text[512];                                                              \
            snprintf(check_text, sizeof check_text, "error class %d from %s, %d (%s) expected",\
                     check_class, #call, (wanted), #wanted);                                   \
            check_fail(__FILE__, __LINE__, check_text);                                        \
        }                                                                                      \
    } while (0)

/* MPI_Init, and errors are returned from here on. */
static inline void check_init(int *argc, char ***argv)
{
    MPI_Init(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &check_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &check_size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
}

/* Sums the errors of all ranks at rank 0 by point-to-point messages, tells every rank the sum,
 * and finalizes. Returns what main should return. */
static inline int check_finish(void)
{
    int total = check_errors;
    for (int i = 1; i < check_size; i++) {
        int theirs = 1;
        if (check_rank == 0) {
            MPI_Recv(&theirs, 1, MPI_INT, i, 32000, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            total += theirs;
        } else if (check_rank == i) {
            MPI_Send(&check_errors, 1, MPI_INT, 0, 32000, MPI_COMM_WORLD);
        }
    }
    for (int i = 1; i < check_size; i++) {
        if (check_rank == 0)
            MPI_Send(&total, 1, MPI_INT, i, 32001, MPI_COMM_WORLD);
        else if (check_rank == i)
            MPI_Recv(&total, 1, MPI_INT, 0, 32001, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    total += MPI_Finalize() != MPI_SUCCESS;
    if (check_rank == 0) {
        if (total == 0)
            printf("No errors\n");
        else
            printf("%d errors\n", total);
    }
    return total != 0;
}

/* Ends a test that cannot run on this number of ranks. */
#define CHECK_NEEDS(n)                                                                         \
    do {                                                                                       \
        if (check_size < (n)) {                                                                \
            if (check_rank == 0)                                                               \
                fprintf(stderr, "needs %d ranks or more\n", (n));                              \
            check_errors++;                                                                    \
            return check_finish();                                                             \
        }                                                                                      \
    } while (0)

/* A byte that depends on a seed and a position, for filling and checking buffers. */
static inline unsigned char pattern_byte(unsigned seed, size_t i)
{
    return (unsigned char)((seed * 2654435761u + (unsigned)i * 40503u) >> 7);
}

static inline void pattern_fill(void *buffer, size_t length, unsigned seed)
{
    unsigned char *bytes = (unsigned char *)buffer;
    for (size_t i = 0; i < length; i++)
        bytes[i] = pattern_byte(seed, i);
}

/* 1 when the buffer holds the pattern of the seed. */
static inline int pattern_holds(const void *buffer, size_t length, unsigned seed)
{
    const unsigned char *bytes = (const unsigned char *)buffer;
    for (size_t i = 0; i < length; i++)
        if (bytes[i] != pattern_byte(seed, i))
            return 0;
    return 1;
}

/* A small fixed random generator: the same numbers everywhere. */
static inline unsigned check_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(*state >> 33);
}

#endif
