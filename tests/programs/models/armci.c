// Each process puts its number where the next one finds it.
#include <armci.h>
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    ARMCI_Init();
    int me, all, *at[1024];
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &all);
    ARMCI_Malloc((void **)at, sizeof(int));
    ARMCI_Put(&me, at[(me + 1) % all], sizeof me, (me + 1) % all);
    ARMCI_Barrier();
    int right = *at[me] == (me + all - 1) % all;
    if (me == 0 && right) printf("armci, %d processes\n", all);
    ARMCI_Free(at[me]);
    ARMCI_Finalize();
    MPI_Finalize();
    return !right;
}
