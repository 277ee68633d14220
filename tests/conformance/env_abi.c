/* MPI 5.0, 20 and 9.1.2: sizes of the ABI's types, what is told about Fortran, requests as
 * integers, and the hardware that a process is bound to. */
#include "check.h"

static int number(MPI_Info info, const char *key)
{
    char value[32] = "";
    int length = sizeof value, flag = 0;
    CHECK_MPI(MPI_Info_get_string(info, key, &length, value, &flag));
    CHECK(flag);
    return atoi(value);
}

static void requests(void)
{
    enum { N = 300 };
    static MPI_Request list[N];
    static int values[N], numbers[N];
    int one = 1;
    for (int i = 0; i < N; i++) {
        CHECK_MPI(MPI_Irecv(&values[i], 1, MPI_INT, 0, i, MPI_COMM_SELF, &list[i]));
        numbers[i] = MPI_Request_toint(list[i]);
        CHECK(numbers[i] > 0);
        CHECK_EQ(MPI_Request_toint(list[i]), numbers[i]);
    }
    for (int i = 0; i < N; i++) {
        MPI_Request back = MPI_Request_fromint(numbers[i]);
        CHECK(back == list[i]);
        CHECK_MPI(MPI_Send(&one, 1, MPI_INT, 0, i, MPI_COMM_SELF));
        CHECK_MPI(MPI_Wait(&back, MPI_STATUS_IGNORE));
        CHECK_EQ(values[i], 1);
    }
    CHECK(MPI_Request_fromint(MPI_Request_toint(MPI_REQUEST_NULL)) == MPI_REQUEST_NULL);
}

int main(int argc, char **argv)
{
    int major = 0, minor = -2, set = -1;
    MPI_Info info;
    CHECK_MPI(MPI_Abi_get_version(&major, &minor));
#ifdef MPI_ABI_VERSION
    CHECK(major == 1 && minor >= 0);
#else /* compiled for the ABI of another MPI */
    CHECK(major == -1 && minor == -1);
#endif
    int yes = 1, no = 0, yes_again = -1, no_again = -1;
    MPI_Abi_get_fortran_booleans(4, &yes_again, &no_again, &set);
    if (!set) {
        CHECK_MPI(MPI_Abi_set_fortran_booleans(4, &yes, &no));
        CHECK_MPI(MPI_Abi_get_fortran_booleans(4, &yes_again, &no_again, &set));
        CHECK(set && yes_again == 1 && no_again == 0);
    }
    check_init(&argc, &argv);
    CHECK_CLASS(MPI_Abi_set_fortran_booleans(4, &yes, &no), MPI_ERR_ABI);
    CHECK_MPI(MPI_Abi_get_info(&info));
    CHECK_EQ(number(info, "mpi_aint_size"), sizeof(MPI_Aint));
    CHECK_EQ(number(info, "mpi_count_size"), sizeof(MPI_Count));
    CHECK_EQ(number(info, "mpi_offset_size"), sizeof(MPI_Offset));
    CHECK_MPI(MPI_Info_free(&info));
    requests();
    int keys = -1;
    CHECK_MPI(MPI_Get_hw_resource_info(&info));
    CHECK_MPI(MPI_Info_get_nkeys(info, &keys));
    for (int i = 0; i < keys; i++) {
        char key[MPI_MAX_INFO_KEY], value[16] = "";
        int length = sizeof value, flag = 0;
        CHECK_MPI(MPI_Info_get_nthkey(info, i, key));
        CHECK(strstr(key, "://") != NULL);
        CHECK_MPI(MPI_Info_get_string(info, key, &length, value, &flag));
        CHECK(flag && (!strcmp(value, "true") || !strcmp(value, "false")));
    }
    CHECK_MPI(MPI_Info_free(&info));
    return check_finish();
}
