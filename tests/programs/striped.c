/* Files that are striped over hosts. Arguments: what to do, the file, and the folder of the info key. Data are
   a pattern of the file's positions, in pieces of the ranks by turns. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

/* What one rank would do alone, and what there is not. */
static void refusals(MPI_File file, char *data)
{
    MPI_Request request;
    int unsupported = MPI_ERR_UNSUPPORTED_OPERATION;
    must(class_of(MPI_File_write_at(file, 0, data, 1, MPI_BYTE, MPI_STATUS_IGNORE)) == unsupported, "write_at");
    must(class_of(MPI_File_write(file, data, 1, MPI_BYTE, MPI_STATUS_IGNORE)) == unsupported, "write");
    must(class_of(MPI_File_read_at(file, 0, data, 1, MPI_BYTE, MPI_STATUS_IGNORE)) == unsupported, "read_at");
    must(class_of(MPI_File_write_shared(file, data, 1, MPI_BYTE, MPI_STATUS_IGNORE)) == unsupported, "write_shared");
    must(class_of(MPI_File_iwrite_at(file, 0, data, 1, MPI_BYTE, &request)) == unsupported, "iwrite_at");
    must(class_of(MPI_File_iwrite_all(file, data, 1, MPI_BYTE, &request)) == unsupported, "iwrite_all");
    must(class_of(MPI_File_set_atomicity(file, 1)) == unsupported, "atomicity");
    must(class_of(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "external32", MPI_INFO_NULL)) ==
             MPI_ERR_UNSUPPORTED_DATAREP, "external32");
    MPI_Offset at;
    well(MPI_File_get_position(file, &at), "position");
    must(at == 0, "a refused call moves no pointer");
}

static void write_it(const char *name, const char *folder, int finish)
{
    MPI_File file;
    char *data = pattern();
    well(open_striped(name, folder, MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_EXCL, &file), "open");
    refusals(file, data);
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
