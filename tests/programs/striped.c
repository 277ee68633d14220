/* Files that are striped over hosts. Arguments: what to do, the file, and the folder of the info key. Data are
   a pattern of the file's positions, in pieces of the ranks by turns. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#define PIECE 1000
#define PIECES 300

static int rank, size;

static void must(int condition, const char *what)
{
    if (!condition) {
        fprintf(stderr, "rank %d: %s\n", rank, what);
        MPI_Abort(MPI_COMM_WORLD, 3);
    }
}

static void well(int code, const char *what)
{
    if (code != MPI_SUCCESS) {
        char text[MPI_MAX_ERROR_STRING];
        int len;
        MPI_Error_string(code, text, &len);
        fprintf(stderr, "rank %d: %s: %s\n", rank, what, text);
        MPI_Abort(MPI_COMM_WORLD, 3);
    }
}

static int class_of(int code)
{
    int class = MPI_SUCCESS;
    MPI_Error_class(code, &class);
    return class;
}

static char byte_at(long at)
{
    return (char)(at * 7 + at / 251 + 1);
}

static int open_striped(const char *name, const char *folder, int amode, MPI_File *file)
{
    MPI_Info info;
    MPI_Info_create(&info);
    if (folder) {
        MPI_Info_set(info, "hpvm_stripes", folder);
        MPI_Info_set(info, "striping_unit", "8192");
        /* Several rounds of several units each. */
        MPI_Info_set(info, "cb_buffer_size", "20000");
    }
    int code = MPI_File_open(MPI_COMM_WORLD, name, amode, info, file);
    MPI_Info_free(&info);
    return code;
}

/* Pieces of the ranks by turns. */
static void interleaved(MPI_File file)
{
    MPI_Datatype pieces, type;
    MPI_Type_vector(PIECES, PIECE, PIECE * size, MPI_BYTE, &pieces);
    MPI_Type_create_resized(pieces, 0, (MPI_Aint)PIECE * PIECES * size, &type);
    MPI_Type_free(&pieces);
    MPI_Type_commit(&type);
    well(MPI_File_set_view(file, (MPI_Offset)rank * PIECE, MPI_BYTE, type, "native", MPI_INFO_NULL), "view");
    MPI_Type_free(&type);
}

static char *pattern(void)
{
    char *data = malloc(PIECE * PIECES);
    for (long i = 0; i < PIECE * PIECES; i++)
        data[i] = byte_at((i / PIECE * size + rank) * PIECE + i % PIECE);
    return data;
}

static void same(MPI_File file, const char *data)
{
    MPI_Status status;
    int n;
    char *back = calloc(PIECE, PIECES + 1);
    interleaved(file);
    /* More than there is: the file's end is seen. */
    well(MPI_File_read_at_all(file, 0, back, PIECE * PIECES, MPI_BYTE, &status), "read_at_all");
    MPI_Get_count(&status, MPI_BYTE, &n);
    must(n == PIECE * PIECES, "bytes that were read");
    must(memcmp(back, data, PIECE * PIECES) == 0, "data that were read");
    well(MPI_File_read_at_all(file, PIECE * (PIECES - 1), back, 2 * PIECE, MPI_BYTE, &status), "read at the end");
    MPI_Get_count(&status, MPI_BYTE, &n);
    must(n == PIECE, "bytes before the end");
    memset(back, 0, PIECE * PIECES);
    well(MPI_File_seek(file, 0, MPI_SEEK_SET), "seek");
    well(MPI_File_read_all_begin(file, back, PIECE * PIECES, MPI_BYTE), "read_all_begin");
    well(MPI_File_read_all_end(file, back, &status), "read_all_end");
    must(memcmp(back, data, PIECE * PIECES) == 0, "data of the split call");
    MPI_Offset bytes;
    well(MPI_File_get_size(file, &bytes), "get_size");
    must(bytes == (MPI_Offset)PIECE * PIECES * size, "size");
    free(back);
}

/* The pieces of this rank, each by a call of its own, in an order that differs between ranks: neighbours write into the
   same units at the same time. */
