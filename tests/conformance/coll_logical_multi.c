/* What MPI 5.0, 6.9.2 leaves out, other MPIs have and programs use: logical operations on MPI_AINT,
 * MPI_OFFSET and MPI_COUNT. */
#include "check.h"

static void logical(MPI_Datatype type)
{
    /* Every one of the three is a signed integer of 8 bytes. */
    long long in[3] = {check_rank + 1, 0, check_rank % 2 ? 0 : 4}, out[3];
    CHECK_MPI(MPI_Allreduce(in, out, 3, type, MPI_LAND, MPI_COMM_WORLD));
    CHECK(out[0] && !out[1] && !out[2] == (check_size > 1));
    CHECK_MPI(MPI_Allreduce(in, out, 3, type, MPI_LOR, MPI_COMM_WORLD));
    CHECK(out[0] && !out[1] && out[2]);
    CHECK_MPI(MPI_Allreduce(in, out, 3, type, MPI_LXOR, MPI_COMM_WORLD));
    CHECK_EQ(!!out[0], check_size % 2);
    CHECK_EQ(!!out[2], (check_size + 1) / 2 % 2);
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    logical(MPI_AINT);
    logical(MPI_OFFSET);
    logical(MPI_COUNT);
    return check_finish();
}
