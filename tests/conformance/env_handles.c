/* MPI 5.0, 20 "Application Binary Interface": handles to integers and back, predefined integer
 * values, predefined handles usable before MPI_Init where the standard allows. */
#include "check.h"

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    CHECK_EQ(MPI_Comm_toint(MPI_COMM_WORLD), 0x101);
    CHECK_EQ(MPI_Type_toint(MPI_INT), 0x209);
    CHECK_EQ(MPI_Op_toint(MPI_SUM), 0x21);
    CHECK_EQ(MPI_Group_toint(MPI_GROUP_EMPTY), 0x109);
    CHECK_EQ(MPI_Request_toint(MPI_REQUEST_NULL), 0x180);
    CHECK_EQ(MPI_Errhandler_toint(MPI_ERRORS_RETURN), 0x143);
    CHECK_EQ(MPI_Info_toint(MPI_INFO_NULL), 0x130);
    CHECK(MPI_Comm_fromint(0x102) == MPI_COMM_SELF);
    CHECK(MPI_Type_fromint(0x214) == MPI_DOUBLE);
    CHECK(MPI_Op_fromint(0x23) == MPI_MAX);
    /* Handles made at run time survive the trip. */
    MPI_Comm comm, comm2;
    MPI_Datatype type, type2;
    int value = 5, got = -1, size = -1;
    CHECK_MPI(MPI_Comm_dup(MPI_COMM_SELF, &comm));
    comm2 = MPI_Comm_fromint(MPI_Comm_toint(comm));
    CHECK(comm == comm2);
    CHECK_MPI(MPI_Sendrecv(&value, 1, MPI_INT, 0, 1, &got, 1, MPI_INT, 0, 1, comm2,
                           MPI_STATUS_IGNORE));
    CHECK_EQ(got, 5);
    CHECK_MPI(MPI_Comm_free(&comm));
    CHECK_MPI(MPI_Type_contiguous(3, MPI_INT, &type));
    type2 = MPI_Type_fromint(MPI_Type_toint(type));
    CHECK_MPI(MPI_Type_size(type2, &size));
    CHECK_EQ(size, 12);
    CHECK_MPI(MPI_Type_free(&type));
    CHECK_EQ(sizeof(MPI_Status), 32);
    CHECK_EQ(sizeof(MPI_Comm), sizeof(void *));
    CHECK_EQ(sizeof(MPI_Aint), sizeof(void *));
    CHECK_EQ(sizeof(MPI_Count), 8);
    return check_finish();
}
