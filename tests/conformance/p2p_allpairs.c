/* MPI 5.0, 3.5: every rank talks to every rank at once, several rounds, small and large. */
#include "check.h"

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    static const int sizes[] = { 8, 3000, 100000 };
    MPI_Request *requests = malloc(2 * (size_t)check_size * sizeof *requests);
    for (int s = 0; s < 3; s++) {
        int size = sizes[s];
        unsigned char *in = calloc((size_t)check_size, (size_t)size);
        unsigned char *out = malloc((size_t)check_size * (size_t)size);
        for (int round = 0; round < 3; round++) {
            for (int i = 0; i < check_size; i++) {
                pattern_fill(out + (size_t)i * size, (size_t)size,
                             (unsigned)(check_rank * 1000 + i + round));
                CHECK_MPI(MPI_Irecv(in + (size_t)i * size, size, MPI_BYTE, i, round,
                                    MPI_COMM_WORLD, &requests[i]));
            }
            for (int i = 0; i < check_size; i++)
                CHECK_MPI(MPI_Isend(out + (size_t)i * size, size, MPI_BYTE, i, round,
                                    MPI_COMM_WORLD, &requests[check_size + i]));
            CHECK_MPI(MPI_Waitall(2 * check_size, requests, MPI_STATUSES_IGNORE));
            for (int i = 0; i < check_size; i++)
                CHECK(pattern_holds(in + (size_t)i * size, (size_t)size,
                                    (unsigned)(i * 1000 + check_rank + round)));
        }
        free(in);
        free(out);
    }
    free(requests);
    return check_finish();
}
