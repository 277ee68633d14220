/* MPI 5.0, 8.6 on distributed graphs with in- and out-degrees that differ, several edges between
 * the same two ranks, self edges and isolated ranks. Argument: form. */
#include "coll.h"

/* Rank r sends to r+1 twice and to itself once, and all but rank 0 send to rank 0. */
static int edge_list(int rank, int n, int *to)
{
    int count = 0;
    to[count++] = (rank + 1) % n;
    to[count++] = rank;
    to[count++] = (rank + 1) % n;
    if (rank != 0)
        to[count++] = 0;
    return count;
}

int main(int argc, char **argv)
{
    coll_init(&argc, &argv);
    int n = check_size, to[4], *from = malloc((size_t)(4 * n) * sizeof(int)), in = 0;
    int *position = malloc((size_t)(4 * n) * sizeof(int));
    int out = edge_list(check_rank, n, to);
    for (int r = 0; r < n; r++) {
        int theirs[4], count = edge_list(r, n, theirs);
        for (int i = 0; i < count; i++)
            if (theirs[i] == check_rank) {
                position[in] = i;
                from[in++] = r;
            }
    }
    MPI_Comm graph;
    CHECK_MPI(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, in, from, MPI_UNWEIGHTED, out, to,
                                             MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph));
    static const int counts[] = { 1, 50, 3000 };
    for (int c = 0; c < 3; c++) {
        int count = counts[c];
        int64_t *send = coll_buffer(count * 4), *receive = coll_buffer(count * in);
        coll_fill(send, check_rank, 0, count * 4);
        COLL(Neighbor_allgather, neighbor_allgather, send, count, MPI_INT64_T, receive, count,
             MPI_INT64_T, graph);
        for (int i = 0; i < in; i++)
            CHECK(coll_holds(receive + i * count, from[i], 0, count));
        memset(receive, 0xff, (size_t)(count * in) * 8);
        COLL(Neighbor_alltoall, neighbor_alltoall, send, count, MPI_INT64_T, receive, count,
             MPI_INT64_T, graph);
        for (int i = 0; i < in; i++)
            CHECK(coll_holds(receive + i * count, from[i], position[i] * count, count));
        CHECK_EQ(receive[count * in], -1);
        free(send);
        free(receive);
    }
    CHECK_MPI(MPI_Comm_free(&graph));
    /* Only the even ranks have edges, in a ring among themselves; odd ranks take part for nothing. */
    int next = (check_rank + 2) % n, previous = (check_rank + n - 2) % n, degree = n % 2 == 0 && check_rank % 2 == 0;
    int64_t mine = coll_value(check_rank, 0), got = -1;
    CHECK_MPI(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, degree, &previous, MPI_UNWEIGHTED,
                                             degree, &next, MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                                             &graph));
    COLL(Neighbor_alltoall, neighbor_alltoall, &mine, 1, MPI_INT64_T, &got, 1, MPI_INT64_T, graph);
    CHECK_EQ(got, degree ? coll_value(previous, 0) : -1);
    CHECK_MPI(MPI_Comm_free(&graph));
    free(from);
    free(position);
    return check_finish();
}
