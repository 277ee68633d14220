/* MPI 5.0, 7.3 "Group Management": set operations, incl, excl, ranges, translate and compare,
 * against arrays of world ranks. */
#include "check.h"

/* 1 when the group holds exactly these world ranks in this order. */
static int is(MPI_Group group, const int *ranks, int n)
{
    MPI_Group world;
    int size = -1, *mine = malloc((size_t)(n + 1) * sizeof(int)), ok;
    int *there = malloc((size_t)(n + 1) * sizeof(int));
    CHECK_MPI(MPI_Group_size(group, &size));
    ok = size == n;
    CHECK_MPI(MPI_Comm_group(MPI_COMM_WORLD, &world));
    for (int i = 0; i < n; i++)
        mine[i] = i;
    if (ok && n > 0) {
        CHECK_MPI(MPI_Group_translate_ranks(group, n, mine, world, there));
        ok = !memcmp(ranks, there, (size_t)n * sizeof(int));
    }
    int rank = -9, want = MPI_UNDEFINED;
    CHECK_MPI(MPI_Group_rank(group, &rank));
    for (int i = 0; i < n; i++)
        if (ranks[i] == check_rank)
            want = i;
    CHECK_EQ(rank, want);
    CHECK_MPI(MPI_Group_free(&world));
    free(mine);
    free(there);
    return ok;
}

static void free_all(MPI_Group *groups, int n)
{
    for (int i = 0; i < n; i++)
        if (groups[i] != MPI_GROUP_EMPTY) {
            CHECK_MPI(MPI_Group_free(&groups[i]));
            CHECK(groups[i] == MPI_GROUP_NULL);
        }
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    CHECK_NEEDS(4);
    MPI_Group world, g[12];
    int result = -1, size = -1, rank = -1;
    CHECK_MPI(MPI_Comm_group(MPI_COMM_WORLD, &world));
    CHECK_MPI(MPI_Group_size(world, &size));
    CHECK_MPI(MPI_Group_rank(world, &rank));
    CHECK(size == check_size && rank == check_rank);
    CHECK_MPI(MPI_Group_incl(world, 3, (int[]){ 3, 0, 1 }, &g[0]));
    CHECK(is(g[0], (int[]){ 3, 0, 1 }, 3));
    CHECK_MPI(MPI_Group_incl(world, 3, (int[]){ 2, 1, 3 }, &g[1]));
    CHECK_MPI(MPI_Group_union(g[0], g[1], &g[2]));
    CHECK(is(g[2], (int[]){ 3, 0, 1, 2 }, 4));
    CHECK_MPI(MPI_Group_intersection(g[0], g[1], &g[3]));
    CHECK(is(g[3], (int[]){ 3, 1 }, 2));
    CHECK_MPI(MPI_Group_difference(g[0], g[1], &g[4]));
    CHECK(is(g[4], (int[]){ 0 }, 1));
    CHECK_MPI(MPI_Group_difference(g[1], g[1], &g[5]));
    CHECK(g[5] == MPI_GROUP_EMPTY);
    CHECK(is(g[5], NULL, 0));
    CHECK_MPI(MPI_Group_excl(g[2], 2, (int[]){ 0, 2 }, &g[6]));
    CHECK(is(g[6], (int[]){ 0, 2 }, 2));
    CHECK_MPI(MPI_Group_range_incl(world, 2, (int[][3]){ { 3, 1, -2 }, { 0, 2, 2 } }, &g[7]));
    CHECK(is(g[7], (int[]){ 3, 1, 0, 2 }, 4));
    CHECK_MPI(MPI_Group_range_excl(g[7], 1, (int[][3]){ { 0, 3, 2 } }, &g[8]));
    CHECK(is(g[8], (int[]){ 1, 2 }, 2));
    CHECK_MPI(MPI_Group_incl(world, 0, NULL, &g[9]));
    CHECK(g[9] == MPI_GROUP_EMPTY);
    CHECK_MPI(MPI_Group_union(MPI_GROUP_EMPTY, g[0], &g[10]));
    CHECK(is(g[10], (int[]){ 3, 0, 1 }, 3));
    CHECK_MPI(MPI_Group_excl(g[0], 0, NULL, &g[11]));
    CHECK_MPI(MPI_Group_compare(g[0], g[11], &result));
    CHECK_EQ(result, MPI_IDENT);
    CHECK_MPI(MPI_Group_compare(g[0], g[10], &result));
    CHECK_EQ(result, MPI_IDENT);
    CHECK_MPI(MPI_Group_compare(g[2], g[7], &result));
    CHECK_EQ(result, MPI_SIMILAR);
    CHECK_MPI(MPI_Group_compare(g[0], g[1], &result));
    CHECK_EQ(result, MPI_UNEQUAL);
    int there[4] = { -9, -9, -9, -9 };
    CHECK_MPI(MPI_Group_translate_ranks(g[0], 4, (int[]){ 0, 1, 2, MPI_PROC_NULL }, g[1], there));
    CHECK(there[0] == 2 && there[1] == MPI_UNDEFINED && there[2] == 1 && there[3] == MPI_PROC_NULL);
    free_all(g, 12);
    CHECK_MPI(MPI_Group_free(&world));
    return check_finish();
}
