/* Spawns a process over all sites, which is refused, and then at one: the words are a site's number for each rank. The groups of
 * the first site and of the new process count together. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int sum(MPI_Comm between, int high, int value)
{
    int all = 0;
    MPI_Comm merged;
    MPI_Intercomm_merge(between, high, &merged);
    MPI_Allreduce(&value, &all, 1, MPI_INT, MPI_SUM, merged);
    MPI_Comm_free(&merged);
    return all;
}

int main(int argc, char **argv)
{
    MPI_Comm between;
    MPI_Init(&argc, &argv);
    MPI_Comm_get_parent(&between);
    if (between != MPI_COMM_NULL) {
        sum(between, 1, 100);
        MPI_Finalize();
        return 0;
    }
    int rank, length, code;
    char text[MPI_MAX_ERROR_STRING];
    MPI_Comm site;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc <= rank + 1)
        MPI_Abort(MPI_COMM_WORLD, 2);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    code = MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &between, MPI_ERRCODES_IGNORE);
    if (code == MPI_SUCCESS)
        MPI_Abort(MPI_COMM_WORLD, 3);
    MPI_Error_string(code, text, &length);
    printf("%s\n", text);
    fflush(stdout);
    int number = atoi(argv[rank + 1]);
    MPI_Comm_split(MPI_COMM_WORLD, number, rank, &site);
    if (number == 0) {
        MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, site, &between, MPI_ERRCODES_IGNORE);
        printf("sum %d\n", sum(between, 0, 1));
    }
    MPI_Comm_free(&site);
    MPI_Finalize();
    return 0;
}
