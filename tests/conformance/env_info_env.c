/* MPI 5.0, 11.5.3: MPI_Info_create_env before MPI_Init, between, and after MPI_Finalize; thread_level is there
 * each time. */
#include "check.h"

static void look(int argc, char **argv, const char *level)
{
    MPI_Info info;
    char value[MPI_MAX_INFO_VAL] = "";
    int flag = 0, length = sizeof value;
    CHECK_MPI(MPI_Info_create_env(argc, argv, &info));
    CHECK_MPI(MPI_Info_get_string(info, "thread_level", &length, value, &flag));
    CHECK(flag && !strncmp(value, "MPI_THREAD_", 11));
    CHECK(!level || !strcmp(value, level));
    CHECK_MPI(MPI_Info_free(&info));
}

int main(int argc, char **argv)
{
    int provided;
    look(argc, argv, NULL);
    MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
    look(argc, argv, provided == MPI_THREAD_SERIALIZED ? "MPI_THREAD_SERIALIZED" : NULL);
    MPI_Finalize();
    look(argc, argv, NULL);
    if (check_errors == 0)
        printf("No errors\n");
    return check_errors != 0;
}
