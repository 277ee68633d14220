/* MPI 5.0, 5.1.9 "Commit and Free", 5.1.10 dup, 7.8 names, 18.1.5 match_size: a type freed while in
 * use lives on; names; sizes and extents of predefined types. */
#include "check.h"

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    int right = (check_rank + 1) % check_size, left = (check_rank + check_size - 1) % check_size;
    MPI_Datatype type, dup;
    MPI_Request requests[2];
    static int out[3000], in[3000];
    for (int i = 0; i < 3000; i++)
        out[i] = check_rank + i;
    /* Freed between start and completion. */
    CHECK_MPI(MPI_Type_vector(1000, 1, 3, MPI_INT, &type));
    CHECK_MPI(MPI_Type_commit(&type));
    CHECK_MPI(MPI_Type_commit(&type)); /* again: no harm */
    CHECK_MPI(MPI_Irecv(in, 1, type, left, 1, MPI_COMM_WORLD, &requests[0]));
    CHECK_MPI(MPI_Isend(out, 1, type, right, 1, MPI_COMM_WORLD, &requests[1]));
    CHECK_MPI(MPI_Type_free(&type));
    CHECK(type == MPI_DATATYPE_NULL);
    CHECK_MPI(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    CHECK_EQ(in[2997], left + 2997);
    CHECK_EQ(in[1], 0);
    /* A duplicate of a committed type is committed. */
    CHECK_MPI(MPI_Type_contiguous(10, MPI_INT, &type));
    CHECK_MPI(MPI_Type_commit(&type));
    CHECK_MPI(MPI_Type_dup(type, &dup));
    CHECK_MPI(MPI_Type_free(&type));
    CHECK_MPI(MPI_Sendrecv(out, 2, dup, right, 2, in, 20, MPI_INT, left, 2, MPI_COMM_WORLD,
                           MPI_STATUS_IGNORE));
    CHECK_EQ(in[19], left + 19);
    /* Names. */
    char name[MPI_MAX_OBJECT_NAME] = "x";
    int length = -1;
    CHECK_MPI(MPI_Type_get_name(dup, name, &length));
    CHECK(length == 0 && name[0] == 0);
    CHECK_MPI(MPI_Type_set_name(dup, "ten ints"));
    CHECK_MPI(MPI_Type_get_name(dup, name, &length));
    CHECK(!strcmp(name, "ten ints") && length == 8);
    CHECK_MPI(MPI_Type_get_name(MPI_DOUBLE, name, &length));
    CHECK(!strcmp(name, "MPI_DOUBLE") && length == 10);
    CHECK_MPI(MPI_Type_get_name(MPI_UINT16_T, name, &length));
    CHECK(!strcmp(name, "MPI_UINT16_T"));
    CHECK_MPI(MPI_Type_free(&dup));
    /* Sizes by class. */
    int size = -1;
    CHECK_MPI(MPI_Type_match_size(MPI_TYPECLASS_REAL, 8, &type));
    CHECK_MPI(MPI_Type_size(type, &size));
    CHECK_EQ(size, 8);
    CHECK_MPI(MPI_Type_match_size(MPI_TYPECLASS_INTEGER, 4, &type));
    CHECK_MPI(MPI_Type_size(type, &size));
    CHECK_EQ(size, 4);
    CHECK_MPI(MPI_Type_match_size(MPI_TYPECLASS_COMPLEX, 16, &type));
    CHECK_MPI(MPI_Type_size(type, &size));
    CHECK_EQ(size, 16);
    CHECK(MPI_Type_match_size(MPI_TYPECLASS_REAL, 5, &type) != MPI_SUCCESS);
    /* Large counts. */
    MPI_Count lb = -1, extent = -1, large = -1;
    MPI_Datatype huge;
    CHECK_MPI(MPI_Type_contiguous_c((MPI_Count)1 << 33, MPI_DOUBLE, &huge));
    CHECK_MPI(MPI_Type_size_c(huge, &large));
    CHECK_EQ(large, (MPI_Count)1 << 36);
    CHECK_MPI(MPI_Type_get_extent_c(huge, &lb, &extent));
    CHECK(lb == 0 && extent == (MPI_Count)1 << 36);
    CHECK_MPI(MPI_Type_size(huge, &size));
    CHECK_EQ(size, MPI_UNDEFINED);
    CHECK_MPI(MPI_Type_free(&huge));
    /* Many types come and go. */
    for (int i = 0; i < 20000; i++) {
        CHECK_MPI(MPI_Type_vector(2, 1, 2 + i % 5, MPI_INT, &type));
        CHECK_MPI(MPI_Type_commit(&type));
        CHECK_MPI(MPI_Type_free(&type));
    }
    return check_finish();
}