static void alone(MPI_File file, const char *data)
{
    interleaved(file);
    for (long n = 0; n < PIECES; n++) {
        long piece = (n * 7 + rank * 31) % PIECES;
        well(MPI_File_write_at(file, piece * PIECE, data + piece * PIECE, PIECE, MPI_BYTE, MPI_STATUS_IGNORE), "write_at");
    }
    well(MPI_File_sync(file), "sync");
    MPI_Barrier(MPI_COMM_WORLD);
    /* Those of the next rank, all at once and piece by piece. */
    int next = (rank + 1) % size;
    char *back = calloc(PIECE, PIECES);
    MPI_Datatype pieces;
    MPI_Type_vector(PIECES, PIECE, PIECE * size, MPI_BYTE, &pieces);
    MPI_Type_commit(&pieces);
    well(MPI_File_set_view(file, (MPI_Offset)next * PIECE, MPI_BYTE, pieces, "native", MPI_INFO_NULL), "view");
    MPI_Type_free(&pieces);
    well(MPI_File_read(file, back, PIECE * PIECES, MPI_BYTE, MPI_STATUS_IGNORE), "read");
    for (long i = 0; i < PIECE * PIECES; i++)
        must(back[i] == byte_at((i / PIECE * size + next) * PIECE + i % PIECE), "what the next rank has written");
    MPI_Offset bytes, whole = (MPI_Offset)PIECE * PIECES * size;
    well(MPI_File_get_size(file, &bytes), "get_size");
    must(bytes == whole, "size after calls of one rank each");
    well(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL), "view");
    /* Beyond the end there is nothing. */
    MPI_Status status;
    int n;
    well(MPI_File_read_at(file, whole - 3, back, 100, MPI_BYTE, &status), "read_at the end");
    MPI_Get_count(&status, MPI_BYTE, &n);
    must(n == 3 && back[2] == byte_at(whole - 1), "bytes before the end");
    well(MPI_File_read_at(file, whole + 1000000, back, 100, MPI_BYTE, &status), "read_at beyond the end");
    MPI_Get_count(&status, MPI_BYTE, &n);
    must(n == 0, "bytes beyond the end");
    /* One rank makes it longer, with a hole that others see. */
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == size - 1)
        well(MPI_File_write_at(file, whole + 50000, "x", 1, MPI_BYTE, MPI_STATUS_IGNORE), "write_at beyond the end");
    MPI_Barrier(MPI_COMM_WORLD);
    well(MPI_File_get_size(file, &bytes), "get_size");
    must(bytes == whole + 50001, "size with a hole");
    memset(back, 7, 50002);
    well(MPI_File_read_at(file, whole, back, 50002, MPI_BYTE, &status), "read_at the hole");
    MPI_Get_count(&status, MPI_BYTE, &n);
    must(n == 50001 && back[0] == 0 && back[49999] == 0 && back[50000] == 'x', "the hole");
    well(MPI_File_set_size(file, whole), "set_size");
    free(back);
}

/* Several accesses at once, long ones and short ones; the second half of the ranks uses those that all ranks call. */
static void not_blocking(MPI_File file, const char *data)
{
    enum { PARTS = 4 };
    long part = (long)PIECE * PIECES / PARTS;
    MPI_Request requests[PARTS + 1];
    char *back = calloc(PIECE, PIECES);
    well(MPI_File_set_view(file, (MPI_Offset)rank * PIECE * PIECES, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL), "view");
    for (int i = 0; i < PARTS; i++)
        well(MPI_File_iwrite_at(file, i * part, data + i * part, part, MPI_BYTE, &requests[i]), "iwrite_at");
    well(MPI_File_iwrite_at(file, 0, data, 10, MPI_BYTE, &requests[PARTS]), "iwrite_at");
    well(MPI_Waitall(PARTS + 1, requests, MPI_STATUSES_IGNORE), "waitall");
    for (int i = 0; i < PARTS; i++)
        well(MPI_File_iread_all(file, back + i * part, part, MPI_BYTE, &requests[i]), "iread_all");
    well(MPI_Waitall(PARTS, requests, MPI_STATUSES_IGNORE), "waitall");
    must(memcmp(back, data, PIECE * PIECES) == 0, "data of calls that do not block");
    free(back);
}

