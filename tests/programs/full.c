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
    must(MPI_File_set_view(file, (MPI_Offset)rank * PIECE, MPI_BYTE, type, "native", MPI_INFO_NULL) == MPI_SUCCESS, "view");
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
    must(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDWR | MPI_MODE_CREATE, info, &file) == MPI_SUCCESS, "open");
    MPI_Info_free(&info);
    interleaved(file);
    code = MPI_File_write_all(file, data, PIECE * PIECES, MPI_BYTE, MPI_STATUS_IGNORE);
    refused(file, code, "write_all on a full device");
    /* Room again: the next call succeeds, and its data are there. */
    must(MPI_File_set_size(file, 0) == MPI_SUCCESS, "set_size");
    must(MPI_File_seek(file, 0, MPI_SEEK_SET) == MPI_SUCCESS, "seek");
    must(MPI_File_write_all(file, data, 4 * PIECE, MPI_BYTE, &status) == MPI_SUCCESS, "write_all with room");
    MPI_Get_count(&status, MPI_BYTE, &n);
    must(n == 4 * PIECE, "count");
    must(MPI_File_sync(file) == MPI_SUCCESS, "sync");
    char *back = calloc(4, PIECE);
    must(MPI_File_read_at_all(file, 0, back, 4 * PIECE, MPI_BYTE, &status) == MPI_SUCCESS, "read");
    must(memcmp(back, data, 4 * PIECE) == 0, "data");
    free(back);
    must(MPI_File_set_size(file, 0) == MPI_SUCCESS, "set_size again");
    must(MPI_File_close(&file) == MPI_SUCCESS, "close");
}

/* Ordered, shared and split calls, and room that is asked for. */
static void others(const char *name, char *data)
{
    MPI_File file;
    MPI_Offset before, after;
    int code;
    must(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL, &file) == MPI_SUCCESS, "open");
    code = MPI_File_preallocate(file, 4 << 20);
    must(class_of(code) == expected, "preallocate");
    must(MPI_File_set_size(file, 0) == MPI_SUCCESS, "set_size");
    code = MPI_File_write_ordered(file, data, PIECE * PIECES, MPI_BYTE, MPI_STATUS_IGNORE);
    /* The first rank's data alone are too much. */
    refused(file, code, "write_ordered");
    must(MPI_File_set_size(file, 0) == MPI_SUCCESS, "set_size");
    must(MPI_File_seek_shared(file, 0, MPI_SEEK_SET) == MPI_SUCCESS, "seek_shared");
    must(MPI_File_get_position_shared(file, &before) == MPI_SUCCESS, "position");
    must(MPI_File_write_ordered(file, data, PIECE, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS, "write_ordered with room");
    must(MPI_File_get_position_shared(file, &after) == MPI_SUCCESS, "position");
    must(before == 0 && after == (MPI_Offset)size * PIECE, "the shared pointer");
    code = MPI_File_write_at_all_begin(file, 0, data, PIECE * PIECES, MPI_BYTE);
    if (late && code == MPI_SUCCESS) code = MPI_File_write_at_all_end(file, data, MPI_STATUS_IGNORE);
    refused(file, code, "write_at_all_begin");
    must(MPI_File_set_size(file, 0) == MPI_SUCCESS, "set_size");
    /* One rank only is out of room: the others have theirs already. */
    must(MPI_File_preallocate(file, (MPI_Offset)size * PIECE) == MPI_SUCCESS, "preallocate a little");
    code = MPI_File_write_at_all(file, rank * PIECE, data, rank == size - 1 ? PIECE * PIECES : PIECE, MPI_BYTE,
                                 MPI_STATUS_IGNORE);
    if (late) {
        /* Whoever closes it last hears of it at the latest. */
        int closed = MPI_File_close(&file), told = class_of(code) == expected, any;
        MPI_Allreduce(&told, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
        must(any || class_of(closed) == expected, "close tells what was lost");
    } else {
        must(class_of(code) == (rank == size - 1 ? expected : MPI_SUCCESS), "write_at_all of one rank");
        must(MPI_File_close(&file) == MPI_SUCCESS, "close");
    }
    if (rank == 0)
        MPI_File_delete(name, MPI_INFO_NULL);
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
