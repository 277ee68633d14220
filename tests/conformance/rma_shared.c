/* Windows: shared memory, its layout, and what MPI_Win_shared_query says (sections 12.2.3 and 12.2.5). */
#include "rma.h"

static MPI_Comm host;
static int rank, size;

static void layout(const char *apart, int unequal)
{
    MPI_Info info;
    MPI_Win win;
    int *mine = NULL;
    MPI_Aint bytes = (MPI_Aint)sizeof(int) * (unequal ? (rank % 3) * 100 : 100);
    MPI_Info_create(&info);
    MPI_Info_set(info, "alloc_shared_noncontig", apart);
    CHECK_MPI(MPI_Win_allocate_shared(bytes, (int)sizeof(int), info, host, &mine, &win));
    MPI_Info_free(&info);
    CHECK_MPI(MPI_Win_lock_all(MPI_MODE_NOCHECK, win));
    int count = (int)(bytes / (MPI_Aint)sizeof(int));
    for (int i = 0; i < count; i++) mine[i] = 1000 * rank + i;
    MPI_Win_sync(win);
    MPI_Barrier(host);
    MPI_Win_sync(win);
    char *end = NULL;
    for (int r = 0; r < size; r++) {
        MPI_Aint theirs = -1;
        int unit = -1, *base = NULL;
        CHECK_MPI(MPI_Win_shared_query(win, r, &theirs, &unit, &base));
        CHECK_EQ(theirs, (MPI_Aint)sizeof(int) * (unequal ? (r % 3) * 100 : 100));
        CHECK_EQ(unit, (int)sizeof(int));
        for (int i = 0; i < (int)(theirs / (MPI_Aint)sizeof(int)); i++) CHECK_EQ(base[i], 1000 * r + i);
        if (strcmp(apart, "false") == 0) {
            if (end && theirs) CHECK((char *)base == end);
            if (theirs) end = (char *)base + theirs;
        }
        if (r == rank && theirs) CHECK(base == mine);
    }
    MPI_Barrier(host);
    /* Stores by others are loads here, and operations see them. */
    int next = (rank + 1) % size, *base, unit;
    MPI_Aint theirs;
    MPI_Win_shared_query(win, next, &theirs, &unit, &base);
    if (theirs) {
        int got = 0, add = 5;
        base[7] = 4242 + rank;
        MPI_Win_sync(win);
        CHECK_MPI(MPI_Get(&got, 1, MPI_INT, next, 7, 1, MPI_INT, win));
        CHECK_MPI(MPI_Win_flush(next, win));
        CHECK_EQ(got, 4242 + rank);
        CHECK_MPI(MPI_Accumulate(&add, 1, MPI_INT, next, 7, 1, MPI_INT, MPI_SUM, win));
        CHECK_MPI(MPI_Win_flush(next, win));
        CHECK_EQ(base[7], 4247 + rank);
    }
    CHECK_MPI(MPI_Win_unlock_all(win));
    MPI_Barrier(host);
    if (bytes) CHECK_EQ(mine[7], 4247 + (rank + size - 1) % size);
    MPI_Aint some = -1;
    MPI_Win_shared_query(win, MPI_PROC_NULL, &some, &unit, &base);
    int lowest = 0;
    while (unequal && lowest < size && lowest % 3 == 0) lowest++;
    if (lowest < size) CHECK_EQ(some, (MPI_Aint)sizeof(int) * (unequal ? (lowest % 3) * 100 : 100));
    CHECK_MPI(MPI_Win_free(&win));
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
    MPI_Comm_rank(host, &rank);
    MPI_Comm_size(host, &size);
    for (int turn = 0; turn < 3; turn++) {
        layout("false", 0);
        layout("true", 0);
        layout("false", 1);
        layout("true", 1);
    }
    MPI_Comm_free(&host);
    return check_finish();
}