/* Records of all ranks, by the shared pointer: each is there once. */
static void shared(MPI_File file)
{
    enum { EACH = 20 };
    int record[100], *seen = calloc((size_t)EACH * size, sizeof(int));
    well(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL), "view");
    for (int n = 0; n < EACH; n++) {
        for (int i = 0; i < 100; i++)
            record[i] = rank * EACH + n;
        well(MPI_File_write_shared(file, record, 100, MPI_INT, MPI_STATUS_IGNORE), "write_shared");
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int n = 0; n < EACH * size; n++) {
        well(MPI_File_read_at(file, n * 100, record, 100, MPI_INT, MPI_STATUS_IGNORE), "read_at");
        for (int i = 1; i < 100; i++)
            must(record[i] == record[0], "a record in one piece");
        must(record[0] >= 0 && record[0] < EACH * size && !seen[record[0]]++, "each record once");
    }
    MPI_Offset at;
    well(MPI_File_get_position_shared(file, &at), "position");
    must(at == EACH * size * 100, "the shared pointer");
    free(seen);
}

/* All write the same bytes of several stripes at once: whoever reads sees those of one rank. */
static void atomic(MPI_File file)
{
    enum { BYTES = 40000 };
    char *data = malloc(BYTES);
    well(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL), "view");
    well(MPI_File_set_atomicity(file, 1), "atomicity");
    for (int n = 0; n < 20; n++) {
        memset(data, 'a' + rank, BYTES);
        well(MPI_File_write_at(file, 5000, data, BYTES, MPI_BYTE, MPI_STATUS_IGNORE), "write_at");
        well(MPI_File_read_at(file, 5000, data, BYTES, MPI_BYTE, MPI_STATUS_IGNORE), "read_at");
        for (int i = 1; i < BYTES; i++)
            must(data[i] == data[0], "what one rank has written, and no other");
    }
    well(MPI_File_set_atomicity(file, 0), "atomicity");
    free(data);
}

/* A representation whose bytes are in another order. */
static void converted(MPI_File file)
{
    int numbers[5000], back[5000];
    for (int i = 0; i < 5000; i++)
        numbers[i] = rank * 100000 + i;
    well(MPI_File_set_view(file, (MPI_Offset)rank * (MPI_Offset)sizeof numbers, MPI_INT, MPI_INT, "external32", MPI_INFO_NULL),
         "external32");
    well(MPI_File_write_all(file, numbers, 5000, MPI_INT, MPI_STATUS_IGNORE), "write_all");
    well(MPI_File_read_at(file, 0, back, 5000, MPI_INT, MPI_STATUS_IGNORE), "read_at");
    must(memcmp(numbers, back, sizeof numbers) == 0, "converted data");
    unsigned char first[4];
    well(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL), "view");
    well(MPI_File_read_at(file, 4 * 4999, first, 4, MPI_BYTE, MPI_STATUS_IGNORE), "read_at");
    must(first[0] == 0 && first[2] == 4999 / 256 && first[3] == 4999 % 256, "the highest byte first");
}

/* Others write to and read from the stripes of ranks that do not call MPI. */
static void computing(MPI_File file, const char *name)
{
    char flag[4096], *data = malloc(100000);
    snprintf(flag, sizeof flag, "%s.flag", name);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == size - 1) {
        for (long i = 0; i < 100000; i++)
            data[i] = byte_at(i);
        well(MPI_File_write_at(file, 0, data, 100000, MPI_BYTE, MPI_STATUS_IGNORE), "write_at");
        memset(data, 0, 100000);
        well(MPI_File_read_at(file, 0, data, 100000, MPI_BYTE, MPI_STATUS_IGNORE), "read_at");
        for (long i = 0; i < 100000; i++)
            must(data[i] == byte_at(i), "data while others compute");
        FILE *made = fopen(flag, "w");
        must(made != NULL, "the flag");
        fclose(made);
    } else {
        while (access(flag, F_OK) != 0)
            usleep(1000);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        remove(flag);
    free(data);
}

static void by_one(const char *name, const char *folder)
{
    MPI_File file;
    char *data = pattern();
    well(open_striped(name, folder, MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_EXCL, &file), "open");
    not_blocking(file, data);
    shared(file);
    atomic(file);
    converted(file);
    well(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL), "view");
    computing(file, name);
    alone(file, data);
    well(MPI_File_close(&file), "close");
    free(data);
}

