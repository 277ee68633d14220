/* MPI 5.0, 3.5 "Semantics: Progress, Fairness": many outstanding messages, both directions at
 * once, all sends started before any receive. Arguments: number of messages, bytes each. */
#include "check.h"

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    CHECK_NEEDS(2);
    int count = argc > 1 ? atoi(argv[1]) : 10000, bytes = argc > 2 ? atoi(argv[2]) : 8;
    int right = (check_rank + 1) % check_size, left = (check_rank + check_size - 1) % check_size;
    unsigned char *out = malloc((size_t)count * (size_t)bytes + 1);
    unsigned char *in = calloc((size_t)count * (size_t)bytes + 1, 1);
    MPI_Request *requests = malloc(2 * (size_t)count * sizeof *requests);
    pattern_fill(out, (size_t)count * (size_t)bytes, (unsigned)check_rank);
    for (int i = 0; i < count; i++)
        CHECK_MPI(MPI_Isend(out + (size_t)i * bytes, bytes, MPI_BYTE, right, i, MPI_COMM_WORLD,
                            &requests[i]));
    /* Received in blocks of 100 of falling tag: each needs a search of the waiting messages. */
    int n = count;
    for (int block = 0; block < count; block += 100)
        for (int i = (block + 100 < count ? block + 100 : count) - 1; i >= block; i--)
            CHECK_MPI(MPI_Irecv(in + (size_t)i * bytes, bytes, MPI_BYTE, left, i, MPI_COMM_WORLD,
                                &requests[n++]));
    CHECK_MPI(MPI_Waitall(2 * count, requests, MPI_STATUSES_IGNORE));
    CHECK(pattern_holds(in, (size_t)count * (size_t)bytes, (unsigned)left));
    free(out);
    free(in);
    free(requests);
    return check_finish();
}
