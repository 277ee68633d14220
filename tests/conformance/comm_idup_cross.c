/* MPI 5.0, section 7.4.2: a duplication that waits for a member must not keep that member's other
 * communicators from being made. Rank 0 starts MPI_Comm_idup of one communicator and then blocks
 * in MPI_Comm_dup of another; all others do the two in the other order. */
#include "check.h"

enum { ROUNDS = 20 };

int main(int argc, char **argv)
{
    int rank, size;
    MPI_Comm first, second;
    check_init(&argc, &argv);
    CHECK_MPI(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    CHECK_MPI(MPI_Comm_size(MPI_COMM_WORLD, &size));
    CHECK_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &first));
    CHECK_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &second));
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Comm a, b;
        MPI_Request request;
        int sum = 0;
        if (rank == 0) {
            CHECK_MPI(MPI_Comm_idup(first, &a, &request));
            CHECK_MPI(MPI_Comm_dup(second, &b));
        } else {
            CHECK_MPI(MPI_Comm_dup(second, &b));
            CHECK_MPI(MPI_Comm_idup(first, &a, &request));
        }
        CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
        CHECK_MPI(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, a));
        CHECK(sum == size * (size - 1) / 2);
        CHECK_MPI(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_MAX, b));
        CHECK(sum == size - 1);
        CHECK_MPI(MPI_Comm_free(&a));
        CHECK_MPI(MPI_Comm_free(&b));
    }
    CHECK_MPI(MPI_Comm_free(&first));
    CHECK_MPI(MPI_Comm_free(&second));
    return check_finish();
}