static void write_it(const char *name, const char *folder, int finish)
{
    MPI_File file;
    char *data = pattern();
    well(open_striped(name, folder, MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_EXCL, &file), "open");
    interleaved(file);
    well(MPI_File_write_all(file, data, PIECE * PIECES, MPI_BYTE, MPI_STATUS_IGNORE), "write_all");
    same(file, data);
    if (!finish) {
        MPI_Barrier(MPI_COMM_WORLD);
        /* As kill -9 by somebody. */
        kill(getpid(), 9);
    }
    /* Longer with a hole, and as before again. */
    MPI_Offset whole = (MPI_Offset)PIECE * PIECES * size, bytes;
    well(MPI_File_set_size(file, whole + 100000), "set_size");
    well(MPI_File_get_size(file, &bytes), "get_size");
    must(bytes == whole + 100000, "size with a hole");
    well(MPI_File_set_size(file, whole), "set_size again");
    well(MPI_File_sync(file), "sync");
    well(MPI_File_close(&file), "close");
    free(data);
}

static void read_it(const char *name)
{
    MPI_File file;
    char *data = pattern();
    well(open_striped(name, NULL, MPI_MODE_RDONLY, &file), "open");
    must(class_of(MPI_File_write_all(file, data, 1, MPI_BYTE, MPI_STATUS_IGNORE)) == MPI_ERR_READ_ONLY, "read only");
    same(file, data);
    well(MPI_File_close(&file), "close");
    free(data);
}

/* Adds to a file that is there, in the order of ranks, and takes it away again. */
static void more(const char *name)
{
    MPI_File file;
    char *data = pattern(), back;
    MPI_Offset whole = (MPI_Offset)PIECE * PIECES * size, bytes;
    well(open_striped(name, NULL, MPI_MODE_RDWR | MPI_MODE_APPEND, &file), "open");
    well(MPI_File_write_ordered(file, &rank, 1, MPI_INT, MPI_STATUS_IGNORE), "write_ordered");
    well(MPI_File_get_size(file, &bytes), "get_size");
    must(bytes == whole + (MPI_Offset)sizeof(int) * size, "size after it");
    int got = -1;
    well(MPI_File_read_at_all(file, whole + (MPI_Offset)sizeof(int) * rank, &got, 1, MPI_INT, MPI_STATUS_IGNORE), "read");
    must(got == rank, "what each has added");
    /* Nobody has anything, or one rank has. */
    well(MPI_File_write_at_all(file, 0, data, 0, MPI_BYTE, MPI_STATUS_IGNORE), "nothing");
    well(MPI_File_write_at_all(file, 9000, data, rank == size - 1, MPI_BYTE, MPI_STATUS_IGNORE), "one byte");
    well(MPI_File_read_at_all(file, 9000, &back, 1, MPI_BYTE, MPI_STATUS_IGNORE), "the byte");
    back = byte_at(9000);
    well(MPI_File_write_at_all(file, 9000, &back, rank == 0, MPI_BYTE, MPI_STATUS_IGNORE), "as it was");
    well(MPI_File_set_size(file, whole), "set_size");
    well(MPI_File_close(&file), "close");
    free(data);
}

