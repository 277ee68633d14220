/* Files on a network file system that the hosts of a job mount each for itself: what one host writes, the others read. Every part
   is a test of its own. Arguments: a part, a folder on that file system, and for some parts a name that the ranks and who runs
   them see. */
#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int rank, size;
static char name[1000];
static const char *outside;

static void must(int condition, const char *what, long n)
{
    if (!condition) {
        fprintf(stderr, "rank %d: %s (%ld)\n", rank, what, n);
        MPI_Abort(MPI_COMM_WORLD, 3);
    }
}

static int class_of(int code)
{
    int class = MPI_SUCCESS;
    MPI_Error_class(code, &class);
    return class;
}

static void well(int code, const char *what)
{
    char text[MPI_MAX_ERROR_STRING];
    int length;
    if (code != MPI_SUCCESS) {
        MPI_Error_string(code, text, &length);
        fprintf(stderr, "rank %d: %s: %s\n", rank, what, text);
        MPI_Abort(MPI_COMM_WORLD, 3);
    }
}

static MPI_File open_with(int amode, const char *gathers)
{
    MPI_File file;
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "romio_cb_write", gathers);
    MPI_Info_set(info, "romio_cb_read", gathers);
    MPI_Info_set(info, "cb_buffer_size", "65536");
    well(MPI_File_open(MPI_COMM_WORLD, name, amode, info, &file), "open");
    MPI_Info_free(&info);
    return file;
}

static void all_is_written(MPI_File file)
{
    well(MPI_File_sync(file), "sync");
    MPI_Barrier(MPI_COMM_WORLD);
    well(MPI_File_sync(file), "sync");
}

static char value(long at, int round)
{
    return (char)((at * 7 + at / 251 + round * 31) % 127 + 1);
}

enum { RECORD = 100, RECORDS = 300, ROUNDS = 4 };

