/* Programs that can't be spawned (MPI 5.0, section 11.8): the error is raised on the communicator of the call, on all of its
 * processes, and everything goes on. */
#include "check.h"

static void fails(const char *command, char **arguments, int count, MPI_Info info)
{
    MPI_Comm children = MPI_COMM_NULL;
    int codes[4] = { 0, 0, 0, 0 };
    CHECK_CLASS(MPI_Comm_spawn(command, arguments, count, info, 0, MPI_COMM_WORLD, &children, codes), MPI_ERR_SPAWN);
    CHECK(children == MPI_COMM_NULL);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; rank == 0 && i < count; i++)
        CHECK_CLASS(codes[i], MPI_ERR_SPAWN);
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    fails("/nowhere/no-such-program", MPI_ARGV_NULL, 2, MPI_INFO_NULL);
    fails("no-such-program-in-any-path", MPI_ARGV_NULL, 1, MPI_INFO_NULL);
    fails("-n", MPI_ARGV_NULL, 1, MPI_INFO_NULL);
    fails("", MPI_ARGV_NULL, 1, MPI_INFO_NULL);
    /* Programs that end without MPI. */
    fails("true", MPI_ARGV_NULL, 2, MPI_INFO_NULL);
    fails("false", MPI_ARGV_NULL, 1, MPI_INFO_NULL);
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "wdir", "/nowhere/at/all");
    fails(argv[0], MPI_ARGV_NULL, 1, info);
    MPI_Info_delete(info, "wdir");
    MPI_Info_set(info, "soft", "7:9");
    fails(argv[0], MPI_ARGV_NULL, 3, info);
    MPI_Info_free(&info);
    CHECK_MPI(MPI_Barrier(MPI_COMM_WORLD));
    check_finish();
    return 0;
}
