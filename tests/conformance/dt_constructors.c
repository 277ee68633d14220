/* MPI 5.0, 5.1.2 "Datatype Constructors": contiguous, vector, hvector, indexed, hindexed,
 * indexed_block, hindexed_block, struct, dup, resized, with negative strides and displacements,
 * and nesting, against typemaps told by hand. */
#include "dt.h"

static MPI_Aint map[DT_ROOM / 4];

static void vectors(void)
{
    MPI_Datatype t;
    static const int cases[][3] = { { 4, 2, 5 }, { 3, 1, 1 }, { 1, 7, 3 }, { 5, 2, -3 },
                                    { 0, 2, 3 }, { 40, 3, 7 } };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        int count = cases[c][0], block = cases[c][1], stride = cases[c][2], n = 0;
        MPI_Aint low = 0, high = 0;
        for (int i = 0; i < count; i++)
            for (int k = 0; k < block; k++) {
                map[n] = 4 * (i * stride + k);
                low = n == 0 || map[n] < low ? map[n] : low;
                high = n == 0 || map[n] + 4 > high ? map[n] + 4 : high;
                n++;
            }
        CHECK_MPI(MPI_Type_vector(count, block, stride, MPI_INT, &t));
        dt_check_free(t, map, n, low, high - low, 3);
        CHECK_MPI(MPI_Type_create_hvector(count, block, 4 * stride, MPI_INT, &t));
        dt_check_free(t, map, n, low, high - low, 2);
    }
    for (int i = 0; i < 50; i++)
        map[i] = 4 * i;
    CHECK_MPI(MPI_Type_contiguous(50, MPI_INT, &t));
    dt_check_free(t, map, 50, 0, 200, 7);
    CHECK_MPI(MPI_Type_contiguous(0, MPI_INT, &t));
    dt_check_free(t, map, 0, 0, 0, 7);
    /* An hvector whose stride is no multiple of the item. */
    for (int i = 0; i < 6; i++)
        map[i] = 10 * i;
    /* By 5.1.6 the extent is rounded up to the alignment, 56; MPICH does so for structs only. */
    MPI_Datatype uneven;
    CHECK_MPI(MPI_Type_create_hvector(6, 1, 10, MPI_INT, &uneven));
    CHECK_MPI(MPI_Type_create_resized(uneven, 0, 54, &t));
    CHECK_MPI(MPI_Type_free(&uneven));
    dt_check_free(t, map, 6, 0, 54, 3);
}

static void indexed(void)
{
    MPI_Datatype t;
    int lengths[4] = { 2, 0, 3, 1 }, places[4] = { 6, 20, 0, -4 }, n = 0;
    MPI_Aint bytes[4], fixed[3] = { 40, 0, 16 };
    for (int i = 0; i < 4; i++) {
        bytes[i] = 4 * places[i];
        for (int k = 0; k < lengths[i]; k++)
            map[n++] = 4 * (places[i] + k);
    }
    CHECK_MPI(MPI_Type_indexed(4, lengths, places, MPI_INT, &t));
    dt_check_free(t, map, n, -16, 48, 3);
    CHECK_MPI(MPI_Type_create_hindexed(4, lengths, bytes, MPI_INT, &t));
    dt_check_free(t, map, n, -16, 48, 3);
    int blocks[3] = { 10, 0, 4 };
    n = 0;
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 2; k++)
            map[n++] = fixed[i] + 4 * k;
    CHECK_MPI(MPI_Type_create_indexed_block(3, 2, blocks, MPI_INT, &t));
    dt_check_free(t, map, n, 0, 48, 4);
    CHECK_MPI(MPI_Type_create_hindexed_block(3, 2, fixed, MPI_INT, &t));
    dt_check_free(t, map, n, 0, 48, 4);
}

