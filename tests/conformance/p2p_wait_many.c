/* MPI 5.0, 3.7.5 "Multiple Completions": Waitany, Testany, Waitall, Testall, Waitsome, Testsome
 * with null, inactive and active requests, and with empty lists. */
#include "check.h"

#define COUNT 12

static MPI_Request requests[COUNT];
static int in[COUNT];

/* Receives at the even places only; the odd ones are null. */
static void post(void)
{
    for (int i = 0; i < COUNT; i++) {
        requests[i] = MPI_REQUEST_NULL;
        in[i] = -1;
        if (i % 2 == 0)
            CHECK_MPI(MPI_Irecv(&in[i], 1, MPI_INT, 0, i, MPI_COMM_SELF, &requests[i]));
    }
}

static void feed(int tag)
{
    int value = tag * 10;
    CHECK_MPI(MPI_Send(&value, 1, MPI_INT, 0, tag, MPI_COMM_SELF));
}

static void any(int test)
{
    MPI_Status status;
    int index = -5, flag = 0;
    post();
    if (test) {
        CHECK_MPI(MPI_Testany(COUNT, requests, &index, &flag, &status));
        CHECK(!flag);
        CHECK_EQ(index, MPI_UNDEFINED);
    }
    static const int order[] = { 6, 0, 10, 2, 8, 4 };
    for (int i = 0; i < 6; i++) {
        feed(order[i]);
        flag = !test;
        if (!test)
            CHECK_MPI(MPI_Waitany(COUNT, requests, &index, &status));
        while (!flag)
            CHECK_MPI(MPI_Testany(COUNT, requests, &index, &flag, &status));
        CHECK_EQ(index, order[i]);
        CHECK_EQ(status.MPI_TAG, order[i]);
        CHECK_EQ(in[order[i]], order[i] * 10);
        CHECK(requests[order[i]] == MPI_REQUEST_NULL);
    }
    /* Nothing active: undefined, at once, with an empty status. */
    index = flag = 0;
    CHECK_MPI(MPI_Waitany(COUNT, requests, &index, &status));
    CHECK_EQ(index, MPI_UNDEFINED);
    CHECK_EQ(status.MPI_TAG, MPI_ANY_TAG);
    CHECK_MPI(MPI_Testany(COUNT, requests, &index, &flag, &status));
    CHECK(flag && index == MPI_UNDEFINED);
    CHECK_MPI(MPI_Waitany(0, NULL, &index, MPI_STATUS_IGNORE));
    CHECK_EQ(index, MPI_UNDEFINED);
}

static void some(int test)
{
    MPI_Status statuses[COUNT];
    int indices[COUNT], done = -5, seen = 0, total = 0;
    post();
    if (test) {
        CHECK_MPI(MPI_Testsome(COUNT, requests, &done, indices, statuses));
        CHECK_EQ(done, 0);
    }
    for (int i = 0; i < COUNT; i += 2)
        feed(i);
    for (int spin = 0; total < COUNT / 2 && spin < 1000000; spin++) {
        if (test)
            CHECK_MPI(MPI_Testsome(COUNT, requests, &done, indices, statuses));
        else
            CHECK_MPI(MPI_Waitsome(COUNT, requests, &done, indices, statuses));
        CHECK(done >= (test ? 0 : 1) && done <= COUNT / 2);
        for (int i = 0; i < done; i++, total++) {
            CHECK_EQ(statuses[i].MPI_TAG, indices[i]);
            CHECK_EQ(in[indices[i]], indices[i] * 10);
            seen |= 1 << indices[i];
        }
    }
    CHECK_EQ(seen, 0x555);
    CHECK_MPI(MPI_Waitsome(COUNT, requests, &done, indices, MPI_STATUSES_IGNORE));
    CHECK_EQ(done, MPI_UNDEFINED);
    CHECK_MPI(MPI_Testsome(COUNT, requests, &done, indices, MPI_STATUSES_IGNORE));
    CHECK_EQ(done, MPI_UNDEFINED);
}

static void all(int test)
{
    MPI_Status statuses[COUNT];
    int flag = 0;
    post();
    for (int i = COUNT - 2; i > 0; i -= 2)
        feed(i);
    /* One is missing: not done, and no request is freed by the failed test. */
    CHECK_MPI(MPI_Testall(COUNT, requests, &flag, statuses));
    CHECK(!flag);
    CHECK(requests[0] != MPI_REQUEST_NULL && requests[2] != MPI_REQUEST_NULL);
    feed(0);
    if (!test)
        CHECK_MPI(MPI_Waitall(COUNT, requests, statuses));
    while (test && !flag)
        CHECK_MPI(MPI_Testall(COUNT, requests, &flag, statuses));
    for (int i = 0; i < COUNT; i++) {
        CHECK(requests[i] == MPI_REQUEST_NULL);
        CHECK_EQ(statuses[i].MPI_TAG, i % 2 ? MPI_ANY_TAG : i);
        CHECK_EQ(in[i], i % 2 ? -1 : i * 10);
    }
    CHECK_MPI(MPI_Waitall(0, NULL, MPI_STATUSES_IGNORE));
    CHECK_MPI(MPI_Testall(0, NULL, &flag, MPI_STATUSES_IGNORE));
    CHECK(flag);
}

/* Inactive persistent requests are skipped by the any and some forms. */
static void inactive(void)
{
    int index = 0, flag = 0, done = 0, indices[3], value = 0;
    MPI_Request mixed[3];
    CHECK_MPI(MPI_Recv_init(&value, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &mixed[0]));
    CHECK_MPI(MPI_Recv_init(&value, 1, MPI_INT, 0, 2, MPI_COMM_SELF, &mixed[1]));
    mixed[2] = MPI_REQUEST_NULL;
    CHECK_MPI(MPI_Waitany(3, mixed, &index, MPI_STATUS_IGNORE));
    CHECK_EQ(index, MPI_UNDEFINED);
    CHECK_MPI(MPI_Testsome(3, mixed, &done, indices, MPI_STATUSES_IGNORE));
    CHECK_EQ(done, MPI_UNDEFINED);
    CHECK_MPI(MPI_Start(&mixed[1]));
    CHECK_MPI(MPI_Testany(3, mixed, &index, &flag, MPI_STATUS_IGNORE));
    CHECK(!flag);
    feed(2);
    CHECK_MPI(MPI_Waitsome(3, mixed, &done, indices, MPI_STATUSES_IGNORE));
    CHECK(done == 1 && indices[0] == 1);
    CHECK_EQ(value, 20);
    CHECK_MPI(MPI_Waitany(3, mixed, &index, MPI_STATUS_IGNORE));
    CHECK_EQ(index, MPI_UNDEFINED);
    CHECK_MPI(MPI_Request_free(&mixed[0]));
    CHECK_MPI(MPI_Request_free(&mixed[1]));
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    for (int test = 0; test < 2; test++) {
        any(test);
        some(test);
        all(test);
    }
    inactive();
    return check_finish();
}
