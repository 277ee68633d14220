/* Threads that access a file by its individual pointer: each access has bytes of its own (MPI 5.0, section 14.4.3). */
#include "thread.h"
#include "io.h"

enum { ROUNDS = 500 };

static MPI_File file;
static unsigned char seen[THREADS * ROUNDS];

static void *work(void *argument)
{
    int number = *(int *)argument;
    for (int i = 0; i < ROUNDS; i++) {
        int value = number * ROUNDS + i;
        CHECK_MPI(MPI_File_write(file, &value, 1, MPI_INT, MPI_STATUS_IGNORE));
    }
    return NULL;
}

int main(int argc, char **argv)
{
    thread_init(&argc, &argv);
    io_make_name("thread-files");
    snprintf(io_name + strlen(io_name), sizeof io_name - strlen(io_name), "-%d", check_rank);
    CHECK_MPI(MPI_File_open(MPI_COMM_SELF, io_name,
                            MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file));
    thread_run(work);
    MPI_Offset bytes = 0;
    CHECK_MPI(MPI_File_get_size(file, &bytes));
    CHECK_EQ(bytes, (MPI_Offset)(sizeof(int) * THREADS * ROUNDS));
    for (int i = 0; i < THREADS * ROUNDS; i++) {
        int value = -1;
        CHECK_MPI(MPI_File_read_at(file, (MPI_Offset)sizeof(int) * i, &value, 1, MPI_INT, MPI_STATUS_IGNORE));
        if (value >= 0 && value < THREADS * ROUNDS)
            seen[value]++;
    }
    int missing = 0;
    for (int i = 0; i < THREADS * ROUNDS; i++)
        missing += seen[i] != 1;
    CHECK_EQ(missing, 0);
    CHECK_MPI(MPI_File_close(&file));
    return check_finish();
}
