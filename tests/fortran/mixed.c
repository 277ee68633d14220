/* The part in C of mixed.F90: handles, statuses and what is ignored, as Fortran passes them. */
#include <mpi.h>
#include <stdio.h>

static int wrong = 0;

static void check(int holds, int line)
{
    if (!holds) {
        fprintf(stderr, "mixed.c:%d: not true\n", line);
        wrong++;
    }
}
#define CHECK(condition) check(!!(condition), __LINE__)

/* A communicator, a datatype of 3 INTEGERs and an operation that Fortran made. */
void take_handles_(MPI_Fint *comm, MPI_Fint *type, MPI_Fint *op, MPI_Fint *failed)
{
    int size, bytes, in = 2, out = 0;
    MPI_Comm c_comm = MPI_Comm_f2c(*comm);
    CHECK(MPI_Comm_size(c_comm, &size) == MPI_SUCCESS);
    CHECK(MPI_Type_size(MPI_Type_f2c(*type), &bytes) == MPI_SUCCESS && bytes == 12);
    CHECK(MPI_Allreduce(&in, &out, 1, MPI_INT, MPI_Op_f2c(*op), c_comm) == MPI_SUCCESS);
    CHECK(out == 2 * size);
    CHECK(MPI_Comm_c2f(c_comm) == *comm);
    *failed = wrong;
}

/* A request and a group that Fortran is to use. */
void give_handles_(MPI_Fint *comm, MPI_Fint *value, MPI_Fint *request, MPI_Fint *group)
{
    static int sent = 77;
    MPI_Request c_request;
    MPI_Group c_group;
    MPI_Comm c_comm = MPI_Comm_f2c(*comm);
    int rank;
    MPI_Comm_rank(c_comm, &rank);
    MPI_Irecv(value, 1, MPI_INT, rank, 5, c_comm, &c_request);
    MPI_Send(&sent, 1, MPI_INT, rank, 5, c_comm);
    MPI_Comm_group(c_comm, &c_group);
    *request = MPI_Request_c2f(c_request);
    *group = MPI_Group_c2f(c_group);
}

/* A status that Fortran got, of a message of 4 INTEGERs with tag 9. */
void take_status_(MPI_Fint *status, MPI_Fint *source, MPI_Fint *failed)
{
    MPI_Status c_status;
    int count = -1;
    CHECK(status != MPI_F_STATUS_IGNORE && status != MPI_F_STATUSES_IGNORE);
    CHECK(MPI_Status_f2c(status, &c_status) == MPI_SUCCESS);
    CHECK(c_status.MPI_TAG == 9 && c_status.MPI_SOURCE == *source);
    CHECK(MPI_Get_count(&c_status, MPI_INTEGER, &count) == MPI_SUCCESS && count == 4);
    c_status.MPI_TAG = 10;
    CHECK(MPI_Status_c2f(&c_status, status) == MPI_SUCCESS);
    *failed = wrong;
}

/* MPI_STATUS_IGNORE and MPI_STATUSES_IGNORE of Fortran. */
void take_ignored_(MPI_Fint *one, MPI_Fint *several, MPI_Fint *failed)
{
    MPI_Status status;
    CHECK(one == MPI_F_STATUS_IGNORE);
    CHECK(several == MPI_F_STATUSES_IGNORE);
    CHECK(MPI_Status_f2c(one, &status) != MPI_SUCCESS);
    CHECK(MPI_Status_f2c(several, &status) != MPI_SUCCESS);
    *failed = wrong;
}

/* Attributes that Fortran set, one as an address-sized and one as a plain integer; and one of C. */
void take_attributes_(MPI_Fint *comm, MPI_Fint *copied, MPI_Fint *keyval, MPI_Fint *old_keyval,
                      MPI_Fint *c_keyval, MPI_Aint *address, MPI_Fint *failed)
{
    static int mine;
    MPI_Aint *value = 0;
    int *old = 0, flag = 0, key;
    CHECK(MPI_Comm_get_attr(MPI_Comm_f2c(*copied), *keyval, &value, &flag) == MPI_SUCCESS);
    CHECK(flag && *value == (MPI_Aint)-12345678901);
    CHECK(MPI_Comm_get_attr(MPI_Comm_f2c(*comm), *keyval, &value, &flag) == MPI_SUCCESS);
    CHECK(flag && *value == (MPI_Aint)-12345678901);
    *value = 99;
    CHECK(MPI_Comm_get_attr(MPI_Comm_f2c(*comm), *old_keyval, &old, &flag) == MPI_SUCCESS);
    CHECK(flag && *old == 4321);
    CHECK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &key, 0) == MPI_SUCCESS);
    CHECK(MPI_Comm_set_attr(MPI_Comm_f2c(*comm), key, &mine) == MPI_SUCCESS);
    *c_keyval = key;
    *address = (MPI_Aint)&mine;
    *failed = wrong;
}
