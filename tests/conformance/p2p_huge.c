/* MPI 5.0, 3.2: messages of tens of megabytes, both ways at once, and several large ones
 * interleaved with small ones. Argument: MiB. */
#include "check.h"

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    CHECK_NEEDS(2);
    size_t size = (size_t)(argc > 1 ? atoi(argv[1]) : 16) << 20;
    int right = (check_rank + 1) % check_size, left = (check_rank + check_size - 1) % check_size;
    unsigned char *out = malloc(size), *in = calloc(size, 1);
    pattern_fill(out, size, (unsigned)check_rank);
    CHECK_MPI(MPI_Sendrecv(out, (int)size, MPI_BYTE, right, 1, in, (int)size, MPI_BYTE, left, 1,
                           MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK(pattern_holds(in, size, (unsigned)left));
    memset(in, 0, size);
    /* Eight pieces with a small message after each; the small ones are received first. */
    size_t piece = size / 8;
    MPI_Request requests[24];
    int numbers[8], got[8];
    for (int i = 0; i < 8; i++) {
        numbers[i] = i * 3 + check_rank;
        CHECK_MPI(MPI_Isend(out + i * piece, (int)piece, MPI_BYTE, right, i, MPI_COMM_WORLD,
                            &requests[i]));
        CHECK_MPI(MPI_Isend(&numbers[i], 1, MPI_INT, right, 100 + i, MPI_COMM_WORLD,
                            &requests[8 + i]));
    }
    for (int i = 7; i >= 0; i--) {
        CHECK_MPI(MPI_Recv(&got[i], 1, MPI_INT, left, 100 + i, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CHECK_EQ(got[i], i * 3 + left);
    }
    for (int i = 7; i >= 0; i--)
        CHECK_MPI(MPI_Irecv(in + i * piece, (int)piece, MPI_BYTE, left, i, MPI_COMM_WORLD,
                            &requests[16 + i]));
    CHECK_MPI(MPI_Waitall(24, requests, MPI_STATUSES_IGNORE));
    CHECK(pattern_holds(in, size, (unsigned)left));
    free(out);
    free(in);
    return check_finish();
}
