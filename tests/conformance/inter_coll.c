/* MPI 5.0, 6.2.3 "Intercommunicator Collective Operations": rooted operations with MPI_ROOT and
 * MPI_PROC_NULL in both directions, and the all-to-all kinds. Argument: form. */
#include "inter.h"

/* 1 when data is the sum over the remote group of what its members contribute. */
static int is_remote_sum(const int64_t *data, int first, int count)
{
    for (int i = 0; i < count; i++) {
        int64_t sum = 0;
        for (int r = 0; r < inter_remote; r++)
            sum += coll_value(inter_first + r, first + i);
        if (data[i] != sum)
            return 0;
    }
    return 1;
}

static void rooted(int low, int root, int count)
{
    int argument = inter_root(low, root), me_root = argument == MPI_ROOT;
    int other = inter_low != low; /* in the group opposite to the root */
    int root_world = low ? root : root + (inter_low ? inter_size : inter_remote);
    int64_t *a = coll_buffer(count * check_size), *b = coll_buffer(count * check_size);
    coll_fill(a, check_rank, 0, count * check_size);
    if (me_root)
        coll_fill(b, check_rank, 0, count);
    COLL(Bcast, bcast, b, count, MPI_INT64_T, argument, inter_comm);
    CHECK(other || me_root ? coll_holds(b, root_world, 0, count) : count == 0 || b[0] == -1);
    /* Beside the root only its argument is significant: bytes have no sum. */
    MPI_Datatype type = argument == MPI_PROC_NULL ? MPI_BYTE : MPI_INT64_T;
    COLL(Reduce, reduce, a, b, count, type, MPI_SUM, argument, inter_comm);
    CHECK(!me_root || is_remote_sum(b, 0, count));
    COLL(Gather, gather, a, count, MPI_INT64_T, b, count, MPI_INT64_T, argument, inter_comm);
    for (int r = 0; r < inter_remote && me_root; r++)
        CHECK(coll_holds(b + r * count, inter_first + r, 0, count));
    COLL(Scatter, scatter, a, count, MPI_INT64_T, b, count, MPI_INT64_T, argument, inter_comm);
    CHECK(!other || coll_holds(b, root_world, inter_rank * count, count));
    free(a);
    free(b);
}

static void symmetric(int count)
{
    int64_t *a = coll_buffer(count * check_size), *b = coll_buffer(count * check_size);
    coll_fill(a, check_rank, 0, count * check_size);
    COLL(Barrier, barrier, inter_comm);
    COLL(Allreduce, allreduce, a, b, count, MPI_INT64_T, MPI_SUM, inter_comm);
    CHECK(is_remote_sum(b, 0, count));
    COLL(Allgather, allgather, a, count, MPI_INT64_T, b, count, MPI_INT64_T, inter_comm);
    for (int r = 0; r < inter_remote; r++)
        CHECK(coll_holds(b + r * count, inter_first + r, 0, count));
    COLL(Alltoall, alltoall, a, count, MPI_INT64_T, b, count, MPI_INT64_T, inter_comm);
    for (int r = 0; r < inter_remote; r++)
        CHECK(coll_holds(b + r * count, inter_first + r, inter_rank * count, count));
    int *counts = malloc((size_t)check_size * sizeof(int));
    int *places = malloc((size_t)check_size * sizeof(int));
    for (int r = 0; r < inter_remote; r++) {
        counts[r] = count;
        places[r] = (inter_remote - 1 - r) * count;
    }
    COLL(Allgatherv, allgatherv, a, count, MPI_INT64_T, b, counts, places, MPI_INT64_T, inter_comm);
    for (int r = 0; r < inter_remote; r++)
        CHECK(coll_holds(b + places[r], inter_first + r, 0, count));
    /* Both groups must scatter the same total: the product of the two sizes. */
    int block = count * inter_remote;
    int64_t *wide = coll_buffer(block * inter_size);
    coll_fill(wide, check_rank, 0, block * inter_size);
    int64_t *part = coll_buffer(block);
    COLL(Reduce_scatter_block, reduce_scatter_block, wide, part, block, MPI_INT64_T, MPI_SUM,
         inter_comm);
    CHECK(is_remote_sum(part, inter_rank * block, block));
    free(wide);
    free(part);
    free(counts);
    free(places);
    free(a);
    free(b);
}

int main(int argc, char **argv)
{
    coll_init(&argc, &argv);
    CHECK_NEEDS(2);
    inter_create();
    static const int counts[] = { 0, 1, 100, 5000 };
    for (int c = 0; c < 4; c++) {
        for (int low = 0; low < 2; low++) {
            int last = (low == inter_low ? inter_size : inter_remote) - 1;
            rooted(low, 0, counts[c]);
            rooted(low, last, counts[c]);
        }
        symmetric(counts[c]);
    }
    inter_free();
    return check_finish();
}
