/* MPI 5.0, 6.9.5 "User-Defined Reduction Operations": a non-commutative operation is applied in
 * rank order by every reduction. The operation composes affine maps x -> a x + b modulo 2^64; its
 * type may have a gap, which stays untouched. Argument: form. */
#include "coll.h"

struct map { uint64_t a, gap, b; };
#define GAP 0x6a6a6a6a6a6a6a6au

static struct map compose(struct map first, struct map second)
{
    return (struct map){ first.a * second.a, GAP, first.a * second.b + first.b };
}

static void compose_all(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void)type;
    struct map *left = in, *right = inout;
    for (int i = 0; i < *count; i++) {
        struct map result = compose(left[i], right[i]);
        right[i].a = result.a;
        right[i].b = result.b;
    }
}

static struct map map_of(int rank, int i)
{
    return (struct map){ (uint64_t)(2 * rank + 3 + 2 * (i % 5)), GAP, (uint64_t)(rank * 31 + i) };
}

/* Ranks first to last, composed in order. */
static int is_product(const struct map *data, int last, int offset, int count)
{
    for (int i = 0; i < count; i++) {
        struct map want = map_of(0, offset + i);
        for (int r = 1; r <= last; r++)
            want = compose(want, map_of(r, offset + i));
        if (data[i].a != want.a || data[i].b != want.b || data[i].gap != GAP)
            return 0;
    }
    return 1;
}

static void fill(struct map *data, int count)
{
    for (int i = 0; i < count; i++)
        data[i] = map_of(check_rank, i);
}

static void clear(struct map *data, int count)
{
    for (int i = 0; i < count; i++)
        data[i] = (struct map){ 1, GAP, 1 };
}

static void all_reductions(int count, MPI_Datatype type, MPI_Op op)
{
    int total = count * check_size, last = check_size - 1;
    struct map *in = malloc((size_t)total * sizeof *in + 1);
    struct map *out = malloc((size_t)total * sizeof *out + 1);
    int *counts = malloc((size_t)check_size * sizeof(int));
    MPI_Comm world = MPI_COMM_WORLD;
    fill(in, total);
    for (int root = 0; root < check_size; root += check_size > 1 ? check_size - 1 : 1) {
        clear(out, total);
        COLL(Reduce, reduce, in, out, count, type, op, root, world);
        if (check_rank == root)
            CHECK(is_product(out, last, 0, count));
    }
    clear(out, total);
    COLL(Allreduce, allreduce, in, out, count, type, op, world);
    CHECK(is_product(out, last, 0, count));
    fill(out, count);
    COLL(Allreduce, allreduce, MPI_IN_PLACE, out, count, type, op, world);
    CHECK(is_product(out, last, 0, count));
    clear(out, total);
    COLL(Scan, scan, in, out, count, type, op, world);
    CHECK(is_product(out, check_rank, 0, count));
    clear(out, total);
    COLL(Exscan, exscan, in, out, count, type, op, world);
    CHECK(check_rank == 0 || is_product(out, check_rank - 1, 0, count));
    clear(out, total);
    COLL(Reduce_scatter_block, reduce_scatter_block, in, out, count, type, op, world);
    CHECK(is_product(out, last, check_rank * count, count));
    int first = 0;
    for (int r = 0; r < check_size; r++) {
        counts[r] = r % 2 ? count : count / 2;
        first += r < check_rank ? counts[r] : 0;
    }
    clear(out, total);
    COLL(Reduce_scatter, reduce_scatter, in, out, counts, type, op, world);
    CHECK(is_product(out, last, first, counts[check_rank]));
    free(in);
    free(out);
    free(counts);
}

int main(int argc, char **argv)
{
    coll_init(&argc, &argv);
    MPI_Datatype ends, type;
    MPI_Op op;
    CHECK_MPI(MPI_Type_vector(2, 1, 2, MPI_UINT64_T, &ends));
    CHECK_MPI(MPI_Type_create_resized(ends, 0, sizeof(struct map), &type));
    CHECK_MPI(MPI_Type_commit(&type));
    CHECK_MPI(MPI_Type_free(&ends));
    CHECK_MPI(MPI_Op_create(compose_all, 0, &op));
    int commute = 1;
    CHECK_MPI(MPI_Op_commutative(op, &commute));
    CHECK(!commute);
    static const int counts[] = { 0, 1, 3, 64, 2000, 12000 };
    for (int c = 0; c < 6; c++)
        all_reductions(counts[c], type, op);
    CHECK_MPI(MPI_Op_free(&op));
    CHECK(op == MPI_OP_NULL);
    CHECK_MPI(MPI_Type_free(&type));
    return check_finish();
}
