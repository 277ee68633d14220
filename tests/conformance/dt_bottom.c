/* MPI 5.0, 5.1.5 "Address and Size Functions" and 5.1.12: MPI_Get_address, MPI_Aint_add and _diff,
 * and absolute addresses with MPI_BOTTOM, scattered over stack and heap. */
#include "check.h"

enum { ROUNDS = 8 }; /* a library may change its way when it has seen some calls */

/* MPI_BOTTOM is not MPI_IN_PLACE, where members give their blocks by absolute addresses, all of them or
 * every other. */
static void exchanges(int count)
{
    int n = check_size, total = count * n;
    double *in = malloc((size_t)total * sizeof *in), *out = malloc((size_t)total * sizeof *out);
    for (int block = count, part = 0; part < 2; block = total, part++) {
        MPI_Aint at;
        MPI_Datatype from, type = MPI_DOUBLE;
        CHECK_MPI(MPI_Get_address(in, &at));
        /* A block of MPI_Alltoall is as far from the next one as its extent says. */
        MPI_Aint extent = count * (MPI_Aint)sizeof *in;
        CHECK_MPI(MPI_Type_create_struct(1, &count, &at, &type, &from));
        MPI_Datatype apart;
        CHECK_MPI(MPI_Type_create_resized(from, 0, extent, &apart));
        CHECK_MPI(MPI_Type_commit(&apart));
        for (int round = 0; round < ROUNDS; round++) {
            int absolute = round % 2 == 0 || check_rank % 2 == 0;
            const void *send = absolute ? MPI_BOTTOM : (void *)in;
            int items = absolute ? 1 : count;
            MPI_Datatype t = absolute ? apart : MPI_DOUBLE;
            for (int i = 0; i < block; i++)
                in[i] = check_rank * 1000 + round * 100000 + i;
            for (int i = 0; i < total; i++)
                out[i] = -1;
            if (part == 0)
                CHECK_MPI(MPI_Allgather(send, items, t, out, count, MPI_DOUBLE, MPI_COMM_WORLD));
            else
                CHECK_MPI(MPI_Alltoall(send, items, t, out, count, MPI_DOUBLE, MPI_COMM_WORLD));
            for (int r = 0; r < n; r++)
                for (int i = 0; i < count; i++)
                    CHECK_EQ(out[r * count + i], r * 1000 + round * 100000 + i
                                                     + (part == 0 ? 0 : check_rank * count));
        }
        CHECK_MPI(MPI_Type_free(&from));
        CHECK_MPI(MPI_Type_free(&apart));
    }
    free(in);
    free(out);
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    int right = (check_rank + 1) % check_size, left = (check_rank + check_size - 1) % check_size;
    int on_stack = check_rank + 1, got_stack = -1;
    double *heap = malloc(1000 * sizeof *heap), *got_heap = malloc(1000 * sizeof *heap);
    static char text[8], got_text[8];
    snprintf(text, sizeof text, "rank%02d", check_rank % 100);
    for (int i = 0; i < 1000; i++)
        heap[i] = check_rank * 1000 + i;
    int lengths[3] = { 1, 1000, 8 };
    MPI_Datatype parts[3] = { MPI_INT, MPI_DOUBLE, MPI_CHAR }, from, to;
    MPI_Aint at[3], to_at[3];
    CHECK_MPI(MPI_Get_address(&on_stack, &at[0]));
    CHECK_MPI(MPI_Get_address(heap, &at[1]));
    CHECK_MPI(MPI_Get_address(text, &at[2]));
    CHECK_MPI(MPI_Get_address(&got_stack, &to_at[0]));
    CHECK_MPI(MPI_Get_address(got_heap, &to_at[1]));
    CHECK_MPI(MPI_Get_address(got_text, &to_at[2]));
    CHECK_MPI(MPI_Type_create_struct(3, lengths, at, parts, &from));
    CHECK_MPI(MPI_Type_create_struct(3, lengths, to_at, parts, &to));
    CHECK_MPI(MPI_Type_commit(&from));
    CHECK_MPI(MPI_Type_commit(&to));
    CHECK_MPI(MPI_Sendrecv(MPI_BOTTOM, 1, from, right, 1, MPI_BOTTOM, 1, to, left, 1,
                           MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    char want[8];
    snprintf(want, sizeof want, "rank%02d", left % 100);
    CHECK_EQ(got_stack, left + 1);
    CHECK(!memcmp(want, got_text, 6));
    CHECK(got_heap[0] == left * 1000 && got_heap[999] == left * 1000 + 999);
    /* In a collective as well. */
    got_stack = -1;
    CHECK_MPI(MPI_Bcast(MPI_BOTTOM, 1, check_rank == 0 ? from : to, 0, MPI_COMM_WORLD));
    if (check_rank != 0)
        CHECK(got_stack == 1 && got_heap[999] == 999);
    MPI_Aint first, last;
    CHECK_MPI(MPI_Get_address(&heap[0], &first));
    CHECK_MPI(MPI_Get_address(&heap[999], &last));
    CHECK_EQ(MPI_Aint_diff(last, first), 999 * sizeof(double));
    CHECK_EQ(MPI_Aint_add(first, 999 * sizeof(double)), last);
    CHECK_MPI(MPI_Type_free(&from));
    CHECK_MPI(MPI_Type_free(&to));
    free(heap);
    free(got_heap);
    exchanges(3);
    exchanges(4000);
    return check_finish();
}
