/* MPI 5.0, 3.8.2 and 3.8.3 "Matching Probe" and "Matched Receives": a matched message belongs to
 * its handle; other probes and receives do not see it any more. */
#include "check.h"

static void fill(int **data, int size, int number)
{
    *data = malloc(((size_t)size + 1) * sizeof(int));
    for (int i = 0; i <= size; i++)
        (*data)[i] = number;
}

/* Two messages of the same envelope are matched first, then received in the other order. */
static void receive_crosswise(int from, int size)
{
    MPI_Message messages[2];
    MPI_Status status;
    MPI_Request request;
    int flag = 0, count = -1, *data;
    CHECK_MPI(MPI_Mprobe(from, 1, MPI_COMM_WORLD, &messages[0], &status));
    CHECK_MPI(MPI_Get_count(&status, MPI_INT, &count));
    CHECK_EQ(count, size);
    while (!flag)
        CHECK_MPI(MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &messages[1],
                              &status));
    CHECK_EQ(status.MPI_SOURCE, from);
    CHECK_EQ(status.MPI_TAG, 1);
    CHECK_MPI(MPI_Iprobe(from, 1, MPI_COMM_WORLD, &flag, &status));
    CHECK(!flag);
    fill(&data, size, -1);
    CHECK_MPI(MPI_Imrecv(data, size, MPI_INT, &messages[1], &request));
    CHECK(messages[1] == MPI_MESSAGE_NULL);
    CHECK_MPI(MPI_Wait(&request, &status));
    CHECK(size == 0 || (data[0] == 2 && data[size - 1] == 2));
    CHECK_EQ(data[size], -1);
    CHECK_MPI(MPI_Mrecv(data, size, MPI_INT, &messages[0], &status));
    CHECK(messages[0] == MPI_MESSAGE_NULL);
    CHECK(size == 0 || (data[0] == 1 && data[size - 1] == 1));
    CHECK_EQ(status.MPI_SOURCE, from);
    CHECK_EQ(status.MPI_TAG, 1);
    free(data);
}

static int handled;

static void count_call(MPI_Comm *comm, int *code, ...)
{
    (void)comm, (void)code;
    handled++;
}

int main(int argc, char **argv)
{
    static const int sizes[] = { 0, 1, 16, 2000, 30000, 250000 };
    check_init(&argc, &argv);
    CHECK_NEEDS(2);
    for (int i = 0; i < 6; i++) {
        if (check_rank == 0) {
            receive_crosswise(1, sizes[i]);
        } else if (check_rank == 1) {
            int *first, *second;
            MPI_Request requests[2];
            fill(&first, sizes[i], 1);
            fill(&second, sizes[i], 2);
            CHECK_MPI(MPI_Isend(first, sizes[i], MPI_INT, 0, 1, MPI_COMM_WORLD, &requests[0]));
            CHECK_MPI(MPI_Issend(second, sizes[i], MPI_INT, 0, 1, MPI_COMM_WORLD, &requests[1]));
            CHECK_MPI(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
            free(first);
            free(second);
        }
        CHECK_MPI(MPI_Barrier(MPI_COMM_WORLD));
    }
    int flag = 1;
    MPI_Message message = MPI_MESSAGE_NULL;
    CHECK_MPI(MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &message,
                          MPI_STATUS_IGNORE));
    CHECK(!flag);
    CHECK_MPI(MPI_Barrier(MPI_COMM_WORLD));
    /* A truncating matched receive is an error like any other. */
    int pair[2] = { 1, 2 }, in[2] = { 0, 99 };
    MPI_Request request;
    CHECK_MPI(MPI_Isend(pair, 2, MPI_INT, 0, 0, MPI_COMM_SELF, &request));
    CHECK_MPI(MPI_Mprobe(0, 0, MPI_COMM_SELF, &message, MPI_STATUS_IGNORE));
    CHECK_CLASS(MPI_Mrecv(in, 1, MPI_INT, &message, MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE);
    CHECK_EQ(in[1], 99);
    CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    /* It goes to the error handler of the message's communicator. */
    MPI_Comm own;
    int calls = 0;
    MPI_Errhandler handler;
    CHECK_MPI(MPI_Comm_dup(MPI_COMM_SELF, &own));
    CHECK_MPI(MPI_Comm_create_errhandler(count_call, &handler));
    CHECK_MPI(MPI_Comm_set_errhandler(own, handler));
    CHECK_MPI(MPI_Isend(pair, 2, MPI_INT, 0, 0, own, &request));
    CHECK_MPI(MPI_Mprobe(0, 0, own, &message, MPI_STATUS_IGNORE));
    calls = handled;
    CHECK_CLASS(MPI_Mrecv(in, 1, MPI_INT, &message, MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE);
    CHECK_EQ(handled, calls + 1);
    CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK_MPI(MPI_Errhandler_free(&handler));
    CHECK_MPI(MPI_Comm_free(&own));
    return check_finish();
}
