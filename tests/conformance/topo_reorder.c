/* MPI 5.0, 8.5.1 to 8.5.5: topologies that the library may reorder. Whatever the order is, all members agree on it: each process of
 * the first ones has one place, and neighbours are who the program said, of the rank that a process has now. Ranks are bound in
 * unlike ways by themselves: to one processor, to another, not at all. */
#define _GNU_SOURCE
#include "check.h"
#include <sched.h>

static void bind_some(void)
{
    cpu_set_t all, one;
    int nth = check_rank % 3, cpu = -1;
    /* Where it is forbidden the ranks stay as they are. */
    if (sched_getaffinity(0, sizeof all, &all) || nth >= CPU_COUNT(&all))
        return;
    CPU_ZERO(&one);
    for (; nth >= 0; nth--)
        do
            cpu++;
        while (!CPU_ISSET(cpu, &all));
    CPU_SET(cpu, &one);
    sched_setaffinity(0, sizeof one, &one);
}

/* The ranks in `old` of the members of `made` are 0 to members - 1, each once; others have no communicator. Tells whether this
 * process is a member. */
static int whole(MPI_Comm old, MPI_Comm made, int members)
{
    int rank, size, seen = 0, sum;
    MPI_Comm_rank(old, &rank);
    CHECK_EQ(made == MPI_COMM_NULL, rank >= members);
    if (made == MPI_COMM_NULL)
        return 0;
    CHECK_MPI(MPI_Comm_size(made, &size));
    CHECK_EQ(size, members);
    CHECK_MPI(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, made));
    CHECK_EQ(sum, members * (members - 1) / 2);
    CHECK_MPI(MPI_Allreduce(&rank, &seen, 1, MPI_INT, MPI_MAX, made));
    CHECK_EQ(seen, members - 1);
    return 1;
}

/* The neighbours of all processes have the ranks that were said. */
static void neighbours(MPI_Comm comm, const int *expected, int n)
{
    int rank, got[8] = {-7, -7, -7, -7, -7, -7, -7, -7};
    MPI_Comm_rank(comm, &rank);
    CHECK_MPI(MPI_Neighbor_allgather(&rank, 1, MPI_INT, got, 1, MPI_INT, comm));
    for (int i = 0; i < n; i++)
        CHECK_EQ(got[i], expected[i]);
}

static void grids(MPI_Comm old, int members, int wraps)
{
    int dims[2] = {0, 0}, periods[2] = {wraps, wraps}, me, coords[2], expected[4];
    MPI_Comm grid;
    CHECK_MPI(MPI_Dims_create(members, 2, dims));
    CHECK_MPI(MPI_Cart_create(old, 2, dims, periods, 1, &grid));
    if (!whole(old, grid, members))
        return;
    MPI_Comm_rank(grid, &me);
    CHECK_MPI(MPI_Cart_coords(grid, me, 2, coords));
    CHECK_EQ(coords[0] * dims[1] + coords[1], me);
    for (int d = 0; d < 2; d++) {
        CHECK_MPI(MPI_Cart_shift(grid, d, 1, &expected[2 * d], &expected[2 * d + 1]));
        for (int i = 2 * d; i < 2 * d + 2; i++)
            expected[i] = expected[i] == MPI_PROC_NULL ? -7 : expected[i];
    }
    neighbours(grid, expected, 4);
    CHECK_MPI(MPI_Comm_free(&grid));
}

/* A ring of every second process, as each is told of all. */
static void graphs(MPI_Comm old, int members)
{
    int index[64], edges[128], me, expected[2];
    MPI_Comm graph;
    for (int i = 0; i < members; i++) {
        index[i] = 2 * i + 2;
        edges[2 * i] = (i + members - members / 2) % members;
        edges[2 * i + 1] = (i + members / 2) % members;
    }
    CHECK_MPI(MPI_Graph_create(old, members, index, edges, 1, &graph));
    if (!whole(old, graph, members))
        return;
    MPI_Comm_rank(graph, &me);
    expected[0] = edges[2 * me];
    expected[1] = edges[2 * me + 1];
    neighbours(graph, expected, 2);
    CHECK_MPI(MPI_Comm_free(&graph));
}

static void distributed(MPI_Comm old, int adjacent)
{
    int rank, size, me, from, to, weight = 7, back, one = 1, got = -7;
    MPI_Comm graph;
    MPI_Comm_rank(old, &rank);
    MPI_Comm_size(old, &size);
    to = (rank + size / 2) % size;
    from = (rank + size - size / 2) % size;
    if (adjacent)
        CHECK_MPI(MPI_Dist_graph_create_adjacent(old, 1, &from, &weight, 1, &to, &weight, MPI_INFO_NULL, 1, &graph));
    else
        CHECK_MPI(MPI_Dist_graph_create(old, 1, &rank, &one, &to, &weight, MPI_INFO_NULL, 1, &graph));
    whole(old, graph, size);
    MPI_Comm_rank(graph, &me);
    CHECK_MPI(MPI_Dist_graph_neighbors(graph, 1, &from, &weight, 1, &to, &back));
    CHECK_EQ(to, (me + size / 2) % size);
    CHECK_EQ(from, (me + size - size / 2) % size);
    CHECK_EQ(weight, 7);
    CHECK_EQ(back, 7);
    CHECK_MPI(MPI_Neighbor_allgather(&me, 1, MPI_INT, &got, 1, MPI_INT, graph));
    CHECK_EQ(got, from);
    CHECK_MPI(MPI_Comm_free(&graph));
}

int main(int argc, char **argv)
{
    MPI_Comm backwards, half;
    check_init(&argc, &argv);
    bind_some();
    MPI_Comm_split(MPI_COMM_WORLD, 0, -check_rank, &backwards);
    MPI_Comm_split(MPI_COMM_WORLD, check_rank % 2, check_rank, &half);
    MPI_Comm all[] = {MPI_COMM_WORLD, backwards, half, MPI_COMM_SELF};
    for (int i = 0; i < 4; i++) {
        int size;
        MPI_Comm_size(all[i], &size);
        for (int round = 0; round < 2; round++) {
            grids(all[i], size, round);
            grids(all[i], size > 1 ? size - 1 : 1, round);
            graphs(all[i], size);
            graphs(all[i], (size + 1) / 2);
            distributed(all[i], round);
        }
    }
    MPI_Comm_free(&backwards);
    MPI_Comm_free(&half);
    return check_finish();
}
