/* Who speaks for a BSP program. */
#include <bsp.h>
#include <mpi.h>

/* Also before bsp_begin, where bsp_pid can't be asked; MPI can. */
static int is_first(void)
{
    int rank = 0;
    bsp_nprocs();
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank == 0;
}
