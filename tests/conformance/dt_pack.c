/* MPI 5.0, 5.2 "Pack and Unpack": mixed items packed one after the other, sent as MPI_PACKED,
 * unpacked, or received directly with the matching struct. */
#include "check.h"
#include <stddef.h>

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    int right = (check_rank + 1) % check_size, left = (check_rank + check_size - 1) % check_size;
    char buffer[1000], in[1000];
    int position = 0, n = 5 + check_rank, numbers[20], got = -1, size = -1, back[20];
    double x = check_rank + 0.25, y = -1;
    for (int i = 0; i < 20; i++)
        numbers[i] = check_rank * 100 + i;
    CHECK_MPI(MPI_Pack(&n, 1, MPI_INT, buffer, sizeof buffer, &position, MPI_COMM_WORLD));
    CHECK_MPI(MPI_Pack(&x, 1, MPI_DOUBLE, buffer, sizeof buffer, &position, MPI_COMM_WORLD));
    CHECK_MPI(MPI_Pack(numbers, n, MPI_INT, buffer, sizeof buffer, &position, MPI_COMM_WORLD));
    MPI_Status status;
    CHECK_MPI(MPI_Sendrecv(buffer, position, MPI_PACKED, right, 1, in, sizeof in, MPI_PACKED, left,
                           1, MPI_COMM_WORLD, &status));
    CHECK_MPI(MPI_Get_count(&status, MPI_PACKED, &size));
    position = 0;
    CHECK_MPI(MPI_Unpack(in, size, &position, &got, 1, MPI_INT, MPI_COMM_WORLD));
    CHECK_EQ(got, 5 + left);
    CHECK_MPI(MPI_Unpack(in, size, &position, &y, 1, MPI_DOUBLE, MPI_COMM_WORLD));
    CHECK(y == left + 0.25);
    CHECK_MPI(MPI_Unpack(in, size, &position, back, got, MPI_INT, MPI_COMM_WORLD));
    CHECK_EQ(back[got - 1], left * 100 + got - 1);
    CHECK_EQ(position, size);
    /* Packed here, received with types there; and the reverse. */
    struct { int a[3]; double b; } s = { { 0 }, 0 };
    MPI_Datatype parts[2] = { MPI_INT, MPI_DOUBLE }, type;
    MPI_Aint at[2] = { offsetof(__typeof__(s), a), offsetof(__typeof__(s), b) };
    CHECK_MPI(MPI_Type_create_struct(2, (int[]){ 3, 1 }, at, parts, &type));
    CHECK_MPI(MPI_Type_commit(&type));
    position = 0;
    CHECK_MPI(MPI_Pack(numbers, 3, MPI_INT, buffer, sizeof buffer, &position, MPI_COMM_WORLD));
    CHECK_MPI(MPI_Pack(&x, 1, MPI_DOUBLE, buffer, sizeof buffer, &position, MPI_COMM_WORLD));
    CHECK_MPI(MPI_Sendrecv(buffer, position, MPI_PACKED, right, 2, &s, 1, type, left, 2,
                           MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK(s.a[0] == left * 100 && s.a[2] == left * 100 + 2 && s.b == left + 0.25);
    CHECK_MPI(MPI_Sendrecv(&s, 1, type, left, 3, in, sizeof in, MPI_PACKED, right, 3,
                           MPI_COMM_WORLD, &status));
    CHECK_MPI(MPI_Get_count(&status, MPI_PACKED, &size));
    position = 0;
    CHECK_MPI(MPI_Unpack(in, size, &position, back, 3, MPI_INT, MPI_COMM_WORLD));
    CHECK_MPI(MPI_Unpack(in, size, &position, &y, 1, MPI_DOUBLE, MPI_COMM_WORLD));
    CHECK(back[2] == check_rank * 100 + 2 && y == check_rank + 0.25);
    CHECK_MPI(MPI_Type_free(&type));
    return check_finish();
}
