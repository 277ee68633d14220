/* MPI 5.0, 3.8.4 "Cancel": MPI_Wait on a send that was cancelled returns although nobody receives the message.
 * Either the send was cancelled, and no part of the message is received, or it was not, and it is received. */
#include "check.h"

#define LARGEST (3 << 20)

static int right, left;
static char *out, *in;

static void start(int synchronous, int bytes, int to, int tag, MPI_Comm comm, MPI_Request *request)
{
    if (synchronous)
        CHECK_MPI(MPI_Issend(out, bytes, MPI_CHAR, to, tag, comm, request));
    else
        CHECK_MPI(MPI_Isend(out, bytes, MPI_CHAR, to, tag, comm, request));
}

/* Cancels, waits, and says whether the send was cancelled. */
static int cancel(MPI_Request *request)
{
    MPI_Status status;
    int flag = -1;
    CHECK_MPI(MPI_Cancel(request));
    CHECK_MPI(MPI_Wait(request, &status));
    CHECK_MPI(MPI_Test_cancelled(&status, &flag));
    return flag;
}

/* Nobody has posted a receive. What was cancelled is overtaken by the message after it. */
static void unmatched(int synchronous, int bytes)
{
    MPI_Request request;
    MPI_Status status;
    int last = 0, cancelled, theirs = 0;
    memset(out, 1, (size_t)bytes);
    start(synchronous, bytes, right, 1, MPI_COMM_WORLD, &request);
    cancelled = cancel(&request);
    CHECK(cancelled || !synchronous);
    CHECK_MPI(MPI_Sendrecv(&cancelled, 1, MPI_INT, right, 2, &theirs, 1, MPI_INT, left, 2, MPI_COMM_WORLD,
                           MPI_STATUS_IGNORE));
    last = 77;
    CHECK_MPI(MPI_Isend(&last, 1, MPI_INT, right, 1, MPI_COMM_WORLD, &request));
    if (!theirs) {
        CHECK_MPI(MPI_Recv(in, LARGEST, MPI_CHAR, left, 1, MPI_COMM_WORLD, &status));
        int count = -1;
        CHECK_MPI(MPI_Get_count(&status, MPI_CHAR, &count));
        CHECK_EQ(count, bytes);
    }
    int got = 0;
    CHECK_MPI(MPI_Recv(&got, 1, MPI_INT, left, 1, MPI_COMM_WORLD, &status));
    CHECK_EQ(got, 77);
    CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

/* The receive is there: too late to cancel. */
static void matched(int synchronous, int bytes)
{
    MPI_Request request, receive;
    memset(in, 0, (size_t)bytes);
    memset(out, 5, (size_t)bytes);
    CHECK_MPI(MPI_Irecv(in, bytes, MPI_CHAR, left, 3, MPI_COMM_WORLD, &receive));
    CHECK_MPI(MPI_Barrier(MPI_COMM_WORLD));
    start(synchronous, bytes, right, 3, MPI_COMM_WORLD, &request);
    int cancelled = cancel(&request), theirs = 0;
    CHECK_MPI(MPI_Sendrecv(&cancelled, 1, MPI_INT, right, 2, &theirs, 1, MPI_INT, left, 2, MPI_COMM_WORLD,
                           MPI_STATUS_IGNORE));
    if (theirs) {
        CHECK_MPI(MPI_Cancel(&receive));
        CHECK_MPI(MPI_Wait(&receive, MPI_STATUS_IGNORE));
    } else {
        CHECK_MPI(MPI_Wait(&receive, MPI_STATUS_IGNORE));
        CHECK(in[0] == 5 && in[bytes - 1] == 5);
    }
}

/* Sends to the process itself, all started before the first is cancelled; more than a short queue holds. */
static void to_self(void)
{
    enum { N = 150 };
    MPI_Request request[N];
    int cancelled[N];
    for (int i = 0; i < N; i++)
        start(i % 2, i % 3 ? 8 : 200000, 0, i, MPI_COMM_SELF, &request[i]);
    for (int i = N - 1; i >= 0; i--) {
        cancelled[i] = cancel(&request[i]);
        CHECK(cancelled[i] || i % 2 == 0);
    }
    for (int i = 0; i < N; i++)
        if (!cancelled[i])
            CHECK_MPI(MPI_Recv(in, LARGEST, MPI_CHAR, 0, i, MPI_COMM_SELF, MPI_STATUS_IGNORE));
    int flag = 1;
    CHECK_MPI(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE));
    CHECK(!flag);
}

/* A send to the process itself that has been probed is cancelled at once: mpi4py's tests look only once. */
static void probed(void)
{
    MPI_Request request;
    MPI_Status status;
    int flag = 0, cancelled = 0;
    CHECK_MPI(MPI_Issend(out, 0, MPI_CHAR, 0, 7, MPI_COMM_SELF, &request));
    CHECK_MPI(MPI_Probe(0, 7, MPI_COMM_SELF, &status));
    CHECK_MPI(MPI_Cancel(&request));
    CHECK_MPI(MPI_Request_get_status(request, &flag, &status));
    CHECK_MPI(MPI_Test_cancelled(&status, &cancelled));
    CHECK(flag && cancelled);
    CHECK_MPI(MPI_Wait(&request, &status));
    CHECK_MPI(MPI_Test_cancelled(&status, &cancelled));
    CHECK(cancelled);
}

/* A persistent send is cancelled per start; a request that is freed at once is cancelled as well. */
static void persistent_and_freed(void)
{
    MPI_Request request;
    CHECK_MPI(MPI_Ssend_init(out, 100000, MPI_CHAR, right, 4, MPI_COMM_WORLD, &request));
    for (int round = 0; round < 2; round++) {
        CHECK_MPI(MPI_Start(&request));
        CHECK(cancel(&request));
    }
    CHECK_MPI(MPI_Request_free(&request));
    start(1, 10, right, 4, MPI_COMM_WORLD, &request);
    CHECK_MPI(MPI_Cancel(&request));
    CHECK_MPI(MPI_Cancel(&request));
    CHECK_MPI(MPI_Request_free(&request));
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    right = (check_rank + 1) % check_size;
    left = (check_rank + check_size - 1) % check_size;
    out = malloc(LARGEST);
    in = malloc(LARGEST);
    int sizes[] = {4, 5000, 60000, 100000, 600000, LARGEST};
    for (int synchronous = 0; synchronous < 2; synchronous++)
        for (int i = 0; i < 6; i++) {
            unmatched(synchronous, sizes[i]);
            matched(synchronous, sizes[i]);
        }
    to_self();
    probed();
    persistent_and_freed();
    int errors = check_finish();
    free(in);
    free(out);
    return errors;
}