/* The disk of one host is too small. */
static void full(const char *name, const char *folder)
{
    MPI_File file;
    int many = 4 << 20;
    char *data = calloc(1, many);
    well(open_striped(name, folder, MPI_MODE_RDWR | MPI_MODE_CREATE, &file), "open");
    int code = MPI_File_write_at_all(file, (MPI_Offset)many * rank, data, many, MPI_BYTE, MPI_STATUS_IGNORE);
    must(class_of(code) == MPI_ERR_NO_SPACE, "a full disk");
    /* One rank alone, on the other host or not. */
    for (int writer = 0; writer < 2; writer++) {
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == writer) {
            code = MPI_File_write_at(file, 0, data, many, MPI_BYTE, MPI_STATUS_IGNORE);
            must(class_of(code) == MPI_SUCCESS || class_of(code) == MPI_ERR_NO_SPACE, "write_at");
            code = MPI_File_write_at(file, (MPI_Offset)many * size, data, many, MPI_BYTE, MPI_STATUS_IGNORE);
            must(class_of(code) == MPI_ERR_NO_SPACE, "a full disk of one call");
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    must(class_of(MPI_File_preallocate(file, (MPI_Offset)many * size)) == MPI_ERR_NO_SPACE, "preallocate");
    /* Room again. */
    well(MPI_File_set_size(file, 0), "set_size");
    well(MPI_File_write_at_all(file, (MPI_Offset)PIECE * rank, data, PIECE, MPI_BYTE, MPI_STATUS_IGNORE), "with room");
    well(MPI_File_close(&file), "close");
    free(data);
}

/* Prints the class of the error that opening gives, and its text. */
static void refused(const char *name, const char *folder)
{
    MPI_File file;
    int amode = folder ? MPI_MODE_RDWR | MPI_MODE_CREATE : MPI_MODE_RDONLY;
    int code = open_striped(name, folder, amode, &file), len;
    char text[MPI_MAX_ERROR_STRING];
    must(code != MPI_SUCCESS, "opened");
    MPI_Error_string(code, text, &len);
    if (rank == 0)
        printf("%d %s\n", class_of(code), text);
}

/* With --enable-recovery: all ranks of the second host die while everybody locks and writes, maybe with a lock, maybe while
   they wait for one. Its stripe is lost to the others; that of their own host is not. */
static void lost(const char *name, const char *folder)
{
    MPI_File file;
    char data[40000] = "";
    well(open_striped(name, folder, MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_EXCL, &file), "open");
    well(MPI_File_set_atomicity(file, 1), "atomicity");
    MPI_Comm living;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &living);
    if (rank % 2) {
        struct itimerval soon = {{0, 0}, {0, 50000 + 20000 * rank}};
        setitimer(ITIMER_REAL, &soon, NULL);
        for (;;)
            MPI_File_write_at(file, 0, data, sizeof data, MPI_BYTE, MPI_STATUS_IGNORE);
    }
    int code;
    do
        code = MPI_File_write_at(file, 8192, data, 100, MPI_BYTE, MPI_STATUS_IGNORE);
    while (code == MPI_SUCCESS);
    must(class_of(code) == MPI_ERR_PROC_ABORTED, "the error of a host that is lost");
    for (int i = 0; i < 10; i++)
        well(MPI_File_write_at(file, 0, data, 100, MPI_BYTE, MPI_STATUS_IGNORE), "the other stripe");
    char text[MPI_MAX_ERROR_STRING];
    int len;
    MPI_Error_string(code, text, &len);
    printf("rank %d has seen it: %s\n", rank, text);
    /* Nobody asks any more. */
    MPI_Barrier(living);
    MPI_Comm_free(&living);
}

static void delete_it(const char *name, const char *folder)
{
    MPI_File file;
    int amode = MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE;
    well(open_striped(name, folder, amode, &file), "open");
    well(MPI_File_close(&file), "close");
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    must(argc >= 3, "usage: striped VERB FILE [FOLDER]");
    const char *verb = argv[1], *folder = argc > 3 ? argv[3] : NULL;
    if (!strcmp(verb, "write"))
        write_it(argv[2], folder, 1);
    else if (!strcmp(verb, "alone"))
        by_one(argv[2], folder);
    else if (!strcmp(verb, "lost"))
        lost(argv[2], folder);
    else if (!strcmp(verb, "killed"))
        write_it(argv[2], folder, 0);
    else if (!strcmp(verb, "read"))
        read_it(argv[2]);
    else if (!strcmp(verb, "more"))
        more(argv[2]);
    else if (!strcmp(verb, "full"))
        full(argv[2], folder);
    else if (!strcmp(verb, "refused"))
        refused(argv[2], folder);
    else if (!strcmp(verb, "delete"))
        delete_it(argv[2], folder);
    else
        must(MPI_File_delete(argv[2], MPI_INFO_NULL) == MPI_SUCCESS, "delete");
    if (rank == 0)
        printf("striped: well\n");
    MPI_Finalize();
    return 0;
}
