/* MPI 5.0, 3.2.3 and 9.1.2: tags from 0 to MPI_TAG_UB (at least 32767), received selectively. */
#include "check.h"

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    CHECK_NEEDS(2);
    int *upper, flag = 0;
    CHECK_MPI(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &upper, &flag));
    CHECK(flag && *upper >= 32767);
    int tags[64], count = 0, ub = *upper;
    for (unsigned power = 1; power <= (unsigned)ub && power != 0; power *= 2) {
        tags[count++] = (int)(power - 1);
        tags[count++] = ub - (int)power + 1;
    }
    int right = (check_rank + 1) % check_size, left = (check_rank + check_size - 1) % check_size;
    MPI_Request requests[64];
    int values[64];
    for (int i = 0; i < count; i++) {
        values[i] = tags[i] ^ check_rank;
        CHECK_MPI(MPI_Isend(&values[i], 1, MPI_INT, right, tags[i], MPI_COMM_WORLD, &requests[i]));
    }
    for (int i = count - 1; i >= 0; i--) {
        int value = -1;
        MPI_Status status;
        CHECK_MPI(MPI_Recv(&value, 1, MPI_INT, left, tags[i], MPI_COMM_WORLD, &status));
        CHECK_EQ(value, tags[i] ^ left);
        CHECK_EQ(status.MPI_TAG, tags[i]);
    }
    CHECK_MPI(MPI_Waitall(count, requests, MPI_STATUSES_IGNORE));
    return check_finish();
}
