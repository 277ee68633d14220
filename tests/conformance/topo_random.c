/* MPI 5.0, 8.5.4 and 8.5.5: random distributed graphs, with several edges between two ranks and
 * from a rank to itself, told by anybody; every process finds its own edges and no others. */
#include "check.h"

#define EDGES 60

static unsigned state;

static int roll(int n)
{
    state = state * 1103515245u + 12345u;
    return (int)(state >> 16 & 0x7fff) % n;
}

static int by_value(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

/* The pairs (rank, weight) that were found are those expected, in any order. */
static void same(const int *ranks, const int *weights, int n, int *expected, int m)
{
    int found[EDGES];
    CHECK_EQ(n, m);
    for (int i = 0; i < n && i < EDGES; i++)
        found[i] = ranks[i] * 1000 + weights[i];
    qsort(found, (size_t)n, sizeof(int), by_value);
    qsort(expected, (size_t)m, sizeof(int), by_value);
    for (int i = 0; i < n && i < m; i++)
        CHECK_EQ(found[i], expected[i]);
}

static void one_graph(unsigned seed, int strict)
{
    int mine_from[EDGES], mine_to[EDGES], mine_weight[EDGES], ones[EDGES], mine = 0;
    int in[EDGES], out[EDGES], n_in = 0, n_out = 0, edges;
    state = seed;
    edges = roll(EDGES);
    /* Everybody knows the graph here; the library does not. */
    for (int i = 0; i < edges; i++) {
        int from = roll(check_size), to = roll(check_size), weight = roll(1000);
        if (roll(check_size) == check_rank) {
            mine_from[mine] = from;
            mine_to[mine] = to;
            mine_weight[mine] = weight;
            ones[mine++] = 1;
        }
        if (from == check_rank)
            out[n_out++] = to * 1000 + weight;
        if (to == check_rank)
            in[n_in++] = from * 1000 + weight;
    }
    MPI_Comm graph;
    CHECK_MPI(MPI_Dist_graph_create(MPI_COMM_WORLD, mine, mine_from, ones, mine_to,
                                    mine ? mine_weight : MPI_WEIGHTS_EMPTY, MPI_INFO_NULL, 0,
                                    &graph));
    int indegree = -1, outdegree = -1, weighted = -1, status = -1;
    CHECK_MPI(MPI_Topo_test(graph, &status));
    CHECK_EQ(status, MPI_DIST_GRAPH);
    CHECK_MPI(MPI_Dist_graph_neighbors_count(graph, &indegree, &outdegree, &weighted));
    CHECK(weighted);
    int sources[EDGES], destinations[EDGES], in_weights[EDGES], out_weights[EDGES];
    CHECK_MPI(MPI_Dist_graph_neighbors(graph, indegree, sources, in_weights, outdegree,
                                       destinations, out_weights));
    same(sources, in_weights, indegree, in, n_in);
    same(destinations, out_weights, outdegree, out, n_out);
    /* A duplicate has the neighbours in the same order. */
    MPI_Comm dup;
    int again_in[EDGES], again_out[EDGES];
    CHECK_MPI(MPI_Comm_dup(graph, &dup));
    CHECK_MPI(MPI_Dist_graph_neighbors(dup, indegree, again_in, MPI_UNWEIGHTED, outdegree,
                                       again_out, MPI_UNWEIGHTED));
    CHECK(!memcmp(again_in, sources, (size_t)indegree * sizeof(int)));
    CHECK(!memcmp(again_out, destinations, (size_t)outdegree * sizeof(int)));
    /* Of a list that is longer than the room, the first part is returned. */
    if (strict && outdegree > 1) {
        again_out[0] = again_out[1] = -1;
        CHECK_MPI(MPI_Dist_graph_neighbors(dup, 0, NULL, MPI_UNWEIGHTED, 1, again_out,
                                           MPI_UNWEIGHTED));
        CHECK(again_out[0] == destinations[0] && again_out[1] == -1);
    }
    CHECK_MPI(MPI_Comm_free(&dup));
    /* As many messages come as there are edges. */
    int value = check_rank, got[EDGES];
    CHECK_MPI(MPI_Neighbor_allgather(&value, 1, MPI_INT, got, 1, MPI_INT, graph));
    for (int i = 0; i < indegree; i++)
        CHECK_EQ(got[i], sources[i]);
    CHECK_MPI(MPI_Comm_free(&graph));
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    for (unsigned seed = 1; seed <= 20; seed++)
        one_graph(seed, argc > 1 && !strcmp(argv[1], "strict"));
    return check_finish();
}
