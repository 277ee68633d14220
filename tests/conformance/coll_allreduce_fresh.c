/* MPI 5.0, 6.9.6 "All-Reduce": lengths around those at which methods change, each as the first call of its
 * length on a communicator and before and behind the other forms, with an operation whose operands keep their
 * order. Members may agree on a method in one of these calls; whatever they agree on, all of them have to. */
#include "coll.h"

/* Four numbers are a matrix of 2 by 2, whose product is not commutative. Entries stay below a prime. */
static void product(void *in, void *inout, int *len, MPI_Datatype *type)
{
    const int64_t prime = 1000003;
    (void)type;
    int64_t *a = in, *b = inout;
    for (int i = 0; i < *len; i++, a += 4, b += 4) {
        int64_t c[4] = { a[0] * b[0] + a[1] * b[2], a[0] * b[1] + a[1] * b[3],
                         a[2] * b[0] + a[3] * b[2], a[2] * b[1] + a[3] * b[3] };
        for (int k = 0; k < 4; k++)
            b[k] = c[k] % prime;
    }
}

static void fill(int64_t *data, int rank, int count)
{
    for (int i = 0; i < count; i++)
        data[i] = (rank * 31 + i % 1009 * 7 + i % 4) % 1000;
}

static int is_product(const int64_t *found, int count)
{
    int matrices = count / 4;
    int64_t *expected = malloc(count * sizeof *expected), *next = malloc(count * sizeof *next);
    fill(next, check_size - 1, count);
    for (int rank = check_size - 2; rank >= 0; rank--) {
        fill(expected, rank, count);
        product(expected, next, &matrices, NULL);
    }
    int same = !memcmp(found, next, count * sizeof *found);
    free(expected);
    free(next);
    return same;
}

/* The forms in an order that differs from communicator to communicator. */
static void calls(MPI_Comm comm, MPI_Datatype matrix, MPI_Op op, int count, int first)
{
    int64_t *in = coll_buffer(count), *out = coll_buffer(count);
    for (int turn = 0; turn < 4; turn++) {
        coll_form = (first + turn) % 3;
        fill(in, check_rank, count);
        memset(out, 0, count * sizeof *out);
        COLL(Allreduce, allreduce, in, out, count / 4, matrix, op, comm);
        CHECK(is_product(out, count));
        COLL(Allreduce, allreduce, MPI_IN_PLACE, in, count / 4, matrix, op, comm);
        CHECK(is_product(in, count));
        CHECK(in[count] == -1 && out[count] == -1);
    }
    free(in);
    free(out);
}

int main(int argc, char **argv)
{
    /* Numbers of 8 bytes: 8, 16, 24, 64 and 256 KiB, and a matrix more. */
    static const int counts[] = { 1024, 1028, 2048, 2052, 3072, 3076, 8192, 32768, 32772 };
    check_init(&argc, &argv);
    MPI_Op op;
    MPI_Datatype matrix;
    CHECK_MPI(MPI_Type_contiguous(4, MPI_INT64_T, &matrix));
    CHECK_MPI(MPI_Type_commit(&matrix));
    CHECK_MPI(MPI_Op_create(product, 0, &op));
    for (int c = 0; c < 9; c++) {
        for (int first = 0; first < 3; first++) {
            MPI_Comm comm;
            CHECK_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
            calls(comm, matrix, op, counts[c], first);
            CHECK_MPI(MPI_Comm_free(&comm));
            /* All lengths on one communicator, too. */
            calls(MPI_COMM_WORLD, matrix, op, counts[c], first);
        }
    }
    CHECK_MPI(MPI_Op_free(&op));
    CHECK_MPI(MPI_Type_free(&matrix));
    return check_finish();
}
