/* MPI 5.0, 5.1.2, 5.1.7 and 5.1.13: the large-count forms of the constructors make the same types
 * as the int forms, and what they were made with comes back as large counts. */
#include "check.h"

/* Both types have the same size and bounds. */
static void same(MPI_Datatype a, MPI_Datatype b)
{
    MPI_Count sizes[2], lbs[2], extents[2], true_lbs[2], true_extents[2];
    MPI_Datatype both[2] = { a, b };
    for (int i = 0; i < 2; i++) {
        CHECK_MPI(MPI_Type_size_c(both[i], &sizes[i]));
        CHECK_MPI(MPI_Type_get_extent_c(both[i], &lbs[i], &extents[i]));
        CHECK_MPI(MPI_Type_get_true_extent_c(both[i], &true_lbs[i], &true_extents[i]));
    }
    CHECK_EQ(sizes[0], sizes[1]);
    CHECK_EQ(lbs[0], lbs[1]);
    CHECK_EQ(extents[0], extents[1]);
    CHECK_EQ(true_lbs[0], true_lbs[1]);
    CHECK_EQ(true_extents[0], true_extents[1]);
    MPI_Count lb, extent, size;
    CHECK_MPI(MPI_Type_get_extent_x(a, &lb, &extent));
    CHECK(lb == lbs[0] && extent == extents[0]);
    CHECK_MPI(MPI_Type_get_true_extent_x(a, &lb, &extent));
    CHECK(lb == true_lbs[0] && extent == true_extents[0]);
    CHECK_MPI(MPI_Type_size_x(a, &size));
    CHECK_EQ(size, sizes[0]);
}

/* Frees `small` and `large`, made by the two forms of one constructor, after a look at how the
 * second was made: with `n` ints and these large counts. */
static void check(MPI_Datatype *small, MPI_Datatype *large, int combiner, MPI_Count n,
                  MPI_Count n_large, const MPI_Count *expected)
{
    same(*small, *large);
    MPI_Count integers = -1, addresses = -1, counts = -1, types = -1, values[20];
    int found = -1, ints[20];
    MPI_Aint no_address;
    MPI_Datatype old[3];
    CHECK_MPI(MPI_Type_get_envelope_c(*large, &integers, &addresses, &counts, &types, &found));
    CHECK_EQ(found, combiner);
    CHECK_EQ(integers, n);
    CHECK_EQ(addresses, 0);
    CHECK_EQ(counts, n_large);
    CHECK(types >= 1 && types <= 3);
    CHECK_MPI(MPI_Type_get_contents_c(*large, integers, addresses, counts, types, ints,
                                      &no_address, values, old));
    for (MPI_Count i = 0; i < n_large; i++)
        CHECK_EQ(values[i], expected[i]);
    CHECK(old[0] == MPI_INT);
    /* The int form made no large counts. */
    CHECK_MPI(MPI_Type_get_envelope_c(*small, &integers, &addresses, &counts, &types, &found));
    CHECK_EQ(counts, 0);
    CHECK_MPI(MPI_Type_free(small));
    CHECK_MPI(MPI_Type_free(large));
}

static void constructors(void)
{
    MPI_Datatype s, l;
    int blocks[3] = { 2, 0, 1 }, places[3] = { 4, 9, -1 };
    MPI_Aint bytes[3] = { 16, 40, -8 };
    MPI_Count blocks_c[3] = { 2, 0, 1 }, places_c[3] = { 4, 9, -1 }, bytes_c[3] = { 16, 40, -8 };
    CHECK_MPI(MPI_Type_contiguous(5, MPI_INT, &s));
    CHECK_MPI(MPI_Type_contiguous_c(5, MPI_INT, &l));
    check(&s, &l, MPI_COMBINER_CONTIGUOUS, 0, 1, (MPI_Count[]){ 5 });
    CHECK_MPI(MPI_Type_vector(3, 2, -4, MPI_INT, &s));
    CHECK_MPI(MPI_Type_vector_c(3, 2, -4, MPI_INT, &l));
    check(&s, &l, MPI_COMBINER_VECTOR, 0, 3, (MPI_Count[]){ 3, 2, -4 });
    CHECK_MPI(MPI_Type_create_hvector(3, 2, 20, MPI_INT, &s));
    CHECK_MPI(MPI_Type_create_hvector_c(3, 2, 20, MPI_INT, &l));
    check(&s, &l, MPI_COMBINER_HVECTOR, 0, 3, (MPI_Count[]){ 3, 2, 20 });
    CHECK_MPI(MPI_Type_indexed(3, blocks, places, MPI_INT, &s));
    CHECK_MPI(MPI_Type_indexed_c(3, blocks_c, places_c, MPI_INT, &l));
    check(&s, &l, MPI_COMBINER_INDEXED, 0, 7, (MPI_Count[]){ 3, 2, 0, 1, 4, 9, -1 });
    CHECK_MPI(MPI_Type_create_hindexed(3, blocks, bytes, MPI_INT, &s));
    CHECK_MPI(MPI_Type_create_hindexed_c(3, blocks_c, bytes_c, MPI_INT, &l));
    check(&s, &l, MPI_COMBINER_HINDEXED, 0, 7, (MPI_Count[]){ 3, 2, 0, 1, 16, 40, -8 });
    CHECK_MPI(MPI_Type_create_indexed_block(3, 2, places, MPI_INT, &s));
    CHECK_MPI(MPI_Type_create_indexed_block_c(3, 2, places_c, MPI_INT, &l));
    check(&s, &l, MPI_COMBINER_INDEXED_BLOCK, 0, 5, (MPI_Count[]){ 3, 2, 4, 9, -1 });
    CHECK_MPI(MPI_Type_create_hindexed_block(3, 2, bytes, MPI_INT, &s));
    CHECK_MPI(MPI_Type_create_hindexed_block_c(3, 2, bytes_c, MPI_INT, &l));
    check(&s, &l, MPI_COMBINER_HINDEXED_BLOCK, 0, 5, (MPI_Count[]){ 3, 2, 16, 40, -8 });
    MPI_Datatype types[3] = { MPI_INT, MPI_CHAR, MPI_DOUBLE };
    CHECK_MPI(MPI_Type_create_struct(3, blocks, bytes, types, &s));
    CHECK_MPI(MPI_Type_create_struct_c(3, blocks_c, bytes_c, types, &l));
    check(&s, &l, MPI_COMBINER_STRUCT, 0, 7, (MPI_Count[]){ 3, 2, 0, 1, 16, 40, -8 });
    CHECK_MPI(MPI_Type_create_resized(MPI_INT, -4, 12, &s));
    CHECK_MPI(MPI_Type_create_resized_c(MPI_INT, -4, 12, &l));
    check(&s, &l, MPI_COMBINER_RESIZED, 0, 2, (MPI_Count[]){ -4, 12 });
}

