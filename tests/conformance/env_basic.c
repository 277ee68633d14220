/* MPI 5.0, 9 "MPI Environmental Management": version, library version, processor name, clocks,
 * memory, initialised flags, info of the environment, MPI_Pcontrol, ABI information. */
#include "check.h"

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    int version = -1, subversion = -1, length = -1, flag = 0;
    char text[MPI_MAX_LIBRARY_VERSION_STRING], name[MPI_MAX_PROCESSOR_NAME];
    CHECK_MPI(MPI_Get_version(&version, &subversion));
    CHECK_EQ(version, MPI_VERSION);
    CHECK_EQ(subversion, MPI_SUBVERSION);
    CHECK_MPI(MPI_Get_library_version(text, &length));
    CHECK_EQ(length, strlen(text));
    CHECK(length > 0);
    CHECK_MPI(MPI_Get_processor_name(name, &length));
    CHECK_EQ(length, strlen(name));
    CHECK(length > 0);
    double start = MPI_Wtime(), tick = MPI_Wtick();
    CHECK(tick > 0 && tick < 0.1);
    for (int i = 0; i < 1000; i++) {
        double now = MPI_Wtime();
        CHECK(now >= start && now < start + 600);
    }
    double later = start;
    while (later < start + 0.01)
        later = MPI_Wtime();
    CHECK(later < start + 60);
    void *memory = NULL;
    CHECK_MPI(MPI_Alloc_mem(100000, MPI_INFO_NULL, &memory));
    CHECK(memory != NULL);
    memset(memory, 1, 100000);
    CHECK_MPI(MPI_Free_mem(memory));
    CHECK_MPI(MPI_Initialized(&flag));
    CHECK(flag);
    int level = -1, is_main = 0;
    CHECK_MPI(MPI_Query_thread(&level));
    CHECK(level >= MPI_THREAD_SINGLE && level <= MPI_THREAD_MULTIPLE);
    CHECK_MPI(MPI_Is_thread_main(&is_main));
    CHECK(is_main);
    CHECK_MPI(MPI_Pcontrol(1));
    MPI_Info info;
    int keys = -1;
    CHECK_MPI(MPI_Info_create_env(argc, argv, &info));
    CHECK_MPI(MPI_Info_get_nkeys(info, &keys));
    CHECK(keys >= 0);
    CHECK_MPI(MPI_Info_free(&info));
    CHECK_MPI(MPI_Abi_get_version(&version, &subversion));
    CHECK_EQ(version, MPI_ABI_VERSION);
    CHECK_EQ(subversion, MPI_ABI_SUBVERSION);
    CHECK_MPI(MPI_Info_get_nkeys(MPI_INFO_ENV, &keys));
    CHECK(keys >= 0);
    return check_finish();
}
