/* Files: opening and its modes, sizes, explicit offsets, individual pointers, seeking, views, hints, groups,
 * requests and split calls, all by each rank alone. */
#include "io.h"

#define N 1000

static int data[N], back[N];

static void fill(long first)
{
    for (int i = 0; i < N; i++) data[i] = io_value(first + i);
    memset(back, 0, sizeof back);
}

static void same(int n)
{
    CHECK(memcmp(data, back, (size_t)n * sizeof(int)) == 0);
}

static void count_is(MPI_Status *status, MPI_Datatype type, int wanted)
{
    int count = -1;
    CHECK_MPI(MPI_Get_count(status, type, &count));
    CHECK_EQ(count, wanted);
}

static void modes(void)
{
    MPI_File file = (MPI_File)0;
    char text[MPI_MAX_ERROR_STRING];
    int length, error = MPI_File_open(MPI_COMM_WORLD, io_name, MPI_MODE_RDONLY, MPI_INFO_NULL, &file);
    CHECK_CLASS(error, MPI_ERR_NO_SUCH_FILE);
    /* Also on ranks that have not looked for it themselves. */
    CHECK_MPI(MPI_Error_string(error, text, &length));
    CHECK(strstr(text, io_name) != NULL);
    CHECK(file == MPI_FILE_NULL);
    CHECK_CLASS(MPI_File_open(MPI_COMM_WORLD, io_name, MPI_MODE_RDWR | MPI_MODE_WRONLY, MPI_INFO_NULL, &file), MPI_ERR_AMODE);
    CHECK_CLASS(MPI_File_open(MPI_COMM_WORLD, io_name, MPI_MODE_RDONLY | MPI_MODE_CREATE, MPI_INFO_NULL, &file), MPI_ERR_AMODE);
    file = io_open(MPI_MODE_WRONLY | MPI_MODE_CREATE | MPI_MODE_EXCL);
    fill(0);
    CHECK_CLASS(MPI_File_read_at(file, 0, back, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_ACCESS);
    CHECK_MPI(MPI_File_close(&file));
    CHECK(file == MPI_FILE_NULL);
    CHECK_CLASS(MPI_File_open(MPI_COMM_WORLD, io_name, MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_EXCL, MPI_INFO_NULL, &file), MPI_ERR_FILE_EXISTS);
    file = io_open(MPI_MODE_RDONLY);
    CHECK_CLASS(MPI_File_write_at(file, 0, data, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_READ_ONLY);
    CHECK_CLASS(MPI_File_set_size(file, 10), MPI_ERR_READ_ONLY);
    CHECK_MPI(MPI_File_close(&file));
    CHECK_CLASS(MPI_File_close(&file), MPI_ERR_FILE);
    file = io_open(MPI_MODE_RDWR);
    int amode, size;
    MPI_Group group;
    CHECK_MPI(MPI_File_get_amode(file, &amode));
    CHECK_EQ(amode, MPI_MODE_RDWR);
    CHECK_MPI(MPI_File_get_group(file, &group));
    MPI_Group_size(group, &size);
    CHECK_EQ(size, check_size);
    MPI_Group_free(&group);
    CHECK_MPI(MPI_File_close(&file));
}

static void sizes(void)
{
    MPI_File file = io_open(MPI_MODE_RDWR);
    MPI_Offset size = -1;
    CHECK_MPI(MPI_File_set_size(file, 12345));
    CHECK_MPI(MPI_File_get_size(file, &size));
    CHECK_EQ(size, 12345);
    CHECK_MPI(MPI_File_preallocate(file, 20000));
    CHECK_MPI(MPI_File_get_size(file, &size));
    CHECK_EQ(size, 20000);
    CHECK_MPI(MPI_File_preallocate(file, 100));
    CHECK_MPI(MPI_File_get_size(file, &size));
    CHECK_EQ(size, 20000);
    CHECK_CLASS(MPI_File_set_size(file, -1), MPI_ERR_ARG);
    CHECK_MPI(MPI_File_set_size(file, 0));
    CHECK_MPI(MPI_File_sync(file));
    CHECK_MPI(MPI_File_close(&file));
}

/* Ranks write parts of the file that follow each other. */
static void offsets(void)
{
    MPI_File file = io_open(MPI_MODE_RDWR);
    MPI_Status status;
    MPI_Request request;
    MPI_Offset at = (MPI_Offset)check_rank * N * (MPI_Offset)sizeof(int), position;
    fill((long)check_rank * N);
    CHECK_MPI(MPI_File_write_at(file, at, data, N, MPI_INT, &status));
    count_is(&status, MPI_INT, N);
    CHECK_MPI(MPI_File_read_at(file, at, back, N, MPI_INT, &status));
    count_is(&status, MPI_INT, N);
    same(N);
    fill((long)check_rank * N + 7);
    CHECK_MPI(MPI_File_iwrite_at(file, at, data, N, MPI_INT, &request));
    CHECK_MPI(MPI_Wait(&request, &status));
    count_is(&status, MPI_INT, N);
    CHECK(request == MPI_REQUEST_NULL);
    CHECK_MPI(MPI_File_iread_at(file, at, back, N, MPI_INT, &request));
    CHECK_MPI(MPI_Wait(&request, &status));
    count_is(&status, MPI_INT, N);
    same(N);
    CHECK_MPI(MPI_File_seek(file, at, MPI_SEEK_SET));
    memset(back, 0, sizeof back);
    CHECK_MPI(MPI_File_read(file, back, N / 2, MPI_INT, &status));
    CHECK_MPI(MPI_File_read(file, back + N / 2, N - N / 2, MPI_INT, &status));
    same(N);
    CHECK_MPI(MPI_File_get_position(file, &position));
    CHECK_EQ(position, at + N * (MPI_Offset)sizeof(int));
    CHECK_MPI(MPI_File_seek(file, -4, MPI_SEEK_CUR));
    CHECK_MPI(MPI_File_get_position(file, &position));
    CHECK_EQ(position, at + N * (MPI_Offset)sizeof(int) - 4);
    CHECK_CLASS(MPI_File_seek(file, -1, MPI_SEEK_SET), MPI_ERR_ARG);
    CHECK_CLASS(MPI_File_seek(file, 0, 12345), MPI_ERR_ARG);
    MPI_Barrier(MPI_COMM_WORLD);
    /* Behind the end there is nothing, at it less than asked for. */
    MPI_Offset end = (MPI_Offset)check_size * N * (MPI_Offset)sizeof(int);
    CHECK_MPI(MPI_File_seek(file, -8, MPI_SEEK_END));
    CHECK_MPI(MPI_File_get_position(file, &position));
    CHECK_EQ(position, end - 8);
    CHECK_MPI(MPI_File_read(file, back, 10, MPI_INT, &status));
    count_is(&status, MPI_INT, 2);
    CHECK_MPI(MPI_File_read_at(file, end + 1000, back, 10, MPI_INT, &status));
    count_is(&status, MPI_INT, 0);
    CHECK_CLASS(MPI_File_read_at(file, -4, back, 10, MPI_INT, &status), MPI_ERR_ARG);
    CHECK_MPI(MPI_File_close(&file));
}

static void views(void)
{
    MPI_File file = io_open(MPI_MODE_RDWR);
    MPI_Datatype vector, column, etype, filetype;
    MPI_Offset disp, bytes, position;
    MPI_Status status;
    char datarep[MPI_MAX_DATAREP_STRING];
    CHECK_MPI(MPI_File_set_size(file, 0));
    MPI_Type_vector(N, 1, check_size, MPI_INT, &vector);
    MPI_Type_create_resized(vector, 0, (MPI_Aint)N * check_size * 4, &column);
    MPI_Type_free(&vector);
    MPI_Type_commit(&column);
    CHECK_MPI(MPI_File_set_view(file, (MPI_Offset)check_rank * 4 + 8, MPI_INT, column, "native", MPI_INFO_NULL));
    fill((long)check_rank * 31);
    CHECK_MPI(MPI_File_write(file, data, N, MPI_INT, &status));
    count_is(&status, MPI_INT, N);
    CHECK_MPI(MPI_File_get_position(file, &position));
    CHECK_EQ(position, N);
    CHECK_MPI(MPI_File_get_byte_offset(file, 3, &bytes));
    CHECK_EQ(bytes, 8 + (check_rank + 3 * check_size) * 4);
    /* Memory with holes, too: every other int. */
    static int sparse[2 * N];
    MPI_Datatype half;
    MPI_Type_vector(N, 1, 2, MPI_INT, &half);
    MPI_Type_commit(&half);
    CHECK_MPI(MPI_File_read_at(file, 0, sparse, 1, half, &status));
    for (int i = 0; i < N; i++) back[i] = sparse[2 * i];
    same(N);
    CHECK_MPI(MPI_File_get_view(file, &disp, &etype, &filetype, datarep));
    CHECK_EQ(disp, check_rank * 4 + 8);
    CHECK(etype == MPI_INT && strcmp(datarep, "native") == 0);
    int integers, addresses, types, combiner;
    MPI_Type_get_envelope(filetype, &integers, &addresses, &types, &combiner);
    CHECK_EQ(combiner, MPI_COMBINER_RESIZED);
    MPI_Type_free(&filetype);
    CHECK_CLASS(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "nonsense", MPI_INFO_NULL), MPI_ERR_UNSUPPORTED_DATAREP);
    CHECK_CLASS(MPI_File_set_view(file, 0, MPI_INT, MPI_SHORT, "native", MPI_INFO_NULL), MPI_ERR_TYPE);
    CHECK_CLASS(MPI_File_set_view(file, -5, MPI_INT, MPI_INT, "native", MPI_INFO_NULL), MPI_ERR_ARG);
    /* The old view is still there; three bytes are no whole etype. */
    CHECK_CLASS(MPI_File_read_at(file, 0, back, 3, MPI_CHAR, &status), MPI_ERR_TYPE);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_MPI(MPI_File_seek(file, 0, MPI_SEEK_END));
    CHECK_MPI(MPI_File_get_position(file, &position));
    CHECK_EQ(position, N);
    /* Bytes in the order of external32: the first one is the highest. */
    unsigned char raw[4];
    CHECK_MPI(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "external32", MPI_INFO_NULL));
    data[0] = 0x01020304 + check_rank;
    CHECK_MPI(MPI_File_write_at(file, check_rank, data, 1, MPI_INT, &status));
    CHECK_MPI(MPI_File_read_at(file, check_rank, back, 1, MPI_INT, &status));
    count_is(&status, MPI_INT, 1);
    same(1);
    CHECK_MPI(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
    CHECK_MPI(MPI_File_read_at(file, check_rank * 4, raw, 4, MPI_BYTE, &status));
    CHECK(raw[0] == 1 && raw[1] == 2 && raw[3] == 4 + check_rank);
    MPI_Type_free(&half);
    MPI_Type_free(&column);
    CHECK_MPI(MPI_File_close(&file));
}

/* A device that is always full: what was not written is an error on the rank that wrote it. */
static void full(void)
{
    MPI_File file;
    if (access("/dev/full", W_OK) != 0) return;
    CHECK_MPI(MPI_File_open(MPI_COMM_WORLD, "/dev/full", MPI_MODE_WRONLY, MPI_INFO_NULL, &file));
    CHECK_CLASS(MPI_File_write_at_all(file, 0, data, N, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_NO_SPACE);
    CHECK_CLASS(MPI_File_write(file, data, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_NO_SPACE);
    CHECK_MPI(MPI_File_close(&file));
}

static int handled;

/* A header and a subarray behind it, as PnetCDF writes: the subarray's bounds are those of the whole, so a
 * second copy would overlap the first. Inside the first all is well. */
static void marked_bounds(void)
{
    enum { HEADER = 512, ROW = 6, ROWS = 4 };
    MPI_File file = io_open(MPI_MODE_RDWR);
    MPI_Datatype sub, whole;
    int sizes[2] = {ROWS, ROW * check_size}, counts[2] = {ROWS, ROW}, starts[2] = {0, ROW * check_rank}, lengths[2] = {HEADER, 1};
    MPI_Aint at[2] = {0, HEADER}, lb, extent;
    MPI_Offset position;
    CHECK_MPI(MPI_File_set_size(file, 0));
    MPI_Type_create_subarray(2, sizes, counts, starts, MPI_ORDER_C, MPI_INT, &sub);
    MPI_Type_create_struct(2, lengths, at, (MPI_Datatype[]){MPI_BYTE, sub}, &whole);
    MPI_Type_commit(&whole);
    MPI_Type_get_extent(whole, &lb, &extent);
    CHECK_EQ(lb, HEADER);
    CHECK_EQ(extent, (long)sizeof(int) * ROWS * ROW * check_size);
    CHECK_MPI(MPI_File_set_view(file, 0, MPI_BYTE, whole, "native", MPI_INFO_NULL));
    fill((long)check_rank * 100);
    CHECK_MPI(MPI_File_write_at_all(file, HEADER, data, ROWS * ROW, MPI_INT, MPI_STATUS_IGNORE));
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_MPI(MPI_File_read_at_all(file, HEADER, back, ROWS * ROW, MPI_INT, MPI_STATUS_IGNORE));
    same(ROWS * ROW);
    CHECK_CLASS(MPI_File_read_at(file, HEADER, back, ROWS * ROW + 1, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_TYPE);
    CHECK_MPI(MPI_File_seek(file, 0, MPI_SEEK_END));
    CHECK_MPI(MPI_File_get_position(file, &position));
    CHECK_EQ(position, HEADER + (long)sizeof(int) * ROWS * ROW);
    CHECK_MPI(MPI_File_set_view(file, HEADER, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    for (int row = 0; row < ROWS; row++) {
        CHECK_MPI(MPI_File_read_at(file, (row * check_size + check_rank) * ROW, back, ROW, MPI_INT, MPI_STATUS_IGNORE));
        CHECK(memcmp(back, data + row * ROW, ROW * sizeof(int)) == 0);
    }
    MPI_Type_free(&whole);
    MPI_Type_free(&sub);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_MPI(MPI_File_close(&file));
}

/* Ranks that have nothing to write set a view without data, and take part. */
static void views_without_data(void)
{
    MPI_File file = io_open(MPI_MODE_RDWR);
    MPI_Datatype mine;
    MPI_Status status;
    int length = check_rank == 0 ? 4 : 0, ints = check_rank == 0;
    MPI_Aint at = 516;
    CHECK_MPI(MPI_File_set_size(file, 0));
    MPI_Type_create_hindexed(1, &length, &at, MPI_BYTE, &mine);
    MPI_Type_commit(&mine);
    CHECK_MPI(MPI_File_set_view(file, 0, MPI_BYTE, mine, "native", MPI_INFO_NULL));
    fill(77);
    CHECK_MPI(MPI_File_write_at_all(file, 0, data, ints, MPI_INT, &status));
    count_is(&status, MPI_INT, ints);
    if (check_rank > 0)
        CHECK_CLASS(MPI_File_read_at(file, 0, back, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_TYPE);
    CHECK_MPI(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_MPI(MPI_File_read_at_all(file, 516, back, 1, MPI_INT, MPI_STATUS_IGNORE));
    same(1);
    MPI_Type_free(&mine);
    CHECK_MPI(MPI_File_close(&file));
}

static void handler(MPI_File *file, int *code, ...)
{
    (void)file;
    (void)code;
    handled++;
}

static void others(void)
{
    MPI_File file = io_open(MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE);
    MPI_Errhandler mine, found;
    MPI_Info info;
    MPI_Aint extent;
    int flag = 7, there = 0;
    char value[64];
    CHECK_MPI(MPI_File_get_atomicity(file, &flag));
    CHECK_EQ(flag, 0);
    CHECK_MPI(MPI_File_set_atomicity(file, 1));
    CHECK_MPI(MPI_File_get_atomicity(file, &flag));
    CHECK_EQ(flag, 1);
    fill(3);
    CHECK_MPI(MPI_File_write_at(file, (MPI_Offset)check_rank * sizeof data, data, N, MPI_INT, MPI_STATUS_IGNORE));
    CHECK_MPI(MPI_File_read_at(file, (MPI_Offset)check_rank * sizeof data, back, N, MPI_INT, MPI_STATUS_IGNORE));
    same(N);
    CHECK_MPI(MPI_File_get_type_extent(file, MPI_DOUBLE, &extent));
    CHECK_EQ(extent, 8);
    MPI_Info_create(&info);
    MPI_Info_set(info, "cb_nodes", "2");
    MPI_Info_set(info, "nobody_knows", "this");
    CHECK_MPI(MPI_File_set_info(file, info));
    MPI_Info_free(&info);
    CHECK_MPI(MPI_File_get_info(file, &info));
    MPI_Info_get(info, "cb_nodes", 63, value, &there);
    CHECK(there && strcmp(value, "2") == 0);
    MPI_Info_free(&info);
    MPI_File_create_errhandler(handler, &mine);
    CHECK_MPI(MPI_File_set_errhandler(file, mine));
    CHECK_MPI(MPI_File_get_errhandler(file, &found));
    CHECK(found == mine);
    MPI_File_seek(file, 0, 999);
    CHECK_EQ(handled, 1);
    MPI_Errhandler_free(&found);
    MPI_Errhandler_free(&mine);
    CHECK_MPI(MPI_File_close(&file));
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_CLASS(MPI_File_delete(io_name, MPI_INFO_NULL), MPI_ERR_NO_SUCH_FILE);
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    io_make_name("basic");
    modes();
    sizes();
    offsets();
    views();
    marked_bounds();
    views_without_data();
    full();
    others();
    return check_finish();
}
