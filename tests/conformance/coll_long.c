/* MPI 5.0, 6: blocking collectives of 64 KiB to a few MiB, again and again so that members know of each other,
 * in place, with gaps in the datatypes, on parts of the ranks and in another order. */
#include "coll.h"

enum { MOST = 300000, GAP = -7 };

static int64_t *in, *out;

static int is_op(const int *world, int n, const int64_t *data, int count, MPI_Op op)
{
    for (int i = 0; i < count; i++) {
        int64_t want = coll_value(world[0], i);
        for (int r = 1; r < n; r++) {
            int64_t more = coll_value(world[r], i);
            want = op == MPI_SUM ? want + more : op == MPI_BXOR ? (want ^ more) : want > more ? want : more;
        }
        if (data[i] != want)
            return 0;
    }
    return 1;
}

static void reductions(MPI_Comm comm, const int *world, int rank, int n, int count, MPI_Op op)
{
    coll_fill(in, check_rank, 0, count);
    out[count] = -1;
    CHECK_MPI(MPI_Allreduce(in, out, count, MPI_INT64_T, op, comm));
    CHECK(is_op(world, n, out, count, op) && out[count] == -1);
    CHECK(coll_holds(in, check_rank, 0, count));
    memcpy(out, in, (size_t)count * sizeof *out);
    CHECK_MPI(MPI_Allreduce(MPI_IN_PLACE, out, count, MPI_INT64_T, op, comm));
    CHECK(is_op(world, n, out, count, op) && out[count] == -1);
    for (int root = 0; root < n; root += n > 1 ? n - 1 : 1) {
        memcpy(out, in, (size_t)count * sizeof *out);
        CHECK_MPI(MPI_Reduce(rank == root ? MPI_IN_PLACE : in, rank == root ? out : NULL, count,
                             MPI_INT64_T, op, root, comm));
        if (rank == root)
            CHECK(is_op(world, n, out, count, op) && out[count] == -1);
        /* What is sent may be changed at once. */
        memset(in, 0, (size_t)count * sizeof *in);
        coll_fill(in, check_rank, 0, count);
    }
}

/* `each` elements for each member; `gaps`: behind each of them there is room for another one. */
static void exchanges(MPI_Comm comm, const int *world, int rank, int n, int each, int gaps)
{
    MPI_Datatype wide, type = MPI_INT64_T;
    int step = 1 + gaps;
    CHECK_MPI(MPI_Type_create_resized(MPI_INT64_T, 0, 2 * sizeof(int64_t), &wide));
    CHECK_MPI(MPI_Type_commit(&wide));
    if (gaps)
        type = wide;
    for (int in_place = 0; in_place < 2; in_place++) {
        for (int i = 0; i < n * each * step; i++)
            out[i] = GAP;
        out[n * each * step] = -1;
        coll_fill(in, check_rank, 0, n * each);
        for (int i = 0; i < n * each && in_place; i++)
            out[i * step] = in[i];
        if (in_place)
            CHECK_MPI(MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, out, each, type, comm));
        else
            CHECK_MPI(MPI_Alltoall(in, each, MPI_INT64_T, out, each, type, comm));
        memset(in, 0, (size_t)(n * each) * sizeof *in);
        for (int i = 0; i < n * each; i++) {
            CHECK_EQ(out[i * step], coll_value(world[i / each], rank * each + i % each));
            CHECK(!gaps || out[i * step + 1] == GAP);
        }
        CHECK_EQ(out[n * each * step], -1);
        /* The other way round: gaps where it comes from. */
        for (int i = 0; i < each; i++)
            out[i * step] = coll_value(check_rank, i);
        if (in_place) {
            coll_fill(in + rank * each, check_rank, 0, each);
            CHECK_MPI(MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in, each, MPI_INT64_T, comm));
        } else {
            CHECK_MPI(MPI_Allgather(out, each, type, in, each, MPI_INT64_T, comm));
        }
        for (int i = 0; i < each; i++)
            out[i * step] = 0;
        for (int r = 0; r < n; r++)
            CHECK(coll_holds(in + r * each, world[r], 0, each));
    }
    CHECK_MPI(MPI_Type_free(&wide));
}

