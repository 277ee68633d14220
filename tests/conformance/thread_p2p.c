/* MPI 5.0, 11.6: under MPI_THREAD_MULTIPLE several threads send and receive at once, each with its
 * own tag, to the next rank and to itself, small and large, blocking and not. */
#include "thread.h"

#define ROUNDS 60

static void *pair(void *argument)
{
    int me = *(int *)argument;
    int right = (check_rank + 1) % check_size, left = (check_rank + check_size - 1) % check_size;
    static const int sizes[] = { 4, 64, 3000, 100000 };
    unsigned char *out = malloc(100000), *in = malloc(100000);
    for (int round = 0; round < ROUNDS; round++) {
        int size = sizes[round % 4];
        unsigned seed = (unsigned)(round * 10 + me), own = seed + (unsigned)check_rank * 1000;
        MPI_Status status;
        pattern_fill(out, (size_t)size, own);
        if (round % 3 == 0) {
            CHECK_MPI(MPI_Sendrecv(out, size, MPI_BYTE, right, me, in, size, MPI_BYTE, left, me,
                                   MPI_COMM_WORLD, &status));
        } else {
            MPI_Request requests[2];
            MPI_Status statuses[2];
            CHECK_MPI(MPI_Isend(out, size, MPI_BYTE, right, me, MPI_COMM_WORLD, &requests[0]));
            CHECK_MPI(MPI_Irecv(in, size, MPI_BYTE, left, me, MPI_COMM_WORLD, &requests[1]));
            if (round % 3 == 1)
                CHECK_MPI(MPI_Waitall(2, requests, statuses));
            for (int flag = 0; round % 3 == 2 && !flag;)
                CHECK_MPI(MPI_Testall(2, requests, &flag, statuses));
            status = statuses[1];
        }
        CHECK_EQ(status.MPI_TAG, me);
        CHECK(pattern_holds(in, (size_t)size, seed + (unsigned)left * 1000));
    }
    free(out);
    free(in);
    return NULL;
}

int main(int argc, char **argv)
{
    thread_init(&argc, &argv);
    thread_run(pair);
    return check_finish();
}
