/* MPI 5.0, 5.2: packing into too little room and unpacking beyond the end are errors, and nothing
 * outside the buffer is touched. */
#include "check.h"

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    int numbers[20] = { 0 }, position = 0;
    char buffer[200];
    memset(buffer, 0x44, sizeof buffer);
    CHECK(MPI_Pack(numbers, 20, MPI_INT, buffer, 10, &position, MPI_COMM_WORLD) != MPI_SUCCESS);
    for (int i = 10; i < 200; i++)
        CHECK_EQ(buffer[i], 0x44);
    position = 0;
    CHECK(MPI_Unpack(buffer, 10, &position, numbers, 20, MPI_INT, MPI_COMM_WORLD) != MPI_SUCCESS);
    position = 0;
    CHECK_CLASS(MPI_Pack(numbers, -1, MPI_INT, buffer, 100, &position, MPI_COMM_WORLD),
                MPI_ERR_COUNT);
    CHECK_CLASS(MPI_Pack(numbers, 1, MPI_DATATYPE_NULL, buffer, 100, &position, MPI_COMM_WORLD),
                MPI_ERR_TYPE);
    return check_finish();
}
