/* Files: collective access of random pieces against a model in memory, with and without gathering; shared
 * pointers, ordered and split calls. */
#include "io.h"

#define ELEMENTS 5000

static unsigned state;

static unsigned below(unsigned n)
{
    state = state * 1664525u + 1013904223u;
    return (state >> 8) % n;
}

/* All elements of the file are dealt out at random to the ranks (all ranks draw the same), each writes its
 * own, and everybody looks at the whole file. */
static void dealt(const char *gather, const char *aggregators, unsigned seed)
{
    MPI_Info info;
    MPI_File file;
    MPI_Datatype type;
    MPI_Status status;
    int count = 0, got = -1;
    static int places[ELEMENTS], mine[ELEMENTS], back[ELEMENTS], whole[ELEMENTS], lengths[ELEMENTS];
    state = seed;
    for (int i = 0; i < ELEMENTS;) {
        int owner = (int)below((unsigned)check_size), run = 1 + (int)below(seed % 2 ? 3 : seed % 4 ? 200 : 1500);
        for (; run > 0 && i < ELEMENTS; run--, i++)
            if (owner == check_rank) places[count++] = i;
    }
    for (int i = 0; i < count; i++) {
        lengths[i] = 1;
        mine[i] = io_value(places[i] + (long)seed);
    }
    MPI_Info_create(&info);
    MPI_Info_set(info, "romio_cb_write", gather);
    MPI_Info_set(info, "romio_cb_read", gather);
    MPI_Info_set(info, "cb_nodes", aggregators);
    MPI_Info_set(info, "cb_buffer_size", "4096");
    CHECK_MPI(MPI_File_open(MPI_COMM_WORLD, io_name, MPI_MODE_RDWR | MPI_MODE_CREATE, info, &file));
    MPI_Info_free(&info);
    CHECK_MPI(MPI_File_set_size(file, 0));
    MPI_Type_indexed(count, lengths, places, MPI_INT, &type);
    MPI_Type_commit(&type);
    /* A rank that got nothing keeps the plain view. */
    CHECK_MPI(MPI_File_set_view(file, 12, MPI_INT, count ? type : MPI_INT, "native", MPI_INFO_NULL));
    if (seed % 4 == 0) {
        /* From memory with holes. */
        static int spread[2 * ELEMENTS];
        MPI_Datatype spaced;
        for (int i = 0; i < count; i++) spread[2 * i] = mine[i];
        MPI_Type_vector(count, 1, 2, MPI_INT, &spaced);
        MPI_Type_commit(&spaced);
        CHECK_MPI(MPI_File_write_all(file, spread, 1, spaced, &status));
        MPI_Type_free(&spaced);
    } else {
        CHECK_MPI(MPI_File_write_all(file, mine, count, MPI_INT, &status));
    }
    MPI_Get_count(&status, MPI_INT, &got);
    CHECK_EQ(got, count);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_MPI(MPI_File_seek(file, 0, MPI_SEEK_SET));
    CHECK_MPI(MPI_File_read_all(file, back, count, MPI_INT, &status));
    MPI_Get_count(&status, MPI_INT, &got);
    CHECK_EQ(got, count);
    CHECK(memcmp(mine, back, (size_t)count * sizeof(int)) == 0);
    CHECK_MPI(MPI_File_set_view(file, 12, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    CHECK_MPI(MPI_File_read_at_all(file, 0, whole, ELEMENTS, MPI_INT, &status));
    MPI_Get_count(&status, MPI_INT, &got);
    CHECK_EQ(got, ELEMENTS);
    for (int i = 0; i < ELEMENTS; i++)
        if (whole[i] != io_value(i + (long)seed)) {
            CHECK_EQ(whole[i], io_value(i + (long)seed));
            break;
        }
    /* Reads that end in the middle of the file. */
    CHECK_MPI(MPI_File_read_at_all(file, ELEMENTS - 10 + check_rank, whole, 100, MPI_INT, &status));
    MPI_Get_count(&status, MPI_INT, &got);
    CHECK_EQ(got, 10 - check_rank);
    /* Split calls. */
    memset(back, 0, sizeof back);
    CHECK_MPI(MPI_File_set_view(file, 12, MPI_INT, count ? type : MPI_INT, "native", MPI_INFO_NULL));
    CHECK_MPI(MPI_File_write_at_all_begin(file, 0, mine, count, MPI_INT));
    CHECK_CLASS(MPI_File_write_all_end(file, mine, &status), MPI_ERR_OTHER);
    CHECK_MPI(MPI_File_write_at_all_end(file, mine, &status));
    CHECK_MPI(MPI_File_read_all_begin(file, back, count, MPI_INT));
    CHECK_MPI(MPI_File_read_all_end(file, back, &status));
    CHECK(memcmp(mine, back, (size_t)count * sizeof(int)) == 0);
    MPI_Type_free(&type);
    CHECK_MPI(MPI_File_close(&file));
}

/* Every rank takes what comes next; together that is everything, once. */
static void shared(void)
{
    enum { EACH = 50 };
    MPI_File file = io_open(MPI_MODE_RDWR);
    MPI_Offset position = -1;
    MPI_Status status;
    int seen[8 * EACH] = { 0 }, all[8 * EACH], value, n = check_size * EACH;
    CHECK_MPI(MPI_File_set_size(file, 0));
    CHECK_MPI(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    for (int i = 0; i < EACH; i++) {
        value = check_rank * EACH + i;
        CHECK_MPI(MPI_File_write_shared(file, &value, 1, MPI_INT, &status));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_MPI(MPI_File_get_position_shared(file, &position));
    CHECK_EQ(position, n);
    CHECK_MPI(MPI_File_seek_shared(file, 0, MPI_SEEK_SET));
    for (int i = 0; i < EACH; i++) {
        CHECK_MPI(MPI_File_read_shared(file, &value, 1, MPI_INT, &status));
        if (value >= 0 && value < n) seen[value]++;
    }
    MPI_Allreduce(seen, all, n, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < n; i++) CHECK_EQ(all[i], 1);
    /* In the order of ranks, each with another number of elements. */
    int mine[8], back[8] = { 0 };
    for (int i = 0; i < 8; i++) mine[i] = check_rank * 100 + i;
    CHECK_MPI(MPI_File_seek_shared(file, 10, MPI_SEEK_SET));
    CHECK_MPI(MPI_File_write_ordered(file, mine, check_rank + 1, MPI_INT, &status));
    CHECK_MPI(MPI_File_get_position_shared(file, &position));
    CHECK_EQ(position, 10 + check_size * (check_size + 1) / 2);
    CHECK_MPI(MPI_File_seek_shared(file, 10, MPI_SEEK_SET));
    CHECK_MPI(MPI_File_read_ordered_begin(file, back, check_rank + 1, MPI_INT));
    CHECK_MPI(MPI_File_read_ordered_end(file, back, &status));
    CHECK(memcmp(mine, back, (size_t)(check_rank + 1) * sizeof(int)) == 0);
    CHECK_MPI(MPI_File_close(&file));
    /* The file's end is where it begins. */
    file = io_open(MPI_MODE_WRONLY | MPI_MODE_APPEND | MPI_MODE_SEQUENTIAL | MPI_MODE_DELETE_ON_CLOSE);
    CHECK_MPI(MPI_File_get_position_shared(file, &position));
    CHECK_EQ(position, n * 4);
    CHECK_CLASS(MPI_File_write_at(file, 0, mine, 1, MPI_INT, &status), MPI_ERR_UNSUPPORTED_OPERATION);
    CHECK_MPI(MPI_File_close(&file));
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    io_make_name("together");
    const char *ways[] = { "automatic", "enable", "disable" };
    for (unsigned seed = 0; seed < 12; seed++) dealt(ways[seed % 3], seed % 5 ? "0" : "3", seed + 1);
    shared();
    return check_finish();
}
