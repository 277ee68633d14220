/* Windows, files and requests on communicators that join parents and children (MPI 5.0, sections 11.8, 12.2, 14.2). */
#include "check.h"
#include <string.h>
#include <unistd.h>

static void windows(MPI_Comm all)
{
    int rank, size, memory[4] = { 0, 0, 0, 0 }, value;
    MPI_Win win;
    MPI_Comm_rank(all, &rank);
    MPI_Comm_size(all, &size);
    CHECK_MPI(MPI_Win_create(memory, sizeof memory, sizeof(int), MPI_INFO_NULL, all, &win));
    CHECK_MPI(MPI_Win_fence(0, win));
    CHECK_MPI(MPI_Put(&rank, 1, MPI_INT, (rank + 1) % size, 1, 1, MPI_INT, win));
    CHECK_MPI(MPI_Win_fence(0, win));
    CHECK_EQ(memory[1], (rank + size - 1) % size);
    CHECK_MPI(MPI_Win_fence(0, win));
    int one = 1, zero = 0;
    CHECK_MPI(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win));
    CHECK_MPI(MPI_Accumulate(&one, 1, MPI_INT, 0, 2, 1, MPI_INT, MPI_SUM, win));
    CHECK_MPI(MPI_Win_unlock(0, win));
    CHECK_MPI(MPI_Win_lock_all(0, win));
    CHECK_MPI(MPI_Fetch_and_op(&one, &value, MPI_INT, 0, 3, MPI_SUM, win));
    CHECK_MPI(MPI_Win_flush(0, win));
    CHECK(value >= zero && value < size);
    CHECK_MPI(MPI_Win_unlock_all(win));
    CHECK_MPI(MPI_Barrier(all));
    if (rank == 0) {
        CHECK_MPI(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win));
        CHECK_EQ(memory[2], size);
        CHECK_EQ(memory[3], size);
        CHECK_MPI(MPI_Win_unlock(0, win));
    }
    CHECK_MPI(MPI_Win_free(&win));
    int *own;
    CHECK_MPI(MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, all, &own, &win));
    *own = -1;
    CHECK_MPI(MPI_Win_fence(0, win));
    CHECK_MPI(MPI_Get(&value, 1, MPI_INT, (rank + 1) % size, 0, 1, MPI_INT, win));
    CHECK_MPI(MPI_Win_fence(0, win));
    CHECK_EQ(value, -1);
    CHECK_MPI(MPI_Win_free(&win));
}

static void files(MPI_Comm all, const char *name)
{
    int rank, size, got = -1;
    MPI_File file;
    MPI_Comm_rank(all, &rank);
    MPI_Comm_size(all, &size);
    CHECK_MPI(MPI_File_open(all, name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file));
    CHECK_MPI(MPI_File_write_at_all(file, rank * (MPI_Offset)sizeof rank, &rank, 1, MPI_INT, MPI_STATUS_IGNORE));
    CHECK_MPI(MPI_File_sync(file));
    CHECK_MPI(MPI_Barrier(all));
    int next = (rank + 1) % size;
    CHECK_MPI(MPI_File_read_at_all(file, next * (MPI_Offset)sizeof rank, &got, 1, MPI_INT, MPI_STATUS_IGNORE));
    CHECK_EQ(got, next);
    CHECK_MPI(MPI_File_close(&file));
}

static void groups(MPI_Comm inter, MPI_Comm all)
{
    MPI_Group whole, here, there, both;
    CHECK_MPI(MPI_Comm_group(all, &whole));
    CHECK_MPI(MPI_Comm_group(inter, &here));
    CHECK_MPI(MPI_Comm_remote_group(inter, &there));
    CHECK_MPI(MPI_Group_union(here, there, &both));
    int result;
    CHECK_MPI(MPI_Group_compare(whole, both, &result));
    CHECK(result == MPI_SIMILAR || result == MPI_IDENT);
    MPI_Group_free(&whole), MPI_Group_free(&here), MPI_Group_free(&there), MPI_Group_free(&both);
    /* An intercommunicator of the even and the odd ranks. */
    int rank, size;
    MPI_Comm_rank(all, &rank);
    MPI_Comm_size(all, &size);
    MPI_Comm half, cross;
    CHECK_MPI(MPI_Comm_split(all, rank % 2, size - rank, &half));
    if (size > 1) {
        /* The last of the other half has the lowest rank of it in the whole. */
        int leader;
        MPI_Comm_size(half, &leader);
        CHECK_MPI(MPI_Intercomm_create(half, leader - 1, all, 1 - rank % 2, 5, &cross));
        int sum = 0, one = 1, remote;
        CHECK_MPI(MPI_Comm_remote_size(cross, &remote));
        CHECK_MPI(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, cross));
        CHECK_EQ(sum, remote);
        CHECK_MPI(MPI_Comm_free(&cross));
    }
    CHECK_MPI(MPI_Comm_free(&half));
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    MPI_Comm inter, all, parent;
    MPI_Comm_get_parent(&parent);
    char name[200] = "";
    int rank, high = parent != MPI_COMM_NULL;
    if (high)
        inter = parent;
    else
        CHECK_MPI(MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter, MPI_ERRCODES_IGNORE));
    CHECK_MPI(MPI_Intercomm_merge(inter, high, &all));
    MPI_Comm_rank(all, &rank);
    if (rank == 0)
        snprintf(name, sizeof name, "/tmp/dyn_windows.%ld", (long)getpid());
    MPI_Bcast(name, sizeof name, MPI_CHAR, 0, all);
    groups(inter, all);
    windows(all);
    files(all, name);
    CHECK_MPI(MPI_Comm_free(&all));
    CHECK_MPI(MPI_Comm_disconnect(&inter));
    check_finish();
    return 0;
}