/* Records of the ranks in turn, many in each page, written each by itself while the other host has its copy of the page. */
static void neighbours(void)
{
    long all = (long)RECORD * RECORDS * size;
    char *whole = malloc((size_t)all), record[RECORD];
    MPI_File file = open_with(MPI_MODE_RDWR | MPI_MODE_CREATE, "disable");
    well(MPI_File_set_size(file, all), "set_size");
    for (int round = 0; round < ROUNDS; round++) {
        well(MPI_File_read_at(file, 0, whole, (int)all, MPI_BYTE, MPI_STATUS_IGNORE), "read");
        MPI_Barrier(MPI_COMM_WORLD);
        for (long i = 0; i < RECORDS; i++) {
            long at = (i * size + rank) * RECORD;
            for (int j = 0; j < RECORD; j++) record[j] = value(at + j, round);
            well(MPI_File_write_at(file, at, record, RECORD, MPI_BYTE, MPI_STATUS_IGNORE), "write");
        }
        all_is_written(file);
        well(MPI_File_read_at(file, 0, whole, (int)all, MPI_BYTE, MPI_STATUS_IGNORE), "read");
        for (long at = 0; at < all; at++) must(whole[at] == value(at, round), "a byte that nobody wrote", at);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    well(MPI_File_close(&file), "close");
    free(whole);
}

/* The same records, with holes that stay, by one collective call; every rank reads them all back in both ways. */
static void together(const char *gathers)
{
    long all = (long)RECORD * RECORDS * size;
    char *whole = malloc((size_t)all), *mine = malloc(RECORD * RECORDS);
    MPI_Datatype type;
    MPI_File file = open_with(MPI_MODE_RDWR | MPI_MODE_CREATE, gathers);
    well(MPI_File_set_size(file, all), "set_size");
    MPI_Type_vector(RECORDS, RECORD, RECORD * size, MPI_BYTE, &type);
    MPI_Type_commit(&type);
    for (int round = 0; round < ROUNDS; round++) {
        for (long i = 0; i < RECORDS; i++)
            for (int j = 0; j < RECORD; j++) mine[i * RECORD + j] = value((i * size + rank) * RECORD + j, round);
        well(MPI_File_set_view(file, (MPI_Offset)rank * RECORD, MPI_BYTE, type, "native", MPI_INFO_NULL), "view");
        well(MPI_File_write_at_all(file, 0, mine, RECORD * RECORDS, MPI_BYTE, MPI_STATUS_IGNORE), "write_at_all");
        all_is_written(file);
        well(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL), "view");
        memset(whole, 0, (size_t)all);
        if (round % 2)
            well(MPI_File_read_at(file, 0, whole, (int)all, MPI_BYTE, MPI_STATUS_IGNORE), "read_at");
        else
            well(MPI_File_read_at_all(file, 0, whole, (int)all, MPI_BYTE, MPI_STATUS_IGNORE), "read_at_all");
        for (long at = 0; at < all; at++) must(whole[at] == value(at, round), "a byte that nobody wrote", at);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Type_free(&type);
    well(MPI_File_close(&file), "close");
    free(whole);
    free(mine);
}

/* One number in turn by each rank, and long blocks at once by all: in atomic mode a read sees the last write, and one block whole. */
static void atomic(void)
{
    enum { BLOCK = 300000, TIMES = 6 };
    char *block = malloc(BLOCK);
    MPI_File file = open_with(MPI_MODE_RDWR | MPI_MODE_CREATE, "automatic");
    well(MPI_File_set_atomicity(file, 1), "set_atomicity");
    for (int turn = 0; turn < 3 * size; turn++) {
        int number = -1;
        if (turn % size == rank) well(MPI_File_write_at(file, 0, &turn, 1, MPI_INT, MPI_STATUS_IGNORE), "write");
        MPI_Barrier(MPI_COMM_WORLD);
        well(MPI_File_read_at(file, 0, &number, 1, MPI_INT, MPI_STATUS_IGNORE), "read");
        must(number == turn, "an old number", number);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    for (int turn = 0; turn < TIMES; turn++) {
        memset(block, 1 + (turn * size + rank) % 127, BLOCK);
        well(MPI_File_write_at(file, 50, block, BLOCK, MPI_BYTE, MPI_STATUS_IGNORE), "write");
        well(MPI_File_read_at(file, 50, block, BLOCK, MPI_BYTE, MPI_STATUS_IGNORE), "read");
        for (long i = 1; i < BLOCK; i++) must(block[i] == block[0], "two blocks in one", i);
    }
    well(MPI_File_close(&file), "close");
    free(block);
}

/* Every record of everybody once, at the pointer that all move, and in the order of ranks. */
static void shared(void)
{
    enum { EACH = 20 };
    MPI_File file = open_with(MPI_MODE_RDWR | MPI_MODE_CREATE, "automatic");
    int n = size * EACH, number, *seen = calloc((size_t)n, sizeof(int)), *whole = calloc((size_t)n, sizeof(int));
    well(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL), "view");
    for (int i = 0; i < EACH; i++) {
        number = i * size + rank;
        well(MPI_File_write_shared(file, &number, 1, MPI_INT, MPI_STATUS_IGNORE), "write_shared");
    }
    all_is_written(file);
    well(MPI_File_read_at(file, 0, whole, n, MPI_INT, MPI_STATUS_IGNORE), "read");
    for (int i = 0; i < n; i++) {
        must(whole[i] >= 0 && whole[i] < n && !seen[whole[i]], "a record is missing", i);
        seen[whole[i]] = 1;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    well(MPI_File_seek_shared(file, 0, MPI_SEEK_SET), "seek_shared");
    for (int i = 0; i < EACH; i++) {
        number = i * size + rank;
        well(MPI_File_write_ordered(file, &number, 1, MPI_INT, MPI_STATUS_IGNORE), "write_ordered");
    }
    all_is_written(file);
    well(MPI_File_read_at(file, 0, whole, n, MPI_INT, MPI_STATUS_IGNORE), "read");
    for (int i = 0; i < n; i++) must(whole[i] == i, "out of order", i);
    well(MPI_File_close(&file), "close");
    free(seen);
    free(whole);
}

/* Names and sizes that a host remembers from before. */
static void remembered(void)
{
    MPI_Offset bytes;
    struct stat about;
    MPI_File file;
    /* All have looked, and there was none. */
    must(stat(name, &about) != 0, "the file is there", 0);
    MPI_Barrier(MPI_COMM_WORLD);
    file = open_with(MPI_MODE_RDWR | MPI_MODE_CREATE, "automatic");
    well(MPI_File_set_size(file, 12345), "set_size");
    well(MPI_File_get_size(file, &bytes), "get_size");
    must(bytes == 12345, "the size", bytes);
    MPI_Barrier(MPI_COMM_WORLD);
    /* The second host makes it longer, and the first one remembers the size that is asked for. */
    if (rank == 1) well(MPI_File_write_at(file, 20000, "x", 1, MPI_BYTE, MPI_STATUS_IGNORE), "write_at");
    MPI_Barrier(MPI_COMM_WORLD);
    well(MPI_File_set_size(file, 12345), "set_size");
    well(MPI_File_get_size(file, &bytes), "get_size");
    must(bytes == 12345, "the size after set_size", bytes);
    well(MPI_File_preallocate(file, 23456), "preallocate");
    well(MPI_File_get_size(file, &bytes), "get_size");
    must(bytes == 23456, "the size", bytes);
    well(MPI_File_close(&file), "close");
    /* One that rank 0 makes by itself, and the last rank, which has looked before, deletes. */
    char own[1100];
    snprintf(own, sizeof own, "%s.own", name);
    must(stat(own, &about) != 0, "the file is there", 0);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) must(close(open(own, O_CREAT | O_RDWR, 0666)) == 0, "a file", errno);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == size - 1) well(MPI_File_delete(own, MPI_INFO_NULL), "delete");
    MPI_Barrier(MPI_COMM_WORLD);
    /* Another one under the same name, which all know. */
    must(stat(name, &about) == 0, "the file is not there", 0);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        char other[1100];
        snprintf(other, sizeof other, "%s.new", name);
        int fd = open(other, O_CREAT | O_RDWR, 0666);
        must(fd >= 0 && write(fd, "other", 5) == 5 && close(fd) == 0, "another file", errno);
        must(rename(other, name) == 0, "rename", errno);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    file = open_with(MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, "automatic");
    well(MPI_File_get_size(file, &bytes), "get_size");
    must(bytes == 5, "the size of the other file", bytes);
    well(MPI_File_close(&file), "close");
    must(stat(name, &about) != 0 || rank > 0, "deleted", 0);
}