static void structs(void)
{
    MPI_Datatype pair, t, types[3];
    int lengths[3] = { 1, 2, 1 };
    MPI_Aint places[3] = { 100, 0, 60 };
    CHECK_MPI(MPI_Type_vector(2, 1, 3, MPI_INT, &pair)); /* 0, 12: extent 16 */
    types[0] = types[2] = MPI_INT;
    types[1] = pair;
    const MPI_Aint want[] = { 100, 0, 12, 16, 28, 60 };
    CHECK_MPI(MPI_Type_create_struct(3, lengths, places, types, &t));
    dt_check_free(t, want, 6, 0, 104, 3);
    /* A struct of a padded type keeps the alignment's padding: int and char -> 8 bytes. */
    struct { int a; char b; } sample[2];
    MPI_Datatype mixed;
    MPI_Aint lb, extent, true_lb, true_extent;
    int ones[2] = { 1, 1 };
    MPI_Aint at[2] = { 0, 4 };
    MPI_Datatype parts[2] = { MPI_INT, MPI_CHAR };
    CHECK_MPI(MPI_Type_create_struct(2, ones, at, parts, &mixed));
    CHECK_MPI(MPI_Type_get_extent(mixed, &lb, &extent));
    CHECK_EQ(lb, 0);
    CHECK_EQ(extent, sizeof sample[0]);
    CHECK_MPI(MPI_Type_get_true_extent(mixed, &true_lb, &true_extent));
    CHECK_EQ(true_lb, 0);
    CHECK_EQ(true_extent, 5);
    CHECK_MPI(MPI_Type_free(&mixed));
    CHECK_MPI(MPI_Type_free(&pair));
}

static void resized_and_nested(void)
{
    MPI_Datatype v, r, t, d;
    const MPI_Aint two[] = { 0, 12 };
    CHECK_MPI(MPI_Type_vector(2, 1, 3, MPI_INT, &v));
    CHECK_MPI(MPI_Type_create_resized(v, 0, 4, &r));
    CHECK_MPI(MPI_Type_dup(r, &d));
    CHECK_MPI(MPI_Type_free(&v)); /* a derived type lives on without its parent */
    dt_check_free(d, two, 2, 0, 4, 3);
    MPI_Aint true_lb = -1, true_extent = -1;
    CHECK_MPI(MPI_Type_get_true_extent(r, &true_lb, &true_extent));
    CHECK_EQ(true_lb, 0);
    CHECK_EQ(true_extent, 16);
    /* Contiguous of the interleaved type: 0 12 4 16 8 20. */
    const MPI_Aint interleaved[] = { 0, 12, 4, 16, 8, 20 };
    CHECK_MPI(MPI_Type_contiguous(3, r, &t));
    dt_check_free(t, interleaved, 6, 0, 12, 2);
    CHECK_MPI(MPI_Type_free(&r));
    /* Lower bound above and below the data. */
    const MPI_Aint one[] = { 0 };
    CHECK_MPI(MPI_Type_create_resized(MPI_INT, -8, 24, &t));
    dt_check_free(t, one, 1, -8, 24, 5);
    CHECK_MPI(MPI_Type_create_resized(MPI_INT, 8, 16, &t));
    dt_check_free(t, one, 1, 8, 16, 5);
    /* Negative extent: items go backwards. */
    CHECK_MPI(MPI_Type_create_resized(MPI_INT, 0, -12, &t));
    dt_check_free(t, one, 1, 0, -12, 5);
    /* Four levels: a vector of a vector of a resized contiguous. */
    MPI_Datatype c, w;
    CHECK_MPI(MPI_Type_contiguous(2, MPI_INT, &c));
    CHECK_MPI(MPI_Type_create_resized(c, 0, 12, &r));
    CHECK_MPI(MPI_Type_vector(3, 1, 2, r, &v));          /* 0 24 48, each two ints: extent 60 */
    CHECK_MPI(MPI_Type_create_hvector(2, 2, 200, v, &w)); /* at 0, 60, 200, 260 */
    int n = 0;
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < 6; k++)
            map[n++] = i / 2 * 200 + i % 2 * 60 + k / 2 * 24 + k % 2 * 4;
    dt_check_free(w, map, n, 0, 320, 3);
    CHECK_MPI(MPI_Type_free(&c));
    CHECK_MPI(MPI_Type_free(&r));
    CHECK_MPI(MPI_Type_free(&v));
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    vectors();
    indexed();
    structs();
    resized_and_nested();
    return check_finish();
}
