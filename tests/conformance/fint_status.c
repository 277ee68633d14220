/* MPI 5.0, 19.3.5 "Status": statuses between C, mpif.h and mpi_f08 in all six directions; what is ignored
 * has no status to convert. */
#include "check.h"

static void same(const MPI_Status *a, const MPI_Status *b, MPI_Datatype type)
{
    int count_a = -1, count_b = -2, flag_a = -1, flag_b = -2;
    CHECK_EQ(a->MPI_SOURCE, b->MPI_SOURCE);
    CHECK_EQ(a->MPI_TAG, b->MPI_TAG);
    CHECK_EQ(a->MPI_ERROR, b->MPI_ERROR);
    CHECK_MPI(MPI_Get_count(a, type, &count_a));
    CHECK_MPI(MPI_Get_count(b, type, &count_b));
    CHECK_EQ(count_a, count_b);
    CHECK_MPI(MPI_Test_cancelled(a, &flag_a));
    CHECK_MPI(MPI_Test_cancelled(b, &flag_b));
    CHECK_EQ(flag_a, flag_b);
}

static void clear(MPI_Status *status)
{
    memset(status, 0x55, sizeof *status);
}

static void around(const MPI_Status *status, MPI_Datatype type)
{
    MPI_Fint f[MPI_F_STATUS_SIZE], f_again[MPI_F_STATUS_SIZE];
    MPI_F08_status f08, f08_again;
    MPI_Status back;
    int (*by_address)(const MPI_Status *, MPI_Fint *) = MPI_Status_c2f;
    CHECK_MPI(by_address(status, f));
    CHECK_EQ(f[MPI_F_SOURCE], status->MPI_SOURCE);
    CHECK_EQ(f[MPI_F_TAG], status->MPI_TAG);
    CHECK_EQ(f[MPI_F_ERROR], status->MPI_ERROR);
    clear(&back);
    CHECK_MPI(MPI_Status_f2c(f, &back));
    same(status, &back, type);
    CHECK_MPI(MPI_Status_c2f08(status, &f08));
    CHECK_EQ(f08.MPI_SOURCE, status->MPI_SOURCE);
    CHECK_EQ(f08.MPI_TAG, status->MPI_TAG);
    clear(&back);
    CHECK_MPI(MPI_Status_f082c(&f08, &back));
    same(status, &back, type);
    memset(f_again, 0, sizeof f_again);
    CHECK_MPI(MPI_Status_f082f(&f08, f_again));
    CHECK(memcmp(f, f_again, sizeof f) == 0);
    CHECK_MPI(MPI_Status_f2f08(f_again, &f08_again));
    clear(&back);
    CHECK_MPI(PMPI_Status_f082c(&f08_again, &back));
    same(status, &back, type);
    CHECK_MPI(PMPI_Status_c2f(status, f));
    CHECK_MPI(PMPI_Status_f2f08(f, &f08));
    CHECK_MPI(PMPI_Status_f082f(&f08, f));
    CHECK_MPI(PMPI_Status_f2c(f, &back));
    same(status, &back, type);
    CHECK_MPI(PMPI_Status_c2f08(status, &f08));
}

int main(int argc, char **argv)
{
    MPI_Status status;
    MPI_Request request;
    MPI_Fint f[MPI_F_STATUS_SIZE];
    double data[5] = {1, 2, 3, 4, 5}, got[9];
    int right, left;
    check_init(&argc, &argv);
    right = (check_rank + 1) % check_size;
    left = (check_rank + check_size - 1) % check_size;
    CHECK_MPI(MPI_Sendrecv(data, 5, MPI_DOUBLE, right, 12, got, 9, MPI_DOUBLE, left, MPI_ANY_TAG,
                           MPI_COMM_WORLD, &status));
    CHECK_EQ(status.MPI_TAG, 12);
    CHECK_EQ(status.MPI_SOURCE, left);
    status.MPI_ERROR = 3;
    around(&status, MPI_DOUBLE);
    CHECK_MPI(MPI_Irecv(got, 9, MPI_DOUBLE, 0, 99, MPI_COMM_SELF, &request));
    CHECK_MPI(MPI_Cancel(&request));
    CHECK_MPI(MPI_Wait(&request, &status));
    around(&status, MPI_DOUBLE);
    /* Erroneous, so the function returns an error; it has no communicator to raise it on. */
    CHECK(MPI_Status_c2f(MPI_STATUS_IGNORE, f) != MPI_SUCCESS);
    CHECK(MPI_Status_f2c(MPI_F_STATUS_IGNORE, &status) != MPI_SUCCESS);
    CHECK(MPI_Status_f2c(MPI_F_STATUSES_IGNORE, &status) != MPI_SUCCESS);
    return check_finish();
}