/* Tells who runs this, and waits for the answer. */
static void ask(const char *question)
{
    char path[1100];
    MPI_Barrier(MPI_COMM_WORLD);
    snprintf(path, sizeof path, "%s.%s", outside, question);
    if (rank == 0) close(open(path, O_CREAT | O_WRONLY, 0666));
    snprintf(path, sizeof path, "%s.%s.done", outside, question);
    while (access(path, F_OK) != 0) usleep(20000);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Somebody at the server removes the file while it is open. */
static void removed(void)
{
    char *data = calloc(1, 1 << 20), text[MPI_MAX_ERROR_STRING];
    int length, code, stale = 0, all = 0;
    MPI_File file = open_with(MPI_MODE_RDWR | MPI_MODE_CREATE, "automatic");
    well(MPI_File_write_at(file, (MPI_Offset)rank << 20, data, 1 << 20, MPI_BYTE, MPI_STATUS_IGNORE), "write");
    all_is_written(file);
    ask("remove");
    for (int turn = 0; turn < 4; turn++) {
        code = turn == 0   ? MPI_File_write_at(file, (MPI_Offset)rank << 20, data, 1 << 20, MPI_BYTE, MPI_STATUS_IGNORE)
               : turn == 1 ? MPI_File_sync(file)
               : turn == 2 ? MPI_File_read_at_all(file, 0, data, 1 << 20, MPI_BYTE, MPI_STATUS_IGNORE)
                           : MPI_File_set_size(file, 5);
        if (code == MPI_SUCCESS) continue;
        MPI_Error_string(code, text, &length);
        must(class_of(code) == MPI_ERR_IO && strstr(text, strerror(ESTALE)) && strstr(text, name), text, turn);
        stale = 1;
    }
    code = MPI_File_close(&file);
    must(code == MPI_SUCCESS || class_of(code) == MPI_ERR_IO, "close", class_of(code));
    /* The size is set by one rank for all: each of them hears of it. */
    MPI_Allreduce(&stale, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (rank == 0) printf("removed: %s\n", all ? "stale" : "as if it were there, for some rank at least");
    free(data);
}

/* The last rank is killed while it writes a long block under a lock. */
static void killed(void)
{
    enum { LONG = 64 << 20 };
    char *data = calloc(1, LONG);
    MPI_File file = open_with(MPI_MODE_RDWR | MPI_MODE_CREATE, "automatic");
    well(MPI_File_set_atomicity(file, 1), "set_atomicity");
    if (rank == size - 1) {
        printf("killed: process %ld\n", (long)getpid());
        fflush(stdout);
        for (;;) well(MPI_File_write_at(file, 0, data, LONG, MPI_BYTE, MPI_STATUS_IGNORE), "write");
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    must(argc >= 3, "usage: mounts PART FOLDER [NAME]", argc);
    const char *part = argv[1];
    snprintf(name, sizeof name, "%s/%s", argv[2], part);
    outside = argc > 3 ? argv[3] : "";
    if (strcmp(part, "neighbours") == 0) neighbours();
    else if (strcmp(part, "gathered") == 0) together("enable");
    else if (strcmp(part, "alone") == 0) together("disable");
    else if (strcmp(part, "atomic") == 0) atomic();
    else if (strcmp(part, "shared") == 0) shared();
    else if (strcmp(part, "remembered") == 0) remembered();
    else if (strcmp(part, "removed") == 0) removed();
    else if (strcmp(part, "killed") == 0) killed();
    else must(0, "no such part", 0);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    if (rank == 0) printf("mounts: well\n");
    return 0;
}
