/* MPI 5.0, 11.2 "The World Model": MPI_Init without arguments, arguments left in place, no parent,
 * a disconnect, a job that finalizes with nothing done. Argument: "null" or "args". */
#include "check.h"

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    if (!strcmp(how, "null"))
        CHECK_MPI(MPI_Init(NULL, NULL));
    else
        CHECK_MPI(MPI_Init(&argc, &argv));
    CHECK_MPI(MPI_Comm_rank(MPI_COMM_WORLD, &check_rank));
    CHECK_MPI(MPI_Comm_size(MPI_COMM_WORLD, &check_size));
    CHECK(check_rank >= 0 && check_rank < check_size);
    if (!strcmp(how, "args"))
        CHECK(argc == 4 && !strcmp(argv[2], "-n") && !strcmp(argv[3], "x=y"));
    MPI_Comm parent, comm;
    int size = -1, rank = -1;
    CHECK_MPI(MPI_Comm_get_parent(&parent));
    CHECK(parent == MPI_COMM_NULL);
    CHECK_MPI(MPI_Comm_size(MPI_COMM_SELF, &size));
    CHECK_MPI(MPI_Comm_rank(MPI_COMM_SELF, &rank));
    CHECK(size == 1 && rank == 0);
    CHECK_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    CHECK_MPI(MPI_Barrier(comm));
    CHECK_MPI(MPI_Comm_disconnect(&comm));
    CHECK(comm == MPI_COMM_NULL);
    /* The error handler of the world is fatal unless the program says otherwise. */
    MPI_Errhandler handler;
    CHECK_MPI(MPI_Comm_get_errhandler(MPI_COMM_WORLD, &handler));
    CHECK(handler == MPI_ERRORS_ARE_FATAL);
    CHECK_MPI(MPI_Errhandler_free(&handler));
    return check_finish();
}
