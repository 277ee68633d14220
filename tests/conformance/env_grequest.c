/* MPI 5.0, 12.2 "Generalized Requests": query, free and cancel functions are called when the
 * standard says; mixed with ordinary requests. */
#include "check.h"

static int queries, frees, cancels, cancel_complete;

static int query(void *state, MPI_Status *status)
{
    queries++;
    MPI_Status_set_elements(status, MPI_INT, *(int *)state);
    MPI_Status_set_cancelled(status, cancels > 0);
    status->MPI_SOURCE = 3;
    status->MPI_TAG = 4;
    return MPI_SUCCESS;
}

static int release(void *state)
{
    (void)state;
    frees++;
    return MPI_SUCCESS;
}

static int cancel(void *state, int complete)
{
    (void)state;
    cancels++;
    cancel_complete = complete;
    return MPI_SUCCESS;
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    MPI_Request requests[2], request;
    MPI_Status status, statuses[2];
    int state = 12, flag = 1, count = -1, value = -1;
    CHECK_MPI(MPI_Grequest_start(query, release, cancel, &state, &request));
    CHECK_MPI(MPI_Test(&request, &flag, &status));
    CHECK(!flag && queries == 0);
    CHECK_MPI(MPI_Grequest_complete(request));
    CHECK_MPI(MPI_Wait(&request, &status));
    CHECK(request == MPI_REQUEST_NULL);
    CHECK(queries == 1 && frees == 1 && cancels == 0);
    CHECK_MPI(MPI_Get_count(&status, MPI_INT, &count));
    CHECK_EQ(count, 12);
    CHECK(status.MPI_SOURCE == 3 && status.MPI_TAG == 4);
    /* Freed before it completes: released at completion. */
    CHECK_MPI(MPI_Grequest_start(query, release, cancel, &state, &request));
    MPI_Request copy = request;
    CHECK_MPI(MPI_Request_free(&request));
    CHECK_EQ(frees, 1);
    CHECK_MPI(MPI_Grequest_complete(copy));
    CHECK_EQ(frees, 2);
    /* With a receive in one wait. */
    CHECK_MPI(MPI_Grequest_start(query, release, cancel, &state, &requests[0]));
    CHECK_MPI(MPI_Irecv(&value, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &requests[1]));
    CHECK_MPI(MPI_Testall(2, requests, &flag, statuses));
    CHECK(!flag);
    CHECK_MPI(MPI_Send(&state, 1, MPI_INT, 0, 1, MPI_COMM_SELF));
    CHECK_MPI(MPI_Grequest_complete(requests[0]));
    CHECK_MPI(MPI_Waitall(2, requests, statuses));
    CHECK(value == 12 && statuses[0].MPI_TAG == 4 && statuses[1].MPI_TAG == 1);
    CHECK_EQ(frees, 3);
    /* Cancelled. */
    CHECK_MPI(MPI_Grequest_start(query, release, cancel, &state, &request));
    CHECK_MPI(MPI_Cancel(&request));
    CHECK(cancels == 1 && cancel_complete == 0);
    CHECK_MPI(MPI_Grequest_complete(request));
    CHECK_MPI(MPI_Wait(&request, &status));
    CHECK_MPI(MPI_Test_cancelled(&status, &flag));
    CHECK(flag);
    CHECK_EQ(frees, 4);
    return check_finish();
}
