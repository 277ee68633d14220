/* MPI 5.0, 3.2.5 "Return Status" and 3.7.3: fields of a status, MPI_Get_count and
 * MPI_Get_elements, empty statuses, accessor functions, and that MPI_ERROR is left alone by calls
 * that return a single status. */
#include "check.h"

static void check_empty(const MPI_Status *status)
{
    int count = -1, cancelled = 1;
    CHECK_EQ(status->MPI_SOURCE, MPI_ANY_SOURCE);
    CHECK_EQ(status->MPI_TAG, MPI_ANY_TAG);
    CHECK_MPI(MPI_Get_count(status, MPI_INT, &count));
    CHECK_EQ(count, 0);
    CHECK_MPI(MPI_Test_cancelled(status, &cancelled));
    CHECK(!cancelled);
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    int value[4] = { 1, 2, 3, 4 }, in[8], count, flag;
    MPI_Status status;
    MPI_Request null = MPI_REQUEST_NULL;
    MPI_Comm self = MPI_COMM_SELF;
    status.MPI_ERROR = 4711;
    CHECK_MPI(MPI_Sendrecv(value, 4, MPI_INT, 0, 11, in, 8, MPI_INT, 0, MPI_ANY_TAG, self, &status));
    CHECK_EQ(status.MPI_ERROR, 4711);
    CHECK_EQ(status.MPI_SOURCE, 0);
    CHECK_EQ(status.MPI_TAG, 11);
    CHECK_MPI(MPI_Get_count(&status, MPI_INT, &count));
    CHECK_EQ(count, 4);
    CHECK_MPI(MPI_Get_count(&status, MPI_BYTE, &count));
    CHECK_EQ(count, 16);
    CHECK_MPI(MPI_Get_elements(&status, MPI_INT, &count));
    CHECK_EQ(count, 4);
    /* Not a whole number of items of the type: undefined. */
    MPI_Datatype three, empty;
    CHECK_MPI(MPI_Type_contiguous(3, MPI_INT, &three));
    CHECK_MPI(MPI_Type_contiguous(0, MPI_INT, &empty));
    CHECK_MPI(MPI_Type_commit(&three));
    CHECK_MPI(MPI_Type_commit(&empty));
    CHECK_MPI(MPI_Get_count(&status, three, &count));
    CHECK_EQ(count, MPI_UNDEFINED);
    CHECK_MPI(MPI_Get_elements(&status, three, &count));
    CHECK_EQ(count, 4);
    /* A zero-size type of a zero-size message counts 0. */
    CHECK_MPI(MPI_Sendrecv(value, 0, MPI_INT, 0, 11, in, 8, empty, 0, 11, self, &status));
    CHECK_MPI(MPI_Get_count(&status, empty, &count));
    CHECK_EQ(count, 0);
    CHECK_MPI(MPI_Wait(&null, &status));
    check_empty(&status);
    flag = 0;
    CHECK_MPI(MPI_Test(&null, &flag, &status));
    CHECK(flag);
    check_empty(&status);
    /* The setters of 12.3 and the accessors of MPI 4.1. */
    CHECK_MPI(MPI_Status_set_elements(&status, MPI_INT, 3));
    CHECK_MPI(MPI_Get_elements(&status, MPI_INT, &count));
    CHECK_EQ(count, 3);
    CHECK_MPI(MPI_Status_set_elements_c(&status, MPI_BYTE, (MPI_Count)5000000000));
    MPI_Count large = -1;
    CHECK_MPI(MPI_Get_elements_c(&status, MPI_BYTE, &large));
    CHECK_EQ(large, 5000000000);
    CHECK_MPI(MPI_Get_count_c(&status, MPI_BYTE, &large));
    CHECK_EQ(large, 5000000000);
    CHECK_MPI(MPI_Get_count(&status, MPI_BYTE, &count));
    CHECK_EQ(count, MPI_UNDEFINED);
    CHECK_MPI(MPI_Status_set_cancelled(&status, 1));
    CHECK_MPI(MPI_Test_cancelled(&status, &flag));
    CHECK(flag);
    CHECK_MPI(MPI_Status_set_source(&status, 5));
    CHECK_MPI(MPI_Status_set_tag(&status, 6));
    CHECK_MPI(MPI_Status_set_error(&status, MPI_ERR_TRUNCATE));
    CHECK_MPI(MPI_Status_get_source(&status, &count));
    CHECK_EQ(count, 5);
    CHECK_MPI(MPI_Status_get_tag(&status, &count));
    CHECK_EQ(count, 6);
    CHECK_MPI(MPI_Status_get_error(&status, &count));
    CHECK_EQ(count, MPI_ERR_TRUNCATE);
    CHECK_EQ(status.MPI_SOURCE, 5);
    CHECK_MPI(MPI_Type_free(&three));
    CHECK_MPI(MPI_Type_free(&empty));
    return check_finish();
}
