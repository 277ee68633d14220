/* Ranks of a job of MPI, the first of which spawns two tasks of PVM: those use MPI, too, each as a job of its own, and say so. */
#define _GNU_SOURCE
#include <mpi.h>
#include <pvm3.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int task(void)
{
    int where[2];
    MPI_Comm_rank(MPI_COMM_WORLD, &where[0]);
    MPI_Comm_size(MPI_COMM_WORLD, &where[1]);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    pvm_initsend(PvmDataDefault);
    pvm_pkint(where, 2, 1);
    pvm_send(pvm_parent(), 1);
    return pvm_exit();
}

int main(void)
{
    int rank, tids[2], where[2], wrong = 0, i, total;
    char self[4096];
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (pvm_parent() > 0)
        return task();
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length < 0)
        MPI_Abort(MPI_COMM_WORLD, 1);
    self[length] = 0;
    if (rank == 0) {
        wrong = pvm_spawn(self, NULL, PvmTaskDefault, "", 2, tids) != 2;
        if (!wrong)
            pvm_notify(PvmTaskExit, 2, 2, tids);
        /* The message of each, then the word of its end, which alone comes if it could not begin. */
        for (i = 0; !wrong && i < 2; i++) {
            pvm_recv(-1, 2);
            wrong |= pvm_nrecv(-1, 1) <= 0 || pvm_upkint(where, 2, 1) != 0 || where[0] != 0 || where[1] != 1;
        }
    }
    MPI_Allreduce(&wrong, &total, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%d errors\n", total);
    pvm_exit();
    MPI_Finalize();
    return total;
}
