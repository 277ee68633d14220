/* Files on a device that is too small: every rank that must know gets MPI_ERR_NO_SPACE, nobody waits for ever, what was
   reported written is in the file, and the file can be used on. Arguments: a file name on a device of 1 MiB; `quota`, where a
   quota allows no more (MPI_ERR_QUOTA), or `device`; `late` where the system tells it when it writes back, at the next sync or
   when the file is closed, as it may on network file systems. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PIECE 4096
#define PIECES 512

static int rank, size, expected = MPI_ERR_NO_SPACE, late;

static void must(int condition, const char *what)
{
    if (!condition) {
        fprintf(stderr, "rank %d: %s\n", rank, what);
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
    if (code == MPI_SUCCESS) return;
    MPI_Error_string(code, text, &length);
    fprintf(stderr, "rank %d: %s\n", rank, text);
    must(0, what);
}

/* A write that came back with `code` is more than there is room for. */
static void refused(MPI_File file, int code, const char *what)
{
    if (late) {
        int synced = MPI_File_sync(file);
        if (class_of(code) == MPI_SUCCESS) code = synced;
    }
    if (class_of(code) != expected) fprintf(stderr, "rank %d: class %d, expected %d\n", rank, class_of(code), expected);
    must(class_of(code) == expected, what);
}

/* Pieces of the ranks in turn. */
static void interleaved(MPI_File file)
{
    MPI_Datatype type;
    MPI_Type_vector(PIECES, PIECE, PIECE * size, MPI_BYTE, &type);
    MPI_Type_commit(&type);
    well(MPI_File_set_view(file, (MPI_Offset)rank * PIECE, MPI_BYTE, type, "native", MPI_INFO_NULL), "view");
    MPI_Type_free(&type);
}

static void collective(const char *name, const char *gathers, char *data)
{
    MPI_File file;
    MPI_Info info;
    MPI_Status status;
    int n, code;
    MPI_Info_create(&info);
    MPI_Info_set(info, "romio_cb_write", gathers);
    MPI_Info_set(info, "cb_buffer_size", "65536");
    well(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDWR | MPI_MODE_CREATE, info, &file), "open");
    MPI_Info_free(&info);
    interleaved(file);
    code = MPI_File_write_all(file, data, PIECE * PIECES, MPI_BYTE, MPI_STATUS_IGNORE);
    refused(file, code, "write_all on a full device");
    /* Room again: the next call succeeds, and its data are there. */
    well(MPI_File_set_size(file, 0), "set_size");
    well(MPI_File_seek(file, 0, MPI_SEEK_SET), "seek");
    well(MPI_File_write_all(file, data, 4 * PIECE, MPI_BYTE, &status), "write_all with room");
    MPI_Get_count(&status, MPI_BYTE, &n);
    must(n == 4 * PIECE, "count");
    well(MPI_File_sync(file), "sync");
    char *back = calloc(4, PIECE);
    well(MPI_File_read_at_all(file, 0, back, 4 * PIECE, MPI_BYTE, &status), "read");
    must(memcmp(back, data, 4 * PIECE) == 0, "data");
    free(back);
    well(MPI_File_set_size(file, 0), "set_size again");
    well(MPI_File_close(&file), "close");
}

/* The first piece of all ranks but the last, which were told that it is written, is in the file: through MPI, or as the system has it
   under this name. */
static void reported(MPI_File file, const char *name)
{
    int bytes = (size - 1) * PIECE, n;
    char *back = calloc((size_t)size, PIECE);
    if (name) {
        FILE *plain = fopen(name, "rb");
        must(plain != NULL, "the file is not there");
        n = (int)fread(back, 1, (size_t)bytes, plain);
        fclose(plain);
    } else {
        MPI_Status status;
        well(MPI_File_read_at(file, 0, back, bytes, MPI_BYTE, &status), "read_at");
        MPI_Get_count(&status, MPI_BYTE, &n);
    }
    must(n == bytes, "what was reported written is missing");
    for (int i = 0; i < bytes; i++) must(back[i] == (char)(i / PIECE + 1), "what was reported written is not in the file");
    free(back);
}

/* Ordered, shared and split calls, and room that is asked for. */
static void others(const char *name, char *data)
{
    MPI_File file;
    MPI_Offset before, after;
    int code;
    well(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL, &file), "open");
    code = MPI_File_preallocate(file, 4 << 20);
    must(class_of(code) == expected, "preallocate");
    well(MPI_File_set_size(file, 0), "set_size");
    code = MPI_File_write_ordered(file, data, PIECE * PIECES, MPI_BYTE, MPI_STATUS_IGNORE);
    /* The first rank's data alone are too much. */
    refused(file, code, "write_ordered");
    well(MPI_File_set_size(file, 0), "set_size");
    well(MPI_File_seek_shared(file, 0, MPI_SEEK_SET), "seek_shared");
    well(MPI_File_get_position_shared(file, &before), "position");
    well(MPI_File_write_ordered(file, data, PIECE, MPI_BYTE, MPI_STATUS_IGNORE), "write_ordered with room");
    well(MPI_File_get_position_shared(file, &after), "position");
    must(before == 0 && after == (MPI_Offset)size * PIECE, "the shared pointer");
    code = MPI_File_write_at_all_begin(file, 0, data, PIECE * PIECES, MPI_BYTE);
    if (late && code == MPI_SUCCESS) code = MPI_File_write_at_all_end(file, data, MPI_STATUS_IGNORE);
    refused(file, code, "write_at_all_begin");
    well(MPI_File_set_size(file, 0), "set_size");
    /* One rank only is out of room: the others have theirs already. */
    well(MPI_File_preallocate(file, (MPI_Offset)size * PIECE), "preallocate a little");
    code = MPI_File_write_at_all(file, rank * PIECE, data, rank == size - 1 ? PIECE * PIECES : PIECE, MPI_BYTE,
                                 MPI_STATUS_IGNORE);
    if (late) {
        /* Whoever closes it last hears of it at the latest. */
        int closed = MPI_File_close(&file), told = class_of(code) == expected, any;
        MPI_Allreduce(&told, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
        must(any || class_of(closed) == expected, "close tells what was lost");
    } else {
        must(class_of(code) == (rank == size - 1 ? expected : MPI_SUCCESS), "write_at_all of one rank");
        well(MPI_File_sync(file), "sync of what was written");
        reported(file, NULL);
        well(MPI_File_close(&file), "close");
        if (rank == 0) reported(MPI_FILE_NULL, name);
    }
    if (rank == 0)
        well(MPI_File_delete(name, MPI_INFO_NULL), "delete");
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    must(argc >= 2, "usage: full FILE [device|quota] [late]");
    if (argc > 2 && strcmp(argv[2], "quota") == 0) expected = MPI_ERR_QUOTA;
    late = argc > 3 && strcmp(argv[3], "late") == 0;
    char *data = malloc(PIECE * PIECES);
    for (int i = 0; i < PIECE * PIECES; i++)
        data[i] = (char)(rank + i / PIECE + 1);
    collective(argv[1], "enable", data);
    collective(argv[1], "disable", data);
    collective(argv[1], "automatic", data);
    others(argv[1], data);
    free(data);
    MPI_Finalize();
    if (rank == 0)
        printf("full: well\n");
    return 0;
}
