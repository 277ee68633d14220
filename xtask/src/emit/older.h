/*
 * What programs of MPI 1 to 4 mention and the standard ABI does not have: handles and statuses of
 * Fortran (section 19.3), and what MPI 3.0 removed. Functions of this file, made of those of the ABI;
 * the library exports none of them.
 */
#ifdef __GNUC__
#pragma GCC system_header
#endif

#if defined(__GNUC__) || defined(__clang__)
#define HPVM_INLINE static __inline__ __attribute__((__unused__))
#elif defined(__cplusplus)
#define HPVM_INLINE static inline
#elif defined(__STDC_VERSION__) && __STDC_VERSION__ >= 199901L
#define HPVM_INLINE static inline
#else
#define HPVM_INLINE static
#endif

/* An INTEGER of Fortran. The handles of Fortran programs are the integers of MPI_X_toint. */
typedef int MPI_Fint;

/* A status of the module mpi_f08: the same words as in C and in mpif.h. */
typedef struct {
    MPI_Fint MPI_SOURCE;
    MPI_Fint MPI_TAG;
    MPI_Fint MPI_ERROR;
    MPI_Fint MPI_internal[5];
} MPI_F08_status;

/* The common block of mpif.h, which is there in programs that are linked by mpifort. */
#if defined(__GNUC__) || defined(__clang__)
extern MPI_Fint hpvm_mpi_places_[] __attribute__((__weak__));
#define MPI_F_STATUS_IGNORE            (hpvm_mpi_places_ ? hpvm_mpi_places_ + @IGNORE@ : (MPI_Fint *)0)
#define MPI_F_STATUSES_IGNORE          (hpvm_mpi_places_ ? hpvm_mpi_places_ + @IGNORES@ : (MPI_Fint *)0)
#else
#define MPI_F_STATUS_IGNORE            ((MPI_Fint *)0)
#define MPI_F_STATUSES_IGNORE          ((MPI_Fint *)0)
#endif
#define MPI_F08_STATUS_IGNORE          ((MPI_F08_status *)(void *)MPI_F_STATUS_IGNORE)
#define MPI_F08_STATUSES_IGNORE        ((MPI_F08_status *)(void *)MPI_F_STATUSES_IGNORE)

HPVM_INLINE int hpvm_status_copy(const void *from, void *to, const void *ignore, const void *ignores)
{
    const int *words = (const int *)from;
    int *copy = (int *)to;
    int i;
    if (!from || !to || from == ignore || from == ignores) {
        return MPI_ERR_ARG;
    }
    for (i = 0; i < MPI_F_STATUS_SIZE; i++) {
        copy[i] = words[i];
    }
    return MPI_SUCCESS;
}

/* Removed in MPI 3.0. Bounds that MPI_Type_struct alone knows; use MPI_Type_create_resized. */
#define MPI_LB                         ((MPI_Datatype)(MPI_Aint)-2)
#define MPI_UB                         ((MPI_Datatype)(MPI_Aint)-3)

/* Removed in MPI 3.0. No datatype has them: MPI_Type_get_envelope says MPI_COMBINER_HVECTOR and so on. */
#define MPI_COMBINER_HVECTOR_INTEGER   (-2)
#define MPI_COMBINER_HINDEXED_INTEGER  (-3)
#define MPI_COMBINER_STRUCT_INTEGER    (-4)

/* Removed in MPI 3.0; use MPI_Comm_errhandler_function. */
typedef MPI_Comm_errhandler_function MPI_Handler_function;

/* Never in the standard, but in the headers of MPICH or Open MPI. */
#define MPI_CXX_COMPLEX                MPI_CXX_FLOAT_COMPLEX
#define MPIO_Request                   MPI_Request
#define MPIO_Test                      MPI_Test
#define MPIO_Wait                      MPI_Wait
#define MPIO_USES_MPI_REQUEST

