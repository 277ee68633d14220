/* MPI 5.0, 5.1.11: large messages of types with gaps, many small blocks and few large ones, sent
 * to another rank, typed on both sides or on one. */
#include "check.h"

static void go(MPI_Datatype type, int count, const double *out, double *in, int n, int block,
               int stride, int typed_send, int typed_receive)
{
    int right = (check_rank + 1) % check_size, left = (check_rank + check_size - 1) % check_size;
    int total = n * block * count, wrong = 0;
    for (int i = 0; i < n * stride * count; i++)
        in[i] = -1;
    CHECK_MPI(MPI_Sendrecv(out, typed_send ? count : total, typed_send ? type : MPI_DOUBLE, right,
                           1, in, typed_receive ? count : total, typed_receive ? type : MPI_DOUBLE,
                           left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    /* The items in order: the k-th of the flat series, or at its place in the typed layout. */
    for (int k = 0; k < total; k++) {
        int place = k / block * stride + k % block;
        double want = left + 0.001 * (typed_send ? place : k);
        wrong += in[typed_receive ? place : k] != want;
    }
    CHECK_EQ(wrong, 0);
    if (typed_receive && stride > block)
        CHECK(in[block] == -1);
}

int main(int argc, char **argv)
{
    static const struct { int n, block, stride, count; } cases[] = {
        { 1000, 1, 3, 1 }, { 20000, 1, 2, 1 }, { 20, 3000, 3001, 1 }, { 300, 7, 9, 20 },
    };
    check_init(&argc, &argv);
    for (int c = 0; c < 4; c++) {
        int n = cases[c].n, block = cases[c].block, stride = cases[c].stride;
        size_t room = (size_t)n * (size_t)stride * (size_t)cases[c].count;
        double *out = malloc(room * sizeof *out), *in = malloc(room * sizeof *in);
        MPI_Datatype vector, type;
        for (size_t i = 0; i < room; i++)
            out[i] = check_rank + 0.001 * (double)i;
        CHECK_MPI(MPI_Type_vector(n, block, stride, MPI_DOUBLE, &vector));
        CHECK_MPI(MPI_Type_create_resized(vector, 0, (MPI_Aint)n * stride * 8, &type));
        CHECK_MPI(MPI_Type_commit(&type));
        for (int way = 1; way < 4; way++)
            go(type, cases[c].count, out, in, n, block, stride, way & 1, way >> 1);
        CHECK_MPI(MPI_Type_free(&vector));
        CHECK_MPI(MPI_Type_free(&type));
        free(out);
        free(in);
    }
    return check_finish();
}
