/* MPI 5.0, 5.3 "Canonical Pack and Unpack": "external32" is big-endian with fixed sizes. */
#include "check.h"

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    int numbers[3] = { 1, -2, 0x01020304 }, back[3] = { 0, 0, 0 };
    unsigned char packed[64];
    MPI_Aint size = -1, position = 0;
    CHECK_MPI(MPI_Pack_external_size("external32", 3, MPI_INT, &size));
    CHECK_EQ(size, 12);
    CHECK_MPI(MPI_Pack_external("external32", numbers, 3, MPI_INT, packed, sizeof packed, &position));
    CHECK_EQ(position, 12);
    static const unsigned char want[12] = { 0, 0, 0, 1, 0xff, 0xff, 0xff, 0xfe, 1, 2, 3, 4 };
    CHECK(!memcmp(packed, want, 12));
    double x = 1.0, y = 0;
    short h = 0x1234, k = 0;
    CHECK_MPI(MPI_Pack_external("external32", &x, 1, MPI_DOUBLE, packed, sizeof packed, &position));
    CHECK_MPI(MPI_Pack_external("external32", &h, 1, MPI_SHORT, packed, sizeof packed, &position));
    CHECK_EQ(position, 22);
    CHECK(packed[12] == 0x3f && packed[13] == 0xf0 && packed[19] == 0);
    CHECK(packed[20] == 0x12 && packed[21] == 0x34);
    position = 0;
    CHECK_MPI(MPI_Unpack_external("external32", packed, 22, &position, back, 3, MPI_INT));
    CHECK(!memcmp(numbers, back, sizeof numbers));
    CHECK_MPI(MPI_Unpack_external("external32", packed, 22, &position, &y, 1, MPI_DOUBLE));
    CHECK_MPI(MPI_Unpack_external("external32", packed, 22, &position, &k, 1, MPI_SHORT));
    CHECK(y == 1.0 && k == 0x1234);
    CHECK_EQ(position, 22);
    /* A vector with gaps packs only its elements. */
    MPI_Datatype gaps;
    int data[6] = { 1, 0, 2, 0, 3, 0 }, out[6] = { 9, 9, 9, 9, 9, 9 };
    CHECK_MPI(MPI_Type_vector(3, 1, 2, MPI_INT, &gaps));
    CHECK_MPI(MPI_Type_commit(&gaps));
    CHECK_MPI(MPI_Pack_external_size("external32", 1, gaps, &size));
    CHECK_EQ(size, 12);
    position = 0;
    CHECK_MPI(MPI_Pack_external("external32", data, 1, gaps, packed, sizeof packed, &position));
    CHECK(position == 12 && packed[3] == 1 && packed[7] == 2 && packed[11] == 3);
    position = 0;
    CHECK_MPI(MPI_Unpack_external("external32", packed, 12, &position, out, 1, gaps));
    CHECK(out[0] == 1 && out[1] == 9 && out[2] == 2 && out[4] == 3 && out[5] == 9);
    CHECK_MPI(MPI_Type_free(&gaps));
    return check_finish();
}
