/* BSPlib: how a program begins and ends, and MPI beside it. The argument says which. */
#include "bsp_check.h"
#include "../child.h"

static int wanted = -5, result;

static void spmd(void)
{
    bsp_begin(wanted);
    bsp_check_init();
    CHECK(bsp_pid() >= 0 && bsp_pid() < bsp_nprocs());
    int here = 1, all[64] = {0};
    static int mine;
    bsp_push_reg(&mine, sizeof mine);
    bsp_sync();
    mine = here;
    for (int i = 0; i < bsp_nprocs(); i++)
        bsp_get(i, &mine, 0, &all[i], sizeof mine);
    bsp_sync();
    for (int i = 0; i < bsp_nprocs(); i++)
        CHECK_EQ(all[i], 1);
    result = bsp_check_finish();
}

static int count_world(void)
{
    int one = 1, sum = 0;
    CHECK_MPI(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    return sum;
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "all";
    int available;
    if (strcmp(how, "init") == 0) {
        bsp_init(spmd, argc, argv);
        /* Only process 0 comes here. The others learn from it how many are wanted. */
        available = bsp_nprocs();
        wanted = available > 2 ? available - 2 : 1;
        spmd();
        CHECK_EQ(bsp_nprocs(), wanted);
        return result || check_errors;
    }
    if (strcmp(how, "child") == 0) {
        /* A child of fork that ends has no part in the program. */
        bsp_begin(bsp_nprocs());
        bsp_check_init();
        CHECK_EQ(status_of_child(), 0);
        bsp_sync();
        return bsp_check_finish();
    }
    if (strcmp(how, "mpi_first") == 0)
        MPI_Init(&argc, &argv);
    available = bsp_nprocs();
    wanted = strcmp(how, "fewer") == 0 ? available - 1 : available + 3;
    if (strcmp(how, "mpi_later") == 0) {
        bsp_begin(wanted);
        MPI_Init(&argc, &argv);
        CHECK_EQ(count_world(), available);
        bsp_sync();
        MPI_Finalize();
        bsp_check_init();
        return bsp_check_finish();
    }
    spmd();
    CHECK_EQ(bsp_nprocs(), wanted < available ? wanted : available);
    if (strcmp(how, "mpi_first") == 0 || strcmp(how, "mpi_without") == 0)
        CHECK_EQ(count_world(), available);
    if (strcmp(how, "mpi_first") == 0)
        MPI_Finalize();
    return result || check_errors;
}
