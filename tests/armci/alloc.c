/* Allocations of different sizes, many of them, freed in another order; memory that one process tells others about;
 * ARMCI without MPI_Init, twice, on a communicator of the program. */
#include "arm.h"

static void many(void)
{
    enum { COUNT = 60 };
    void **all[COUNT];
    for (int i = 0; i < COUNT; i++) {
        all[i] = malloc((size_t)n * sizeof **all);
        /* Some processes have nothing. */
        CHECK_EQ(ARMCI_Malloc(all[i], (me + i) % 3 ? 8 * (i + 1) : 0), 0);
        for (int process = 0; process < n; process++)
            CHECK((all[i][process] != NULL) == ((process + i) % 3 != 0));
    }
    int right = (me + 1) % n;
    for (int i = 0; i < COUNT; i++)
        if (all[i][right])
            ARMCI_PutValueLong(i * 10 + me, all[i][right], right);
    ARMCI_Barrier();
    for (int step = 0; step < COUNT; step++) {
        int i = step * 7 % COUNT;
        if (all[i][me])
            CHECK_EQ(*(long *)all[i][me], i * 10 + (me + n - 1) % n);
        ARMCI_Free(all[i][me]);
        free(all[i]);
    }
}

static void told(void)
{
    armci_meminfo_t mine, its;
    int right = (me + 1) % n, left = (me + n - 1) % n;
    ARMCI_Memget(1000, &mine, 0);
    CHECK_EQ(mine.cpid, me);
    CHECK_EQ(mine.size, 1000);
    memset(mine.armci_addr, 0, 1000);
    MPI_Sendrecv(&mine, sizeof mine, MPI_BYTE, left, 0, &its, sizeof its, MPI_BYTE, right, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    CHECK(ARMCI_Memat(&its, 16) != NULL);
    ARMCI_PutValueInt(me + 77, its.armci_addr + 16, right);
    ARMCI_Barrier();
    CHECK_EQ(*(int *)(mine.armci_addr + 16), left + 77);
    CHECK_EQ(*(int *)ARMCI_Memat(&mine, 16), left + 77);
    ARMCI_Barrier();
    if (right != me)
        ARMCI_Memdt(&its, 0);
    ARMCI_Barrier();
    ARMCI_Memctl(&mine);
}

static void uses(const char *how)
{
    if (strcmp(how, "comm") == 0) {
        MPI_Comm turned;
        MPI_Comm_split(MPI_COMM_WORLD, 0, -me, &turned);
        CHECK_EQ(ARMCI_Init_thread_comm(MPI_THREAD_SINGLE, turned), 0);
        MPI_Comm_rank(turned, &me);
        MPI_Comm_free(&turned);
    } else {
        CHECK_EQ(ARMCI_Init(), 0);
        CHECK_EQ(ARMCI_Init_thread(MPI_THREAD_SINGLE), 0);
    }
    me = armci_msg_me();
    n = armci_msg_nproc();
    many();
    void *kept[64], *more[64];
    ARMCI_Malloc(kept, 100);
    ARMCI_Malloc(more, 100); /* neither is freed */
    if (strcmp(how, "comm") != 0)
        ARMCI_Finalize();
    CHECK_EQ(ARMCI_Initialized(), 1);
    ARMCI_Barrier();
    ARMCI_Finalize();
    CHECK_EQ(ARMCI_Initialized(), 0);
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    if (strcmp(how, "alone") == 0) {
        uses(how);
        MPI_Init(&argc, &argv);
    } else {
        MPI_Init(&argc, &argv);
        MPI_Comm_rank(MPI_COMM_WORLD, &me);
        uses(how);
    }
    uses("again");
    ARMCI_Init();
    told();
    many();
    return end();
}