/* The same for a root, who has `each` elements of each member. */
static void rooted(MPI_Comm comm, const int *world, int rank, int n, int each, int gaps)
{
    MPI_Datatype wide;
    int step = 1 + gaps;
    CHECK_MPI(MPI_Type_create_resized(MPI_INT64_T, 0, (MPI_Aint)(step * sizeof(int64_t)), &wide));
    CHECK_MPI(MPI_Type_commit(&wide));
    for (int root = 0; root < n; root++) {
        int here = rank == root, in_place = here && root % 2;
        for (int i = 0; i < n * each * step; i++)
            out[i] = GAP;
        coll_fill(in, check_rank, 0, each);
        for (int i = 0; i < each && in_place; i++)
            out[(rank * each + i) * step] = in[i];
        CHECK_MPI(MPI_Gather(in_place ? MPI_IN_PLACE : in, each, MPI_INT64_T, here ? out : NULL, each,
                             wide, root, comm));
        memset(in, 0, (size_t)each * sizeof *in);
        for (int i = 0; i < n * each && here; i++) {
            CHECK_EQ(out[i * step], coll_value(world[i / each], i % each));
            CHECK(!gaps || out[i * step + 1] == GAP);
        }
        for (int i = 0; i < n * each && here; i++)
            out[i * step] = coll_value(check_rank, i);
        in[each] = -1;
        CHECK_MPI(MPI_Scatter(here ? out : NULL, each, wide, in_place ? MPI_IN_PLACE : in, each,
                              MPI_INT64_T, root, comm));
        for (int i = 0; i < n * each && here; i++)
            out[i * step] = 0;
        CHECK(in_place || coll_holds(in, world[root], rank * each, each));
        CHECK_EQ(in[each], -1);
    }
    CHECK_MPI(MPI_Type_free(&wide));
}

static void everything(MPI_Comm comm)
{
    static const int counts[] = { 8500, 16384, 30011, 131072, 299999 };
    static const int blocks[] = { 1100, 8192, 9001, 40000 };
    int world[64], rank, n, one = 1, sum;
    CHECK_MPI(MPI_Comm_rank(comm, &rank));
    CHECK_MPI(MPI_Comm_size(comm, &n));
    CHECK_MPI(MPI_Allgather(&check_rank, 1, MPI_INT, world, 1, MPI_INT, comm));
    for (int i = 0; i < 6; i++)
        CHECK_MPI(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm));
    MPI_Op ops[] = { MPI_SUM, MPI_BXOR, MPI_MAX };
    for (int c = 0; c < 5; c++)
        reductions(comm, world, rank, n, counts[c], ops[c % 3]);
    for (int c = 0; c < 4; c++)
        for (int gaps = 0; gaps < 2; gaps++)
            exchanges(comm, world, rank, n, blocks[c], gaps);
    for (int c = 0; c < 4; c++)
        for (int gaps = 0; gaps < 2; gaps++)
            rooted(comm, world, rank, n, blocks[c], gaps);
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    size_t most = MOST > check_size * 80000 ? MOST : (size_t)check_size * 80000;
    in = coll_buffer((int)most);
    out = coll_buffer((int)most);
    MPI_Comm part, reversed;
    CHECK_MPI(MPI_Comm_split(MPI_COMM_WORLD, check_rank == 0, 0, &part));
    CHECK_MPI(MPI_Comm_split(MPI_COMM_WORLD, 0, -check_rank, &reversed));
    everything(MPI_COMM_WORLD);
    everything(part);
    everything(reversed);
    CHECK_MPI(MPI_Comm_free(&part));
    CHECK_MPI(MPI_Comm_free(&reversed));
    free(in);
    free(out);
    return check_finish();
}
