/* MPI 5.0, 11.2.4 "Allowing User Functions at MPI Finalization": attributes of MPI_COMM_SELF are
 * deleted in MPI_Finalize, the last set one first, while MPI still works; MPI_Initialized and
 * MPI_Finalized before, between and after. */
#include "check.h"

static int order[3], called;

static int delete(MPI_Comm comm, int key, void *value, void *state)
{
    (void)comm, (void)key, (void)state;
    int flag = 1, result = -1, in = 4;
    order[called++] = (int)(intptr_t)value;
    MPI_Finalized(&flag);
    CHECK(!flag);
    CHECK_MPI(MPI_Sendrecv(&in, 1, MPI_INT, 0, 1, &result, 1, MPI_INT, 0, 1, MPI_COMM_SELF,
                           MPI_STATUS_IGNORE));
    CHECK_EQ(result, 4);
    return MPI_SUCCESS;
}

int main(int argc, char **argv)
{
    int flag = 1, key[3], version = -1, subversion = -1;
    CHECK_MPI(MPI_Initialized(&flag));
    CHECK(!flag);
    CHECK_MPI(MPI_Finalized(&flag));
    CHECK(!flag);
    CHECK_MPI(MPI_Get_version(&version, &subversion));
    CHECK_EQ(version, MPI_VERSION);
    check_init(&argc, &argv);
    CHECK_MPI(MPI_Initialized(&flag));
    CHECK(flag);
    CHECK_MPI(MPI_Finalized(&flag));
    CHECK(!flag);
    for (int i = 0; i < 3; i++) {
        CHECK_MPI(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete, &key[i], NULL));
        CHECK_MPI(MPI_Comm_set_attr(MPI_COMM_SELF, key[i], (void *)(intptr_t)(i + 1)));
    }
    MPI_Finalize();
    CHECK_EQ(called, 3);
    for (int i = 0; i < 3; i++)
        CHECK_EQ(order[i], 3 - i);
    CHECK_MPI(MPI_Finalized(&flag));
    CHECK(flag);
    CHECK_MPI(MPI_Initialized(&flag));
    CHECK(flag);
    if (check_rank == 0 && !check_errors)
        printf("No errors\n");
    return check_errors != 0;
}
