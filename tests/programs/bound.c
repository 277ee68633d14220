/* Prints whether the library takes the host for oversubscribed: "rank RANK oversubscribed VALUE".
 *
 *   bound [PROCESSOR]
 *
 * With a processor the rank binds itself to it before MPI_Init, as a launcher of another kind would. */
#define _GNU_SOURCE
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

static int oversubscribed(void)
{
    MPI_T_cvar_handle handle;
    int provided, index, count, value;
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    if (MPI_T_cvar_get_index("oversubscribed", &index) != MPI_SUCCESS ||
        MPI_T_cvar_handle_alloc(index, NULL, &handle, &count) != MPI_SUCCESS ||
        MPI_T_cvar_read(handle, &value) != MPI_SUCCESS)
        exit(3);
    return value;
}

int main(int argc, char **argv)
{
    if (argc > 1) {
        cpu_set_t set;
        CPU_ZERO(&set);
        CPU_SET(atoi(argv[1]), &set);
        if (sched_setaffinity(0, sizeof set, &set))
            return 4;
    }
    MPI_Init(&argc, &argv);
    int rank, value;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    value = oversubscribed();
    printf("rank %d oversubscribed %d\n", rank, value != 0);
    MPI_Finalize();
    return 0;
}
