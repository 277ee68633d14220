/* MPI 5.0, 8.5.3 and 8.5.4 "Graph" and "Distributed Graph" topologies: constructors and inquiry. */
#include "check.h"

/* A star: rank 0 touches all others, they touch rank 0. */
static void star(void)
{
    int n = check_size, nnodes = -1, nedges = -1, count = -1, status = -1;
    int *index = malloc((size_t)n * sizeof(int)), *edges = malloc((size_t)(2 * n) * sizeof(int));
    for (int i = 0; i < n; i++)
        index[i] = n - 1 + i;
    for (int i = 0; i < n - 1; i++) {
        edges[i] = i + 1;
        edges[n - 1 + i] = 0;
    }
    MPI_Comm graph;
    CHECK_MPI(MPI_Graph_create(MPI_COMM_WORLD, n, index, edges, 0, &graph));
    CHECK_MPI(MPI_Topo_test(graph, &status));
    CHECK_EQ(status, MPI_GRAPH);
    CHECK_MPI(MPI_Graphdims_get(graph, &nnodes, &nedges));
    CHECK_EQ(nnodes, n);
    CHECK_EQ(nedges, 2 * (n - 1));
    CHECK_MPI(MPI_Graph_neighbors_count(graph, check_rank, &count));
    CHECK_EQ(count, check_rank ? 1 : n - 1);
    int *neighbors = malloc((size_t)n * sizeof(int));
    CHECK_MPI(MPI_Graph_neighbors(graph, check_rank, n, neighbors));
    for (int i = 0; i < count; i++)
        CHECK_EQ(neighbors[i], check_rank ? 0 : i + 1);
    int *index2 = calloc((size_t)n, sizeof(int)), *edges2 = calloc((size_t)(2 * n), sizeof(int));
    CHECK_MPI(MPI_Graph_get(graph, n, 2 * (n - 1), index2, edges2));
    CHECK(!memcmp(index, index2, (size_t)n * sizeof(int)));
    CHECK(!memcmp(edges, edges2, (size_t)(2 * (n - 1)) * sizeof(int)));
    int mapped = -7;
    CHECK_MPI(MPI_Graph_map(MPI_COMM_WORLD, n, index, edges, &mapped));
    CHECK(mapped >= 0 && mapped < n);
    CHECK_MPI(MPI_Comm_free(&graph));
    free(index);
    free(edges);
    free(neighbors);
    free(index2);
    free(edges2);
}

static void check_ring(MPI_Comm ring, int weighted)
{
    int right = (check_rank + 1) % check_size, left = (check_rank + check_size - 1) % check_size;
    int in = -1, out = -1, has_weights = -1, status = -1;
    int sources[2] = { -1, -1 }, in_weights[2], dests[2] = { -1, -1 }, out_weights[2];
    CHECK_MPI(MPI_Topo_test(ring, &status));
    CHECK_EQ(status, MPI_DIST_GRAPH);
    CHECK_MPI(MPI_Dist_graph_neighbors_count(ring, &in, &out, &has_weights));
    CHECK_EQ(in, 1);
    CHECK_EQ(out, 1);
    CHECK_EQ(!!has_weights, weighted);
    CHECK_MPI(MPI_Dist_graph_neighbors(ring, 2, sources, in_weights, 2, dests, out_weights));
    CHECK_EQ(sources[0], left);
    CHECK_EQ(dests[0], right);
    if (weighted) {
        CHECK_EQ(in_weights[0], 100 + left);
        CHECK_EQ(out_weights[0], 100 + check_rank);
    }
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    star();
    int right = (check_rank + 1) % check_size, left = (check_rank + check_size - 1) % check_size;
    int in_weight = 100 + left, out_weight = 100 + check_rank;
    MPI_Comm ring;
    CHECK_MPI(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &left, &in_weight, 1, &right,
                                             &out_weight, MPI_INFO_NULL, 0, &ring));
    check_ring(ring, 1);
    CHECK_MPI(MPI_Comm_free(&ring));
    CHECK_MPI(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &left, MPI_UNWEIGHTED, 1, &right,
                                             MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &ring));
    check_ring(ring, 0);
    CHECK_MPI(MPI_Comm_free(&ring));
    /* The same ring, every edge told by another rank than those it joins. */
    int from = (check_rank + 2) % check_size, to = (from + 1) % check_size, one = 1;
    int weight = 100 + from;
    CHECK_MPI(MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &from, &one, &to, &weight, MPI_INFO_NULL, 0,
                                    &ring));
    check_ring(ring, 1);
    CHECK_MPI(MPI_Comm_free(&ring));
    /* Rank 0 tells the whole graph. */
    int n = check_rank == 0 ? check_size : 0;
    int *sources = malloc((size_t)check_size * sizeof(int));
    int *degrees = malloc((size_t)check_size * sizeof(int));
    int *dests = malloc((size_t)check_size * sizeof(int));
    for (int i = 0; i < check_size; i++) {
        sources[i] = i;
        degrees[i] = 1;
        dests[i] = (i + 1) % check_size;
    }
    CHECK_MPI(MPI_Dist_graph_create(MPI_COMM_WORLD, n, sources, degrees, dests, MPI_UNWEIGHTED,
                                    MPI_INFO_NULL, 0, &ring));
    check_ring(ring, 0);
    CHECK_MPI(MPI_Comm_free(&ring));
    /* A graph without edges, weighted by nothing. */
    int in = -1, out = -1, weighted = -1;
    CHECK_MPI(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 0, NULL, MPI_WEIGHTS_EMPTY, 0, NULL,
                                             MPI_WEIGHTS_EMPTY, MPI_INFO_NULL, 0, &ring));
    CHECK_MPI(MPI_Dist_graph_neighbors_count(ring, &in, &out, &weighted));
    CHECK(in == 0 && out == 0);
    CHECK_MPI(MPI_Comm_free(&ring));
    free(sources);
    free(degrees);
    free(dests);
    return check_finish();
}
