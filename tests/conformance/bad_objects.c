/* MPI 5.0, 9.4: wrong arguments of the calls on datatypes, groups, communicators, attributes,
 * topologies and info. With the argument "strict" also those that a quick implementation may
 * leave unchecked. */
#include "check.h"

static int strict;

static void datatypes(void)
{
    MPI_Datatype t = MPI_DATATYPE_NULL;
    int size;
    CHECK_CLASS(MPI_Type_size(MPI_DATATYPE_NULL, &size), MPI_ERR_TYPE);
    CHECK_CLASS(MPI_Type_commit(&t), MPI_ERR_TYPE);
    CHECK_CLASS(MPI_Type_free(&t), MPI_ERR_TYPE);
    CHECK_CLASS(MPI_Type_contiguous(-1, MPI_INT, &t), MPI_ERR_COUNT);
    CHECK_CLASS(MPI_Type_vector(-1, 1, 1, MPI_INT, &t), MPI_ERR_COUNT);
    CHECK_CLASS(MPI_Type_contiguous(1, MPI_DATATYPE_NULL, &t), MPI_ERR_TYPE);
    CHECK(!strict ||
          MPI_Type_create_subarray(1, (int[]){ 5 }, (int[]){ 6 }, (int[]){ 0 }, MPI_ORDER_C,
                                   MPI_INT, &t) != MPI_SUCCESS);
    CHECK(!strict ||
          MPI_Type_create_subarray(1, (int[]){ 5 }, (int[]){ 3 }, (int[]){ 3 }, MPI_ORDER_C,
                                   MPI_INT, &t) != MPI_SUCCESS);
    t = MPI_INT;
    CHECK_CLASS(MPI_Type_free(&t), MPI_ERR_TYPE);
}

static void groups(void)
{
    MPI_Group world, g;
    int size;
    CHECK_MPI(MPI_Comm_group(MPI_COMM_WORLD, &world));
    CHECK_CLASS(MPI_Group_size(MPI_GROUP_NULL, &size), MPI_ERR_GROUP);
    CHECK_CLASS(MPI_Group_incl(world, 1, (int[]){ check_size }, &g), MPI_ERR_RANK);
    CHECK_CLASS(MPI_Group_incl(world, 1, (int[]){ -1 }, &g), MPI_ERR_RANK);
    CHECK_CLASS(MPI_Group_union(world, MPI_GROUP_NULL, &g), MPI_ERR_GROUP);
    CHECK(MPI_Group_range_incl(world, 1, (int[][3]){ { 0, 0, 0 } }, &g) != MPI_SUCCESS);
    CHECK_MPI(MPI_Group_free(&world));
    g = MPI_GROUP_NULL;
    CHECK_CLASS(MPI_Group_free(&g), MPI_ERR_GROUP);
}

static void communicators(void)
{
    MPI_Comm comm = MPI_COMM_NULL;
    int value, flag, key = MPI_KEYVAL_INVALID;
    void *attribute;
    CHECK_CLASS(MPI_Comm_size(MPI_COMM_NULL, &value), MPI_ERR_COMM);
    CHECK_CLASS(MPI_Comm_rank(MPI_COMM_NULL, &value), MPI_ERR_COMM);
    CHECK_CLASS(MPI_Comm_dup(MPI_COMM_NULL, &comm), MPI_ERR_COMM);
    comm = MPI_COMM_NULL;
    CHECK_CLASS(MPI_Comm_free(&comm), MPI_ERR_COMM);
    comm = MPI_COMM_WORLD;
    CHECK_CLASS(MPI_Comm_free(&comm), MPI_ERR_COMM);
    CHECK(!strict || MPI_Comm_split(MPI_COMM_SELF, -5, 0, &comm) != MPI_SUCCESS);
    CHECK_CLASS(MPI_Comm_set_attr(MPI_COMM_SELF, MPI_KEYVAL_INVALID, NULL), MPI_ERR_KEYVAL);
    CHECK_CLASS(MPI_Comm_get_attr(MPI_COMM_SELF, MPI_KEYVAL_INVALID, &attribute, &flag),
                MPI_ERR_KEYVAL);
    CHECK_CLASS(MPI_Comm_free_keyval(&key), MPI_ERR_KEYVAL);
}

static void topologies(void)
{
    MPI_Comm cart;
    int dims[1] = { check_size + 1 }, periods[1] = { 0 }, value, other;
    CHECK(MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 0, &cart) != MPI_SUCCESS);
    CHECK_CLASS(MPI_Cartdim_get(MPI_COMM_WORLD, &value), MPI_ERR_TOPOLOGY);
    CHECK_CLASS(MPI_Cart_shift(MPI_COMM_WORLD, 0, 1, &value, &other), MPI_ERR_TOPOLOGY);
    dims[0] = check_size;
    CHECK_MPI(MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 0, &cart));
    CHECK_CLASS(MPI_Cart_coords(cart, check_size, 1, dims), MPI_ERR_RANK);
    CHECK(MPI_Cart_rank(cart, (int[]){ check_size }, &value) != MPI_SUCCESS);
    CHECK(MPI_Cart_shift(cart, 1, 1, &value, &other) != MPI_SUCCESS);
    CHECK_MPI(MPI_Comm_free(&cart));
}

static void infos(void)
{
    MPI_Info info;
    char key[MPI_MAX_INFO_KEY + 10], value[10];
    int length = 5, flag;
    CHECK_MPI(MPI_Info_create(&info));
    memset(key, 'k', sizeof key);
    key[sizeof key - 1] = 0;
    CHECK_CLASS(MPI_Info_set(info, key, "v"), MPI_ERR_INFO_KEY);
    CHECK_CLASS(MPI_Info_set(info, "", "v"), MPI_ERR_INFO_KEY);
    CHECK_CLASS(MPI_Info_delete(info, "none"), MPI_ERR_INFO_NOKEY);
    CHECK(MPI_Info_get_nthkey(info, 0, key) != MPI_SUCCESS);
    if (strict)
        CHECK_CLASS(MPI_Info_get_string(MPI_INFO_NULL, "a", &length, value, &flag), MPI_ERR_INFO);
    CHECK_MPI(MPI_Info_free(&info));
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    strict = argc > 1 && !strcmp(argv[1], "strict");
    datatypes();
    groups();
    communicators();
    topologies();
    infos();
    CHECK_MPI(MPI_Barrier(MPI_COMM_WORLD));
    return check_finish();
}
