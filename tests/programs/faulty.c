/* Files whose device, quota or server fails: the system calls of one rank on one file fail with a given error, by a filter. Every
   rank that must know gets the right class, the others' data are in the file, and the file can be closed. Argument: a file name. */
#include "forbid.h"
#include <dirent.h>
#include <fcntl.h>
#include <mpi.h>
#include <string.h>

#define PIECE 4096
#define PIECES 64
#define LONG (2 << 20)

static int rank, size;
static const char *name;

static void must(int condition, const char *what, int error)
{
    if (!condition) {
        fprintf(stderr, "rank %d: %s: %s\n", rank, what, strerror(error));
        MPI_Abort(MPI_COMM_WORLD, 3);
    }
}

static int class_of(int code)
{
    int class = MPI_SUCCESS;
    MPI_Error_class(code, &class);
    return class;
}

/* The descriptor of the file in this process. */
static int descriptor(void)
{
    char link[300], found[1000];
    int fd = -1;
    DIR *all = opendir("/proc/self/fd");
    for (struct dirent *entry; all && (entry = readdir(all));) {
        snprintf(link, sizeof link, "/proc/self/fd/%s", entry->d_name);
        ssize_t length = readlink(link, found, sizeof found - 1);
        if (length > 0 && (found[length] = 0, strcmp(found, name) == 0))
            fd = atoi(entry->d_name);
    }
    closedir(all);
    must(fd >= 0, "no descriptor of the file", 0);
    return fd;
}

/* From now on these calls on descriptor `fd` fail with `error`, in all threads. */
static void fail(const int *calls, int count, int fd, int error)
{
    struct sock_filter code[32] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, FORBID_ARCH, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)fd, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
    };
    int n = 7;
    for (int i = 0; i < count; i++) {
        code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)calls[i], 0, 1);
        code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)error);
    }
    code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog program = { (unsigned short)n, code };
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
        syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program)) {
        perror("faulty: no seccomp filter");
        exit(77);
    }
}

static const int WRITES[] = { SYS_write, SYS_pwrite64, SYS_writev, SYS_pwritev, SYS_pwritev2 };
static const int READS[] = { SYS_read, SYS_pread64, SYS_readv, SYS_preadv, SYS_preadv2 };
static const int SYNCS[] = { SYS_fsync, SYS_fdatasync, SYS_sync_file_range };

static MPI_File open_file(const char *gathers)
{
    MPI_File file;
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "romio_cb_write", gathers);
    MPI_Info_set(info, "romio_cb_read", gathers);
    must(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDWR | MPI_MODE_CREATE, info, &file) == MPI_SUCCESS, "open", 0);
    MPI_Info_free(&info);
    return file;
}

/* The number is not used again: a filter stays. */
static void close_file(MPI_File *file, int fd, int error)
{
    must(MPI_File_close(file) == MPI_SUCCESS, "close", error);
    if (fd >= 0)
        must(dup2(open("/dev/null", O_RDONLY), fd) == fd, "the number", error);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Rank 0, which gathers, is the one whose calls fail; `expected` is its class, and `all`: that of everybody. */
static void told(int code, int expected, int all, const char *what, int error)
{
    int class = class_of(code);
    must(class == (rank == 0 || all ? expected : MPI_SUCCESS), what, error);
    if (class != MPI_SUCCESS) {
        char text[MPI_MAX_ERROR_STRING];
        int length;
        MPI_Error_string(code, text, &length);
        must(strstr(text, name) != NULL, "the text names the file", error);
        must(strstr(text, strerror(error)) != NULL, "the text says what the system said", error);
    }
}

static void writes(int error, int expected, char *data, char *back)
{
    MPI_Request request;
    MPI_File file = open_file("automatic");
    int fd = rank == 0 ? descriptor() : -1;
    if (rank == 0)
        fail(WRITES, 5, fd, error);
    told(MPI_File_write_at(file, (MPI_Offset)rank * PIECE, data, PIECE, MPI_BYTE, MPI_STATUS_IGNORE), expected, 0, "write_at", error);
    int code = MPI_File_iwrite_at(file, (MPI_Offset)(rank + 1) * LONG, data, LONG, MPI_BYTE, &request);
    if (code == MPI_SUCCESS)
        code = MPI_Wait(&request, MPI_STATUS_IGNORE);
    told(code, expected, 0, "iwrite_at", error);
    told(MPI_File_write_shared(file, data, PIECE, MPI_BYTE, MPI_STATUS_IGNORE), expected, 0, "write_shared", error);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank > 0) {
        must(MPI_File_read_at(file, (MPI_Offset)(rank + 1) * LONG, back, LONG, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS, "read", error);
        must(memcmp(back, data, LONG) == 0, "what was reported written", error);
    }
    close_file(&file, fd, error);
}

static void together(int error, int expected, int gathers, char *data, char *back)
{
    MPI_Datatype type;
    MPI_File file = open_file(gathers ? "enable" : "disable");
    MPI_Type_vector(PIECES, PIECE, PIECE * size, MPI_BYTE, &type);
    MPI_Type_commit(&type);
    must(MPI_File_set_view(file, (MPI_Offset)rank * PIECE, MPI_BYTE, type, "native", MPI_INFO_NULL) == MPI_SUCCESS, "view", error);
    MPI_Type_free(&type);
    must(MPI_File_write_all(file, data, PIECE * PIECES, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS, "a whole write_all", error);
    int fd = rank == 0 ? descriptor() : -1;
    if (rank == 0) {
        fail(WRITES, 5, fd, error);
        fail(READS, 5, fd, error);
        fail(SYNCS, 3, fd, error);
    }
    told(MPI_File_write_at_all(file, 0, data, PIECE * PIECES, MPI_BYTE, MPI_STATUS_IGNORE), expected, gathers, "write_at_all", error);
    told(MPI_File_read_at_all(file, 0, back, PIECE * PIECES, MPI_BYTE, MPI_STATUS_IGNORE), expected, gathers, "read_at_all", error);
    told(MPI_File_sync(file), expected, 1, "sync", error);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank > 0) {
        must(MPI_File_read_at(file, 0, back, PIECE * PIECES, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS, "read", error);
        must(memcmp(back, data, PIECE * PIECES) == 0, "what was written before", error);
    }
    close_file(&file, fd, error);
}

int main(int argc, char **argv)
{
    static const struct { int error, class; } FAULTS[] = {
        { EDQUOT, MPI_ERR_QUOTA }, { EIO, MPI_ERR_IO }, { ESTALE, MPI_ERR_IO }, { EFBIG, MPI_ERR_NO_SPACE },
    };
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    must(argc == 2, "usage: faulty FILE", 0);
    name = argv[1];
    char *data = malloc(LONG), *back = malloc(LONG);
    for (int i = 0; i < LONG; i++)
        data[i] = (char)(rank + i / PIECE + 1);
    for (int i = 0; i < 4; i++) {
        writes(FAULTS[i].error, FAULTS[i].class, data, back);
        together(FAULTS[i].error, FAULTS[i].class, 0, data, back);
        together(FAULTS[i].error, FAULTS[i].class, 1, data, back);
    }
    free(data);
    free(back);
    MPI_Finalize();
    if (rank == 0)
        printf("faulty: well\n");
    return 0;
}
