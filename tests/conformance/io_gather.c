/* Files: long collective writes of pieces that are dealt out at random. They cover a range of the file without a hole, or leave
 * holes in which the file stays as it was; several of them, with and without MPI_File_sync, and with windows of other sizes. */
#include "io.h"

enum { BYTES = 5 * 600 * 1024 + 77, FIRST = 4099, ALL = FIRST + BYTES + 5000 };

static unsigned state;
static unsigned char *mine, *spread, *file_bytes, *wanted;
static int *places, *lengths;

static unsigned below(unsigned n)
{
    state = state * 1664525u + 1013904223u;
    return (state >> 8) % n;
}

/* All ranks draw the same. What belongs to nobody is a hole. Returns the number of this rank's pieces, and their bytes. */
static int deal(unsigned seed, int holes, int longest, int *bytes)
{
    int pieces = 0;
    *bytes = 0;
    state = seed;
    for (int at = 0; at < BYTES;) {
        int owner = (int)below((unsigned)(check_size + holes)), len = 1 + (int)below((unsigned)longest);
        len = len < BYTES - at ? len : BYTES - at;
        for (int i = at; owner < check_size && i < at + len; i++)
            wanted[FIRST + i] = (unsigned char)io_value(i + (long)seed);
        if (owner == check_rank) {
            for (int i = 0; i < len; i++)
                mine[*bytes + i] = wanted[FIRST + at + i];
            places[pieces] = at;
            lengths[pieces++] = len;
            *bytes += len;
        }
        at += len;
    }
    return pieces;
}

static void write_and_look(MPI_File file, unsigned seed, int holes, int longest)
{
    MPI_Status status;
    MPI_Datatype pieces, spaced;
    int bytes, got = -1, count = deal(seed, holes, longest, &bytes);
    MPI_Type_indexed(count, lengths, places, MPI_BYTE, &pieces);
    MPI_Type_commit(&pieces);
    CHECK_MPI(MPI_File_set_view(file, FIRST, MPI_BYTE, count ? pieces : MPI_BYTE, "native", MPI_INFO_NULL));
    MPI_Type_free(&pieces);
    if (seed % 2) {
        CHECK_MPI(MPI_File_write_at_all(file, 0, mine, bytes, MPI_BYTE, &status));
    } else {
        /* From memory with holes. */
        for (int i = 0; i < bytes; i++)
            spread[2 * i] = mine[i];
        MPI_Type_vector(bytes, 1, 2, MPI_BYTE, &spaced);
        MPI_Type_commit(&spaced);
        CHECK_MPI(MPI_File_write_at_all(file, 0, spread, 1, spaced, &status));
        MPI_Type_free(&spaced);
    }
    MPI_Get_count(&status, MPI_BYTE, &got);
    CHECK_EQ(got, bytes);
    if (seed % 3)
        CHECK_MPI(MPI_File_sync(file));
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_MPI(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
    CHECK_MPI(MPI_File_read_at(file, 0, file_bytes, ALL, MPI_BYTE, &status));
    MPI_Get_count(&status, MPI_BYTE, &got);
    CHECK_EQ(got, ALL);
    for (int i = 0; i < ALL; i++)
        if (file_bytes[i] != wanted[i]) {
            CHECK_EQ(i, -1); /* the first byte that is wrong */
            CHECK_EQ(file_bytes[i], wanted[i]);
            break;
        }
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    io_make_name("gather");
    mine = malloc(BYTES);
    spread = malloc(2 * (size_t)BYTES);
    file_bytes = malloc(ALL);
    wanted = malloc(ALL);
    places = malloc(BYTES * sizeof *places);
    lengths = malloc(BYTES * sizeof *lengths);
    memset(wanted, 'o', ALL);
    MPI_File file = io_open(MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE);
    if (check_rank == 0)
        CHECK_MPI(MPI_File_write_at(file, 0, wanted, ALL, MPI_BYTE, MPI_STATUS_IGNORE));
    MPI_Barrier(MPI_COMM_WORLD);
    for (unsigned seed = 1; seed <= 12; seed++) {
        if (seed == 5 || seed == 9) {
            MPI_Info info;
            MPI_Info_create(&info);
            MPI_Info_set(info, "cb_buffer_size", seed == 5 ? "70000" : "4194304");
            CHECK_MPI(MPI_File_set_info(file, info));
            MPI_Info_free(&info);
        }
        write_and_look(file, seed, seed % 4 == 3, seed % 4 == 0 ? 20000 : 1500);
    }
    CHECK_MPI(MPI_File_close(&file));
    free(mine), free(spread), free(file_bytes), free(wanted), free(places), free(lengths);
    check_finish();
    return 0;
}
