/* Calls the Fortran entry points as a compiler would: no Fortran compiler is needed. Compiled with
   -DMPICH or -DOMPI, which say what the constants of that MPI's mpif.h are. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef MPICH
enum { WORLD = 0x44000000, INTEGER = 0x4c00041b, DOUBLE = 0x4c00081f, SUM = 0x58000003 };
enum { SOURCE = 2, TAG = 3, WORDS = 5, PROC_NULL = -1, UNDEFINED = -32766 };
enum { REQUEST_NULL = 0x2c000000, TAG_UB = 0x64400002 };
/* The program's own common blocks, as mpif.h makes them. */
int mpipriv1_[7], mpipriv2_[6];
#define BOTTOM (&mpipriv1_[0])
#define IN_PLACE (&mpipriv1_[1])
#define STATUS_IGNORE (&mpipriv1_[2])
#define STATUSES_IGNORE (&mpipriv2_[0])
#else
enum { WORLD = 0, INTEGER = 7, DOUBLE = 17, SUM = 3 };
enum { SOURCE = 0, TAG = 1, WORDS = 6, PROC_NULL = -2, UNDEFINED = -32766 };
enum { REQUEST_NULL = 0, TAG_UB = 0 };
int mpi_fortran_bottom_, mpi_fortran_in_place_;
int mpi_fortran_status_ignore_[6], mpi_fortran_statuses_ignore_[6];
#define BOTTOM (&mpi_fortran_bottom_)
#define IN_PLACE (&mpi_fortran_in_place_)
#define STATUS_IGNORE mpi_fortran_status_ignore_
#define STATUSES_IGNORE mpi_fortran_statuses_ignore_
#endif

typedef int I;
void mpi_init_(I *ierr);
void mpi_finalize__(I *ierr);
void MPI_COMM_RANK(I *comm, I *rank, I *ierr);
void mpi_comm_size(I *comm, I *size, I *ierr);
void mpi_isend_(void *, I *, I *, I *, I *, I *, I *, I *);
void pmpi_recv_(void *, I *, I *, I *, I *, I *, I *, I *);
void mpi_irecv_(void *, I *, I *, I *, I *, I *, I *, I *);
void mpi_waitany_(I *, I *, I *, I *, I *);
void mpi_waitall_(I *, I *, I *, I *);
void mpi_allreduce_(void *, void *, I *, I *, I *, I *, I *);
void mpi_op_create_(void (*)(double *, double *, I *, I *), I *, I *, I *);
void mpi_get_address_(void *, long *, I *);
void mpi_type_create_hindexed_(I *, I *, long *, I *, I *, I *);
void mpi_type_commit_(I *, I *);
void mpi_type_free_(I *, I *);
void mpi_comm_set_name_(I *, const char *, I *, size_t);
void mpi_comm_get_name_(I *, char *, I *, I *, size_t);
void mpi_comm_get_attr_(I *, I *, long *, I *, I *);
double mpi_wtime_(void);

static void must(int condition, const char *what)
{
    if (!condition) {
        fprintf(stderr, "FAILED: %s\n", what);
        exit(3);
    }
}

static int handed = -1;

static void larger(double *in, double *inout, I *len, I *datatype)
{
    handed = *datatype;
    for (int i = 0; i < *len; i++)
        if (in[i] > inout[i]) inout[i] = in[i];
}

static void messages(I rank, I size)
{
    I world = WORLD, integer = INTEGER, one = 1, two = 2, tag = 5, ierr = 9, index = 0;
    I next = (rank + 1) % size, prev = (rank + size - 1) % size, mine = 100 + rank, got = 0;
    I requests[2] = { REQUEST_NULL, REQUEST_NULL }, status[WORDS] = { 0 };
    mpi_irecv_(&got, &one, &integer, &prev, &tag, &world, &requests[1], &ierr);
    I sent;
    mpi_isend_(&mine, &one, &integer, &next, &tag, &world, &sent, &ierr);
    mpi_waitany_(&two, requests, &index, status, &ierr);
    must(ierr == 0 && index == 2 && got == 100 + prev, "waitany counts from 1");
    must(status[SOURCE] == prev && status[TAG] == tag, "status");
    must(requests[1] == REQUEST_NULL, "completed request");
    mpi_waitany_(&two, requests, &index, STATUS_IGNORE, &ierr);
    must(index == UNDEFINED, "waitany without requests");
    mpi_waitall_(&one, &sent, STATUSES_IGNORE, &ierr);
    must(ierr == 0 && sent == REQUEST_NULL, "waitall");
    I nobody = PROC_NULL;
    pmpi_recv_(&got, &one, &integer, &nobody, &tag, &world, status, &ierr);
    must(status[SOURCE] == PROC_NULL, "nobody");
}

static void reductions(I rank, I size)
{
    I world = WORLD, integer = INTEGER, dbl = DOUBLE, one = 1, two = 2, ierr = 9, sum = SUM;
    I value = rank, op, yes = 1;
    mpi_allreduce_(IN_PLACE, &value, &one, &integer, &sum, &world, &ierr);
    must(ierr == 0 && value == size * (size - 1) / 2, "allreduce in place");
    double mine[2] = { rank, -rank }, best[2];
    mpi_op_create_(larger, &yes, &op, &ierr);
    mpi_allreduce_(mine, best, &two, &dbl, &op, &world, &ierr);
    must(best[0] == size - 1 && best[1] == 0, "operation of the program");
    must(size == 1 || handed == DOUBLE, "its datatype");
    /* Two separate variables by their addresses. */
    long places[2];
    I lengths[2] = { 1, 1 }, both;
    mpi_get_address_(&mine[0], &places[0], &ierr);
    mpi_get_address_(&best[0], &places[1], &ierr);
    mpi_type_create_hindexed_(&two, lengths, places, &dbl, &both, &ierr);
    mpi_type_commit_(&both, &ierr);
    I next = (rank + 1) % size, prev = (rank + size - 1) % size, tag = 6, request;
    double got[2] = { -1, -1 };
    mpi_irecv_(got, &two, &dbl, &prev, &tag, &world, &request, &ierr);
    I sent;
    mpi_isend_(BOTTOM, &one, &both, &next, &tag, &world, &sent, &ierr);
    mpi_waitall_(&one, &request, STATUSES_IGNORE, &ierr);
    mpi_waitall_(&one, &sent, STATUSES_IGNORE, &ierr);
    must(got[0] == prev && got[1] == size - 1, "MPI_BOTTOM");
    mpi_type_free_(&both, &ierr);
}

int main(void)
{
    I world = WORLD, rank, size, ierr = 9, length = 0, key = TAG_UB, flag = 0;
    char name[12] = "xxxxxxxxxxx";
    long bound = 0;
    mpi_init_(&ierr);
    must(ierr == 0, "init");
    MPI_COMM_RANK(&world, &rank, &ierr);
    mpi_comm_size(&world, &size, &ierr);
    messages(rank, size);
    reductions(rank, size);
    mpi_comm_set_name_(&world, "a name   ", &ierr, 9);
    mpi_comm_get_name_(&world, name, &length, &ierr, 10);
    must(memcmp(name, "a name    x", 11) == 0 && length == 6, "texts");
    mpi_comm_get_attr_(&world, &key, &bound, &flag, &ierr);
    must(flag == 1 && bound >= 32767, "predefined attribute");
    must(mpi_wtime_() > 0, "wtime");
    mpi_finalize__(&ierr);
    if (rank == 0) puts("ok");
    return 0;
}
