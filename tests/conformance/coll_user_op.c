/* MPI 5.0, 6.9.5 and 6.9.7: user operations see the datatype they were called with, counts that
 * add up, aligned buffers; MPI_Reduce_local with them; large-count user functions. */
#include "check.h"

static MPI_Datatype expected_type;
static int calls_with_wrong_type, items_seen;

static void add_modulo(void *in, void *inout, int *count, MPI_Datatype *type)
{
    int *a = in, *b = inout;
    calls_with_wrong_type += *type != expected_type;
    items_seen += *count;
    for (int i = 0; i < *count; i++)
        b[i] = (a[i] + b[i]) % 1000;
}

static void add_large(void *in, void *inout, MPI_Count *count, MPI_Datatype *type)
{
    int *a = in, *b = inout;
    calls_with_wrong_type += *type != expected_type;
    for (MPI_Count i = 0; i < *count; i++)
        b[i] = (a[i] + b[i]) % 1000;
}

/* Rows of 5 ints: contiguous, but of an extent that is not 4. */
static void row_max(void *in, void *inout, int *count, MPI_Datatype *type)
{
    int (*a)[5] = in, (*b)[5] = inout;
    (void)type;
    for (int i = 0; i < *count; i++)
        if (a[i][0] > b[i][0])
            memcpy(b[i], a[i], sizeof b[i]);
}

static void check_sum(const int *out, int count)
{
    for (int i = 0; i < count; i++) {
        int sum = 0;
        for (int r = 0; r < check_size; r++)
            sum = (sum + (r * 100 + i) % 1000) % 1000;
        if (out[i] != sum) {
            CHECK_EQ(out[i], sum);
            return;
        }
    }
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    static int in[30000], out[30000];
    MPI_Op op, large;
    int commute = 0;
    CHECK_MPI(MPI_Op_create(add_modulo, 1, &op));
    CHECK_MPI(MPI_Op_create_c(add_large, 1, &large));
    CHECK_MPI(MPI_Op_commutative(op, &commute));
    CHECK(commute);
    CHECK_MPI(MPI_Op_commutative(MPI_SUM, &commute));
    CHECK(commute);
    expected_type = MPI_INT;
    for (int i = 0; i < 30000; i++)
        in[i] = (check_rank * 100 + i) % 1000;
    static const int counts[] = { 1, 10, 1000, 30000 };
    for (int c = 0; c < 4; c++) {
        memset(out, 0, sizeof out);
        CHECK_MPI(MPI_Allreduce(in, out, counts[c], MPI_INT, op, MPI_COMM_WORLD));
        check_sum(out, counts[c]);
        memset(out, 0, sizeof out);
        CHECK_MPI(MPI_Allreduce(in, out, counts[c], MPI_INT, large, MPI_COMM_WORLD));
        check_sum(out, counts[c]);
        CHECK_MPI(MPI_Reduce(in, out, counts[c], MPI_INT, op, 0, MPI_COMM_WORLD));
        if (check_rank == 0)
            check_sum(out, counts[c]);
    }
    items_seen = 0;
    memcpy(out, in, sizeof out);
    CHECK_MPI(MPI_Reduce_local(in, out, 30000, MPI_INT, op));
    CHECK_EQ(items_seen, 30000);
    CHECK_EQ(out[29999], 2 * in[29999] % 1000);
    CHECK_MPI(MPI_Reduce_local(in, out, 0, MPI_INT, op));
    CHECK_EQ(calls_with_wrong_type, 0);
    CHECK_MPI(MPI_Op_free(&op));
    CHECK_MPI(MPI_Op_free(&large));

    MPI_Datatype row;
    CHECK_MPI(MPI_Type_contiguous(5, MPI_INT, &row));
    CHECK_MPI(MPI_Type_commit(&row));
    CHECK_MPI(MPI_Op_create(row_max, 1, &op));
    for (int i = 0; i < 2000; i++)
        for (int k = 0; k < 5; k++)
            in[i * 5 + k] = k ? check_rank * 10 + k : (check_rank + i) % check_size;
    CHECK_MPI(MPI_Allreduce(in, out, 2000, row, op, MPI_COMM_WORLD));
    for (int i = 0; i < 2000; i++) {
        int winner = (check_size - 1 - i % check_size + check_size) % check_size;
        CHECK(out[i * 5] == check_size - 1 && out[i * 5 + 4] == winner * 10 + 4);
    }
    CHECK_MPI(MPI_Op_free(&op));
    CHECK_MPI(MPI_Type_free(&row));
    return check_finish();
}
