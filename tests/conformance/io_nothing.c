/* Ranks that have nothing to write or read, and no buffer for it, beside others that have: in every form of access. */
#include "io.h"

enum { PIECES = 64, PIECE = 3 };

/* A view whose pieces lie apart, of rank `rank`; with `dense` those of all ranks leave no hole. */
static void set_view(MPI_File file, int rank, int dense)
{
    MPI_Datatype pieces;
    int apart = PIECE * check_size + (dense ? 0 : 5);
    CHECK_MPI(MPI_Type_vector(PIECES, PIECE, apart, MPI_INT, &pieces));
    CHECK_MPI(MPI_Type_commit(&pieces));
    CHECK_MPI(MPI_File_set_view(file, (MPI_Offset)rank * PIECE * 4, MPI_INT, pieces, "native", MPI_INFO_NULL));
    CHECK_MPI(MPI_Type_free(&pieces));
}

static void moved(MPI_Status *status, int count)
{
    int got = -1;
    CHECK_MPI(MPI_Get_count(status, MPI_INT, &got));
    CHECK_EQ(got, count);
}

/* `count` is 0 and the buffer null at the ranks that have nothing. */
static void all_forms(MPI_File file, int *data, int *back, int count)
{
    MPI_Status status;
    MPI_Request request;
    CHECK_MPI(MPI_File_write_at_all(file, 0, data, count, MPI_INT, &status));
    moved(&status, count);
    CHECK_MPI(MPI_File_sync(file));
    CHECK_MPI(MPI_Barrier(MPI_COMM_WORLD));
    CHECK_MPI(MPI_File_read_at_all(file, 0, back, count, MPI_INT, &status));
    moved(&status, count);
    CHECK_MPI(MPI_File_seek(file, 0, MPI_SEEK_SET));
    CHECK_MPI(MPI_File_write_all(file, data, count, MPI_INT, &status));
    CHECK_MPI(MPI_File_seek(file, 0, MPI_SEEK_SET));
    CHECK_MPI(MPI_File_read_all(file, back, count, MPI_INT, &status));
    CHECK_MPI(MPI_File_write_at_all_begin(file, 0, data, count, MPI_INT));
    CHECK_MPI(MPI_File_write_at_all_end(file, data, &status));
    moved(&status, count);
    CHECK_MPI(MPI_File_read_at_all_begin(file, 0, back, count, MPI_INT));
    CHECK_MPI(MPI_File_read_at_all_end(file, back, &status));
    CHECK_MPI(MPI_File_iwrite_at_all(file, 0, data, count, MPI_INT, &request));
    CHECK_MPI(MPI_Wait(&request, &status));
    moved(&status, count);
    CHECK_MPI(MPI_File_iread_at_all(file, 0, back, count, MPI_INT, &request));
    CHECK_MPI(MPI_Wait(&request, &status));
    CHECK_MPI(MPI_File_write_at(file, 0, data, count, MPI_INT, &status));
    CHECK_MPI(MPI_File_read_at(file, 0, back, count, MPI_INT, &status));
    CHECK_MPI(MPI_File_iwrite_at(file, 0, data, count, MPI_INT, &request));
    CHECK_MPI(MPI_Wait(&request, &status));
    CHECK_MPI(MPI_File_iread_at(file, 0, back, count, MPI_INT, &request));
    CHECK_MPI(MPI_Wait(&request, &status));
    for (int i = 0; i < count; i++)
        CHECK_EQ(back[i], data[i]);
}

/* All pieces of the ranks follow each other at the shared pointer. */
static void ordered(int *data, int *back, int count)
{
    MPI_Status status;
    MPI_Offset end = -1;
    int all;
    MPI_File file = io_open(MPI_MODE_RDWR);
    CHECK_MPI(MPI_Allreduce(&count, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    CHECK_MPI(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    CHECK_MPI(MPI_File_write_ordered(file, data, count, MPI_INT, &status));
    moved(&status, count);
    CHECK_MPI(MPI_File_seek_shared(file, 0, MPI_SEEK_SET));
    CHECK_MPI(MPI_File_read_ordered(file, back, count, MPI_INT, &status));
    moved(&status, count);
    CHECK_MPI(MPI_File_get_position_shared(file, &end));
    CHECK_EQ(end, all);
    CHECK_MPI(MPI_Barrier(MPI_COMM_WORLD));
    CHECK_MPI(MPI_File_write_shared(file, data, count, MPI_INT, &status));
    moved(&status, count);
    for (int i = 0; i < count; i++)
        CHECK_EQ(back[i], data[i]);
    CHECK_MPI(MPI_File_close(&file));
}

int main(int argc, char **argv)
{
    static int data[PIECES * PIECE], back[PIECES * PIECE];
    check_init(&argc, &argv);
    for (int i = 0; i < PIECES * PIECE; i++)
        data[i] = io_value(check_rank * 1000 + i);
    io_make_name("nothing");
    /* The last rank, the first one, all but the last, and all. */
    for (int who = 0; who < 4; who++) {
        int last = check_rank == check_size - 1;
        int nothing = who == 0 ? last : who == 1 ? check_rank == 0 : who == 2 ? !last : 1;
        int count = nothing ? 0 : PIECES * PIECE;
        for (int dense = 0; dense < 2; dense++) {
            MPI_File file = io_open(MPI_MODE_RDWR | MPI_MODE_CREATE);
            set_view(file, check_rank, dense);
            all_forms(file, nothing ? NULL : data, nothing ? NULL : back, count);
            CHECK_MPI(MPI_File_close(&file));
        }
        ordered(nothing ? NULL : data, nothing ? NULL : back, count);
        CHECK_MPI(MPI_Barrier(MPI_COMM_WORLD));
    }
    if (check_rank == 0)
        CHECK_MPI(MPI_File_delete(io_name, MPI_INFO_NULL));
    return check_finish();
}
