/* Files: wrong arguments of one rank in calls of all (MPI 5.0, sections 14.3 to 14.4): every rank gets an error, nobody waits,
 * and the file stays usable; accesses beyond the largest offset. */
#include "io.h"
#include <limits.h>

static int data[4] = { 1, 2, 3, 4 };

/* The last rank is wrong. */
static int wrong;

static void accesses(MPI_File file)
{
    MPI_Status status;
    MPI_Offset at = (MPI_Offset)(check_rank * 16);
    CHECK_CLASS(MPI_File_write_at_all(file, at, data, wrong ? -1 : 4, MPI_INT, &status), MPI_ERR_COUNT);
    CHECK_CLASS(MPI_File_write_at_all(file, at, wrong ? NULL : data, 4, MPI_INT, &status), MPI_ERR_BUFFER);
    CHECK_CLASS(MPI_File_write_at_all(file, wrong ? -1 : at, data, 4, MPI_INT, &status), MPI_ERR_ARG);
    CHECK_CLASS(MPI_File_write_all(file, data, 4, wrong ? MPI_DATATYPE_NULL : MPI_INT, &status), MPI_ERR_TYPE);
    CHECK_CLASS(MPI_File_read_all(file, data, wrong ? -2 : 4, MPI_INT, &status), MPI_ERR_COUNT);
    CHECK_CLASS(MPI_File_read_at_all(file, at, data, 4, wrong ? MPI_DATATYPE_NULL : MPI_INT, &status), MPI_ERR_TYPE);
    CHECK_CLASS(MPI_File_read_at_all_begin(file, at, data, wrong ? -2 : 4, MPI_INT), MPI_ERR_COUNT);
    CHECK_CLASS(MPI_File_write_ordered(file, data, wrong ? -2 : 4, MPI_INT, &status), MPI_ERR_COUNT);
    /* As if nothing had been. */
    CHECK_MPI(MPI_File_write_at_all(file, at, data, 4, MPI_INT, &status));
    int back[4] = { 0, 0, 0, 0 };
    CHECK_MPI(MPI_File_read_at_all(file, at, back, 4, MPI_INT, &status));
    CHECK(memcmp(back, data, sizeof data) == 0);
}

static void views(MPI_File file)
{
    CHECK_CLASS(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, wrong && check_size > 1 ? "external32" : "native", MPI_INFO_NULL),
                check_size > 1 ? MPI_ERR_NOT_SAME : MPI_SUCCESS);
    CHECK_CLASS(MPI_File_set_view(file, wrong ? -5 : 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL), MPI_ERR_ARG);
    CHECK_CLASS(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, wrong ? "none such" : "native", MPI_INFO_NULL), MPI_ERR_UNSUPPORTED_DATAREP);
    CHECK_CLASS(MPI_File_set_view(file, 0, MPI_INT, wrong ? MPI_DATATYPE_NULL : MPI_INT, "native", MPI_INFO_NULL), MPI_ERR_TYPE);
}

static void far_away(MPI_File file)
{
    MPI_Status status;
    MPI_Offset where;
    CHECK_CLASS(MPI_File_write_at(file, LLONG_MAX, data, 1, MPI_INT, &status), MPI_ERR_ARG);
    CHECK_MPI(MPI_File_seek(file, LLONG_MAX / 8, MPI_SEEK_SET));
    CHECK_CLASS(MPI_File_seek(file, LLONG_MAX, MPI_SEEK_CUR), MPI_ERR_ARG);
    CHECK_MPI(MPI_File_seek(file, LLONG_MAX, MPI_SEEK_SET));
    CHECK_CLASS(MPI_File_write(file, data, 4, MPI_BYTE, &status), MPI_ERR_ARG);
    /* The pointer has not moved beyond what it can be. */
    CHECK_MPI(MPI_File_get_position(file, &where));
    CHECK(where == LLONG_MAX);
    CHECK_MPI(MPI_File_set_view(file, LLONG_MAX - 3, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
    CHECK_CLASS(MPI_File_write_at(file, 0, data, 1, MPI_INT, &status), MPI_ERR_ARG);
    CHECK_CLASS(MPI_File_read_at(file, 4, data, 1, MPI_INT, &status), MPI_ERR_ARG);
    /* In etypes of 4 bytes the largest offset lies beyond the largest byte. */
    CHECK_MPI(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    CHECK_CLASS(MPI_File_get_byte_offset(file, LLONG_MAX, &where), MPI_ERR_ARG);
    CHECK_CLASS(MPI_File_write_at(file, LLONG_MAX / 2, data, 1, MPI_INT, &status), MPI_ERR_ARG);
    CHECK_MPI(MPI_File_seek_shared(file, LLONG_MAX, MPI_SEEK_SET));
    CHECK_CLASS(MPI_File_write_shared(file, data, 1, MPI_INT, &status), MPI_ERR_ARG);
    CHECK_CLASS(MPI_File_write_ordered(file, data, 1, MPI_INT, &status), MPI_ERR_ARG);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_MPI(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    wrong = check_rank == check_size - 1;
    io_make_name("one-rank-wrong");
    MPI_File file = io_open(MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE);
    accesses(file);
    views(file);
    far_away(file);
    accesses(file);
    CHECK_MPI(MPI_File_close(&file));
    return check_finish();
}
