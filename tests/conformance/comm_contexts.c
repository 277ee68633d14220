/* MPI 5.0, 7.2.3 "Communicators": contexts separate messages, also between many communicators that
 * are alive at once, and are used again: many cycles of dup and free. Argument: cycles. */
#include "check.h"

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    int cycles = argc > 1 ? atoi(argv[1]) : 10000;
    int right = (check_rank + 1) % check_size, left = (check_rank + check_size - 1) % check_size;
    enum { MANY = 50 };
    MPI_Comm comms[MANY], comm;
    for (int i = 0; i < MANY; i++)
        CHECK_MPI(MPI_Comm_dup(i % 2 && i > 1 ? comms[i - 2] : MPI_COMM_WORLD, &comms[i]));
    int in[MANY], out[MANY];
    MPI_Request requests[2 * MANY];
    /* The same envelope in each context, received in the other order. */
    for (int i = 0; i < MANY; i++) {
        out[i] = i * 100 + check_rank;
        CHECK_MPI(MPI_Isend(&out[i], 1, MPI_INT, right, 0, comms[i], &requests[i]));
    }
    for (int i = MANY - 1; i >= 0; i--)
        CHECK_MPI(MPI_Irecv(&in[i], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comms[i],
                            &requests[MANY + i]));
    CHECK_MPI(MPI_Waitall(2 * MANY, requests, MPI_STATUSES_IGNORE));
    for (int i = 0; i < MANY; i++)
        CHECK_EQ(in[i], i * 100 + left);
    for (int i = 0; i < MANY; i++)
        CHECK_MPI(MPI_Comm_free(&comms[(i * 7) % MANY]));
    for (int i = 0; i < cycles; i++) {
        CHECK_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
        if (i % 500 == 0) {
            int sum = 0;
            CHECK_MPI(MPI_Allreduce(&check_rank, &sum, 1, MPI_INT, MPI_SUM, comm));
            CHECK_EQ(sum, check_size * (check_size - 1) / 2);
        }
        CHECK_MPI(MPI_Comm_free(&comm));
        if (check_errors)
            break;
    }
    /* The same with processes that are left out of half of the communicators. */
    for (int i = 0; i < cycles / 20; i++) {
        CHECK_MPI(MPI_Comm_split(MPI_COMM_WORLD, (check_rank + i) % 2 ? 0 : MPI_UNDEFINED, 0, &comm));
        if (comm != MPI_COMM_NULL)
            CHECK_MPI(MPI_Comm_free(&comm));
    }
    return check_finish();
}
