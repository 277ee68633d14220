/* Non-blocking access goes on while the program computes (MPI 5.0, sections 14.4.1 and 14.6.5), and its errors come
 * with the request. What an access waits for is made here: pages of its buffer that nobody has filled yet. */
#define _GNU_SOURCE
#include "io.h"
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

enum { N = 1 << 20, INTS = N / (int)sizeof(int) };

static int faults = -1;

/* Memory in which the kernel waits until `give` has been called. */
static int *missing(void)
{
    int *pages = mmap(NULL, N, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct uffdio_register all = {.range = {(uintptr_t)pages, N}, .mode = UFFDIO_REGISTER_MODE_MISSING};
    CHECK(pages != MAP_FAILED && ioctl(faults, UFFDIO_REGISTER, &all) == 0);
    return pages;
}

static void give(int *pages, const int *content)
{
    struct uffdio_copy all = {.dst = (uintptr_t)pages, .src = (uintptr_t)content, .len = N};
    CHECK(ioctl(faults, UFFDIO_COPY, &all) == 0);
    struct uffdio_range range = {(uintptr_t)pages, N};
    CHECK(ioctl(faults, UFFDIO_UNREGISTER, &range) == 0);
}

static int *values(void)
{
    int *all = malloc(N);
    for (int i = 0; i < INTS; i++)
        all[i] = io_value((long)check_rank * INTS + i);
    return all;
}

static void count_is(const MPI_Status *status, int expected)
{
    int count = -1;
    CHECK_MPI(MPI_Get_count(status, MPI_INT, &count));
    CHECK_EQ(count, expected);
}

static void write_goes_on(MPI_File file, const int *content)
{
    MPI_Request request;
    MPI_Status status;
    int done = -1, sum = 0, *pages = missing();
    CHECK_MPI(MPI_File_seek(file, (MPI_Offset)check_rank * N, MPI_SEEK_SET));
    CHECK_MPI(MPI_File_iwrite(file, pages, INTS, MPI_INT, &request));
    MPI_Offset position = -1;
    CHECK_MPI(MPI_File_get_position(file, &position));
    CHECK_EQ(position, (MPI_Offset)(check_rank + 1) * N);
    CHECK_MPI(MPI_Test(&request, &done, MPI_STATUS_IGNORE));
    CHECK_EQ(done, 0);
    /* Other calls go on meanwhile. */
    CHECK_MPI(MPI_Allreduce(&check_rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    give(pages, content);
    CHECK_MPI(MPI_Wait(&request, &status));
    CHECK(request == MPI_REQUEST_NULL);
    count_is(&status, INTS);
    munmap(pages, N);
}

/* Two at a time, and what another thread of the kernel fills: the file's order is that of the calls. */
static void read_goes_on(MPI_File file, const int *content)
{
    MPI_Request requests[2];
    MPI_Status statuses[2];
    int done = -1, *pages = missing(), *behind = calloc(N, 1), *zeros = calloc(N, 1);
    MPI_Offset at = (MPI_Offset)check_rank * N;
    CHECK_MPI(MPI_File_iread_at(file, at, pages, INTS, MPI_INT, &requests[0]));
    /* It ends early: the file does. */
    MPI_Offset end = (MPI_Offset)check_size * N;
    CHECK_MPI(MPI_File_iread_at_all(file, end - 8, behind, INTS, MPI_INT, &requests[1]));
    CHECK_MPI(MPI_Testall(2, requests, &done, MPI_STATUSES_IGNORE));
    CHECK_EQ(done, 0);
    give(pages, zeros);
    CHECK_MPI(MPI_Waitall(2, requests, statuses));
    count_is(&statuses[0], INTS);
    count_is(&statuses[1], 2);
    CHECK(memcmp(pages, content, N) == 0);
    CHECK_EQ(behind[1], io_value((long)check_size * INTS - 1));
    munmap(pages, N);
    free(behind);
    free(zeros);
}

/* The request is gone, and the data must come all the same: who closes the file waits for them. */
static void a_freed_request_is_written(const int *content)
{
    MPI_Request request;
    MPI_File file = io_open(MPI_MODE_RDWR);
    CHECK_MPI(MPI_File_iwrite_at(file, (MPI_Offset)check_rank * N, content, INTS, MPI_INT, &request));
    CHECK_MPI(MPI_Request_free(&request));
    CHECK_MPI(MPI_File_close(&file));
    int *back = calloc(N, 1);
    file = io_open(MPI_MODE_RDONLY);
    CHECK_MPI(MPI_File_read_at(file, (MPI_Offset)check_rank * N, back, INTS, MPI_INT, MPI_STATUS_IGNORE));
    CHECK(memcmp(back, content, N) == 0);
    CHECK_MPI(MPI_File_close(&file));
    free(back);
}

static MPI_File failed = MPI_FILE_NULL;

static void on_error(MPI_File *file, int *code, ...)
{
    int class = -1;
    MPI_Error_class(*code, &class);
    CHECK_EQ(class, MPI_ERR_NO_SPACE);
    failed = *file;
}

static void errors_come_with_the_request(const int *content)
{
    MPI_File file;
    MPI_Request request;
    MPI_Errhandler handler;
    CHECK_MPI(MPI_File_open(MPI_COMM_SELF, "/dev/full", MPI_MODE_WRONLY, MPI_INFO_NULL, &file));
    CHECK_MPI(MPI_File_iwrite(file, content, INTS, MPI_INT, &request));
    CHECK_CLASS(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_ERR_NO_SPACE);
    CHECK(request == MPI_REQUEST_NULL);
    CHECK_MPI(MPI_File_create_errhandler(on_error, &handler));
    CHECK_MPI(MPI_File_set_errhandler(file, handler));
    CHECK_MPI(MPI_Errhandler_free(&handler));
    CHECK_MPI(MPI_File_iwrite(file, content, INTS, MPI_INT, &request));
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(failed == file);
    CHECK_MPI(MPI_File_close(&file));
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    struct uffdio_api api = {.api = UFFD_API};
    faults = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
    int *content = values();
    io_make_name("io-nonblocking");
    MPI_File file = io_open(MPI_MODE_CREATE | MPI_MODE_RDWR);
    /* Only root may make the kernel wait for a program, on most machines. */
    if (faults >= 0 && ioctl(faults, UFFDIO_API, &api) == 0) {
        write_goes_on(file, content);
        MPI_Barrier(MPI_COMM_WORLD);
        read_goes_on(file, content);
    } else if (check_rank == 0) {
        printf("not tried: whether accesses go on in the background, for this user may not use userfaultfd\n");
    }
    CHECK_MPI(MPI_File_close(&file));
    a_freed_request_is_written(content);
    errors_come_with_the_request(content);
    if (check_rank == 0)
        CHECK_MPI(MPI_File_delete(io_name, MPI_INFO_NULL));
    free(content);
    return check_finish();
}