static void arrays(void)
{
    MPI_Datatype s, l;
    int sizes[2] = { 4, 5 }, parts[2] = { 2, 3 }, starts[2] = { 1, 2 }, grid[2] = { 2, 1 };
    int deal[2] = { MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_NONE };
    int dargs[2] = { MPI_DISTRIBUTE_DFLT_DARG, MPI_DISTRIBUTE_DFLT_DARG };
    MPI_Count sizes_c[2] = { 4, 5 }, parts_c[2] = { 2, 3 }, starts_c[2] = { 1, 2 };
    CHECK_MPI(MPI_Type_create_subarray(2, sizes, parts, starts, MPI_ORDER_C, MPI_INT, &s));
    CHECK_MPI(MPI_Type_create_subarray_c(2, sizes_c, parts_c, starts_c, MPI_ORDER_C, MPI_INT, &l));
    check(&s, &l, MPI_COMBINER_SUBARRAY, 2, 6, (MPI_Count[]){ 4, 5, 2, 3, 1, 2 });
    CHECK_MPI(MPI_Type_create_darray(2, 1, 2, sizes, deal, dargs, grid, MPI_ORDER_FORTRAN, MPI_INT,
                                     &s));
    CHECK_MPI(MPI_Type_create_darray_c(2, 1, 2, sizes_c, deal, dargs, grid, MPI_ORDER_FORTRAN,
                                       MPI_INT, &l));
    check(&s, &l, MPI_COMBINER_DARRAY, 10, 2, (MPI_Count[]){ 4, 5 });
}

static void packing(void)
{
    int numbers[6] = { 1, 2, 3, 4, 5, 6 }, back[6] = { 0 };
    char buffer[100];
    MPI_Count size = -1, position = 4;
    CHECK_MPI(MPI_Pack_size_c(6, MPI_INT, MPI_COMM_WORLD, &size));
    CHECK(size >= 24);
    CHECK_MPI(MPI_Pack_c(numbers, 6, MPI_INT, buffer, 100, &position, MPI_COMM_WORLD));
    MPI_Count end = position;
    CHECK(end >= 28 && end <= 4 + size);
    position = 4;
    CHECK_MPI(MPI_Unpack_c(buffer, end, &position, back, 6, MPI_INT, MPI_COMM_WORLD));
    CHECK_EQ(position, end);
    CHECK(!memcmp(numbers, back, sizeof numbers));
    CHECK_MPI(MPI_Pack_external_size_c("external32", 6, MPI_INT, &size));
    CHECK_EQ(size, 24);
    position = 0;
    CHECK_MPI(MPI_Pack_external_c("external32", numbers, 6, MPI_INT, buffer, 24, &position));
    CHECK_EQ(position, 24);
    CHECK_EQ(buffer[3], 1);
    memset(back, 0, sizeof back);
    position = 0;
    CHECK_MPI(MPI_Unpack_external_c("external32", buffer, 24, &position, back, 6, MPI_INT));
    CHECK(!memcmp(numbers, back, sizeof numbers));
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    constructors();
    arrays();
    packing();
    /* Addresses are numbers that can be added and subtracted. */
    int pair[2];
    MPI_Aint a, b;
    CHECK_MPI(MPI_Get_address(&pair[0], &a));
    CHECK_MPI(MPI_Get_address(&pair[1], &b));
    CHECK_EQ(MPI_Aint_diff(b, a), sizeof(int));
    CHECK_EQ(MPI_Aint_add(a, sizeof(int)), b);
    /* What does not fit in an int is MPI_UNDEFINED. */
    MPI_Datatype huge;
    int size = 0;
    CHECK_MPI(MPI_Type_contiguous_c((MPI_Count)1 << 32, MPI_INT, &huge));
    CHECK_MPI(MPI_Type_size(huge, &size));
    CHECK_EQ(size, MPI_UNDEFINED);
    CHECK_MPI(MPI_Type_free(&huge));
    return check_finish();
}
