/* MPI 5.0, 6: a random sequence of collectives of random kind, size, root and form on random
 * communicators, the same at all ranks, against the model. Argument: seed. */
#include "coll.h"

#define LARGEST 20000
static int64_t *in, *out;

/* Any rank of comm: the values that its members contribute, by their world rank. */
struct place { MPI_Comm comm; int rank, size; int world[64]; };

static void set_place(struct place *p, MPI_Comm comm)
{
    p->comm = comm;
    CHECK_MPI(MPI_Comm_rank(comm, &p->rank));
    CHECK_MPI(MPI_Comm_size(comm, &p->size));
    CHECK_MPI(MPI_Allgather(&check_rank, 1, MPI_INT, p->world, 1, MPI_INT, comm));
}

/* The sum over the members 0 to last of their values at `first + i`. */
static int is_sum(const struct place *p, const int64_t *data, int last, int first, int count)
{
    for (int i = 0; i < count; i++) {
        int64_t sum = 0;
        for (int r = 0; r <= last; r++)
            sum += coll_value(p->world[r], first + i);
        if (data[i] != sum)
            return 0;
    }
    return 1;
}

static void step(const struct place *p, int kind, int count, int root, int salt)
{
    MPI_Comm comm = p->comm;
    int n = p->size, last = n - 1, each = count / n;
    coll_fill(in, check_rank, salt, count);
    switch (kind) {
    case 0:
        if (p->rank == root)
            memcpy(out, in, (size_t)count * sizeof *out);
        COLL(Bcast, bcast, out, count, MPI_INT64_T, root, comm);
        CHECK(coll_holds(out, p->world[root], salt, count));
        break;
    case 1:
        COLL(Reduce, reduce, in, out, count, MPI_INT64_T, MPI_SUM, root, comm);
        CHECK(p->rank != root || is_sum(p, out, last, salt, count));
        break;
    case 2:
        COLL(Allreduce, allreduce, in, out, count, MPI_INT64_T, MPI_SUM, comm);
        CHECK(is_sum(p, out, last, salt, count));
        break;
    case 3:
        COLL(Gather, gather, in, each, MPI_INT64_T, out, each, MPI_INT64_T, root, comm);
        for (int r = 0; r < n && p->rank == root; r++)
            CHECK(coll_holds(out + r * each, p->world[r], salt, each));
        break;
    case 4:
        COLL(Scatter, scatter, in, each, MPI_INT64_T, out, each, MPI_INT64_T, root, comm);
        CHECK(coll_holds(out, p->world[root], salt + p->rank * each, each));
        break;
    case 5:
        COLL(Allgather, allgather, in, each, MPI_INT64_T, out, each, MPI_INT64_T, comm);
        for (int r = 0; r < n; r++)
            CHECK(coll_holds(out + r * each, p->world[r], salt, each));
        break;
    case 6:
        COLL(Alltoall, alltoall, in, each, MPI_INT64_T, out, each, MPI_INT64_T, comm);
        for (int r = 0; r < n; r++)
            CHECK(coll_holds(out + r * each, p->world[r], salt + p->rank * each, each));
        break;
    case 7:
        COLL(Scan, scan, in, out, count, MPI_INT64_T, MPI_SUM, comm);
        CHECK(is_sum(p, out, p->rank, salt, count));
        break;
    case 8:
        COLL(Reduce_scatter_block, reduce_scatter_block, in, out, each, MPI_INT64_T, MPI_SUM, comm);
        CHECK(is_sum(p, out, last, salt + p->rank * each, each));
        break;
    default:
        COLL(Barrier, barrier, comm);
        break;
    }
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    uint64_t dice = argc > 1 ? (uint64_t)atoi(argv[1]) : 1;
    int steps = argc > 2 ? atoi(argv[2]) : 200;
    static const unsigned limits[] = { 3, 10, 200, 3000, LARGEST };
    struct place places[4];
    MPI_Comm dup, halves, reversed;
    in = coll_buffer(LARGEST);
    out = coll_buffer(LARGEST);
    CHECK_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &dup));
    CHECK_MPI(MPI_Comm_split(MPI_COMM_WORLD, check_rank % 2, 0, &halves));
    CHECK_MPI(MPI_Comm_split(MPI_COMM_WORLD, 0, -check_rank, &reversed));
    set_place(&places[0], MPI_COMM_WORLD);
    set_place(&places[1], dup);
    set_place(&places[2], halves);
    set_place(&places[3], reversed);
    for (int i = 0; i < steps; i++) {
        const struct place *p = &places[check_random(&dice) % 4];
        int kind = (int)(check_random(&dice) % 10);
        int count = (int)(check_random(&dice) % limits[check_random(&dice) % 5]);
        int root = (int)(check_random(&dice) % 1000) % p->size;
        coll_form = (int)(check_random(&dice) % 3);
        step(p, kind, count, root, i);
    }
    CHECK_MPI(MPI_Comm_free(&dup));
    CHECK_MPI(MPI_Comm_free(&halves));
    CHECK_MPI(MPI_Comm_free(&reversed));
    free(in);
    free(out);
    return check_finish();
}
