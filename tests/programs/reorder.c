/* Topologies that may be reordered: fewer neighbours are on other hosts than in the order of MPI_COMM_WORLD, and what each
   process is told of its neighbours is that of its new rank. 8 ranks; prints the numbers of such neighbours, before and
   after, for a grid, a grid that wraps around, a graph and distributed graphs.

     reorder [PART [bind]]

   With a PART, such as hwloc://NUMANode, the parts of that kind are looked at in the place of hosts; ranks in none are one more part. "bind":
   the ranks go to processors by turns themselves, after MPI_Init. */
#define _GNU_SOURCE
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

static int rank, size, host;

static void must(int condition, const char *what)
{
    if (!condition) {
        fprintf(stderr, "rank %d: %s\n", rank, what);
        MPI_Abort(MPI_COMM_WORLD, 3);
    }
}

/* Neighbours on other hosts, of all processes of a communicator with a topology. */
static int cut(MPI_Comm comm, int outgoing)
{
    int all[64], mine = 0, sum;
    for (int i = 0; i < 64; i++)
        all[i] = host;
    MPI_Neighbor_allgather(&host, 1, MPI_INT, all, 1, MPI_INT, comm);
    for (int i = 0; i < outgoing; i++)
        mine += all[i] != host;
    MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, comm);
    return sum;
}

static int of_grid(int reorder, int wraps)
{
    int dims[2] = {4, 2}, periods[2] = {wraps, 0}, coords[2], me, mapped, from, to, got = -1;
    MPI_Comm comm;
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, reorder, &comm);
    MPI_Comm_rank(comm, &me);
    MPI_Cart_map(MPI_COMM_WORLD, 2, dims, periods, &mapped);
    must(me == (reorder ? mapped : rank), "MPI_Cart_map tells the rank that MPI_Cart_create gives");
    MPI_Cart_coords(comm, me, 2, coords);
    must(coords[0] == me / 2 && coords[1] == me % 2, "coordinates");
    MPI_Cart_shift(comm, 0, 1, &from, &to);
    MPI_Sendrecv(&me, 1, MPI_INT, to, 0, &got, 1, MPI_INT, from, 0, comm, MPI_STATUS_IGNORE);
    must(got == (from == MPI_PROC_NULL ? -1 : from), "what comes from a neighbour");
    int result = cut(comm, 4);
    MPI_Comm_free(&comm);
    return result;
}

static int of_graph(int reorder)
{
    int index[8], edges[8], me, mapped, neighbour;
    MPI_Comm comm;
    for (int i = 0; i < 8; i++) {
        index[i] = i + 1;
        edges[i] = (i + 4) % 8;
    }
    MPI_Graph_create(MPI_COMM_WORLD, 8, index, edges, reorder, &comm);
    MPI_Comm_rank(comm, &me);
    MPI_Graph_map(MPI_COMM_WORLD, 8, index, edges, &mapped);
    must(me == (reorder ? mapped : rank), "MPI_Graph_map tells the rank that MPI_Graph_create gives");
    MPI_Graph_neighbors(comm, me, 1, &neighbour);
    must(neighbour == (me + 4) % 8, "the neighbour in a graph");
    int result = cut(comm, 1);
    MPI_Comm_free(&comm);
    return result;
}

/* Pairs of nodes of unlike parity. */
static int of_pairs(int reorder, int adjacent, int weighted)
{
    int other = rank ^ 1, one = 1, weight = 100 + rank, back = 100 + other, me, in, out, has_weights, source, target;
    int source_weight = 0, target_weight = 0;
    MPI_Comm comm;
    if (adjacent)
        MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &other, weighted ? &back : MPI_UNWEIGHTED, 1, &other,
                                       weighted ? &weight : MPI_UNWEIGHTED, MPI_INFO_NULL, reorder, &comm);
    else
        MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &rank, &one, &other, weighted ? &weight : MPI_UNWEIGHTED, MPI_INFO_NULL,
                              reorder, &comm);
    MPI_Comm_rank(comm, &me);
    MPI_Dist_graph_neighbors_count(comm, &in, &out, &has_weights);
    must(in == 1 && out == 1 && !has_weights == !weighted, "numbers of neighbours");
    MPI_Dist_graph_neighbors(comm, 1, &source, weighted ? &source_weight : MPI_UNWEIGHTED, 1, &target,
                             weighted ? &target_weight : MPI_UNWEIGHTED);
    must(source == (me ^ 1) && target == (me ^ 1), "neighbours of the new rank");
    must(!weighted || (target_weight == 100 + me && source_weight == 100 + (me ^ 1)), "weights of the new rank");
    int result = cut(comm, 1);
    MPI_Comm_free(&comm);
    return result;
}

/* A number that all ranks in the same part share, and no others. */
static int number_of(const char *part)
{
    int number = -1;
    MPI_Comm here;
    MPI_Info info = MPI_INFO_NULL;
    if (part) {
        MPI_Info_create(&info);
        MPI_Info_set(info, "mpi_hw_resource_type", part);
    }
    MPI_Comm_split_type(MPI_COMM_WORLD, part ? MPI_COMM_TYPE_HW_GUIDED : MPI_COMM_TYPE_SHARED, rank, info, &here);
    if (part)
        MPI_Info_free(&info);
    if (here != MPI_COMM_NULL) {
        number = rank;
        MPI_Bcast(&number, 1, MPI_INT, 0, here);
        MPI_Comm_free(&here);
    }
    return number;
}

static void bind_by_turns(void)
{
    cpu_set_t all, one;
    int nth, cpu = -1;
    must(!sched_getaffinity(0, sizeof all, &all), "sched_getaffinity");
    CPU_ZERO(&one);
    for (nth = rank % CPU_COUNT(&all); nth >= 0; nth--)
        do
            cpu++;
        while (!CPU_ISSET(cpu, &all));
    CPU_SET(cpu, &one);
    must(!sched_setaffinity(0, sizeof one, &one), "sched_setaffinity");
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    must(size == 8, "needs 8 ranks");
    if (argc > 2 && !strcmp(argv[2], "bind"))
        bind_by_turns();
    host = number_of(argc > 1 ? argv[1] : NULL);
    int cuts[][2] = {
        {of_grid(0, 0), of_grid(1, 0)},
        {of_grid(0, 1), of_grid(1, 1)},
        {of_graph(0), of_graph(1)},
        {of_pairs(0, 0, 0), of_pairs(1, 0, 0)},
        {of_pairs(0, 0, 1), of_pairs(1, 0, 1)},
        {of_pairs(0, 1, 0), of_pairs(1, 1, 0)},
        {of_pairs(0, 1, 1), of_pairs(1, 1, 1)},
    };
    for (size_t i = 0; i < sizeof cuts / sizeof cuts[0]; i++) {
        if (rank == 0)
            printf("%d to %d\n", cuts[i][0], cuts[i][1]);
        must(cuts[i][1] <= cuts[i][0], "an order is worse");
    }
    MPI_Finalize();
    return 0;
}
