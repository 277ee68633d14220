/* MPI 5.0, 7.6 "Inter-Communication": ranks name processes of the remote group; probes, wildcards,
 * groups, MPI_Comm_test_inter, merge in both orders, dup and split of an intercommunicator. */
#include "inter.h"

static void messages(MPI_Comm comm)
{
    MPI_Request *requests = malloc((size_t)(2 * inter_remote) * sizeof *requests);
    int *values = malloc((size_t)inter_remote * sizeof(int));
    for (int r = 0; r < inter_remote; r++) {
        CHECK_MPI(MPI_Irecv(&values[r], 1, MPI_INT, r, 4, comm, &requests[2 * r]));
        CHECK_MPI(MPI_Isend(&check_rank, 1, MPI_INT, r, 4, comm, &requests[2 * r + 1]));
    }
    CHECK_MPI(MPI_Waitall(2 * inter_remote, requests, MPI_STATUSES_IGNORE));
    for (int r = 0; r < inter_remote; r++)
        CHECK_EQ(values[r], inter_first + r);
    /* From any source: the status names the rank in the remote group. */
    for (int r = 0; r < inter_remote; r++)
        CHECK_MPI(MPI_Isend(&check_rank, 1, MPI_INT, r, 5, comm, &requests[r]));
    for (int r = 0; r < inter_remote; r++) {
        MPI_Status status;
        int value = -1;
        CHECK_MPI(MPI_Probe(MPI_ANY_SOURCE, 5, comm, &status));
        CHECK_MPI(MPI_Recv(&value, 1, MPI_INT, status.MPI_SOURCE, 5, comm, MPI_STATUS_IGNORE));
        CHECK_EQ(value, inter_first + status.MPI_SOURCE);
    }
    CHECK_MPI(MPI_Waitall(inter_remote, requests, MPI_STATUSES_IGNORE));
    free(requests);
    free(values);
}

static void merged(int high)
{
    MPI_Comm merged;
    int rank = -1, size = -1, flag = 1, sum = 0, want = check_rank;
    CHECK_MPI(MPI_Intercomm_merge(inter_comm, high, &merged));
    CHECK_MPI(MPI_Comm_rank(merged, &rank));
    CHECK_MPI(MPI_Comm_size(merged, &size));
    CHECK_EQ(size, check_size);
    if (high == inter_low) /* the low group was asked to come last */
        want = inter_low ? inter_remote + inter_rank : inter_rank;
    CHECK_EQ(rank, want);
    CHECK_MPI(MPI_Comm_test_inter(merged, &flag));
    CHECK(!flag);
    CHECK_MPI(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, merged));
    CHECK_EQ(sum, size * (size - 1) / 2);
    CHECK_MPI(MPI_Comm_free(&merged));
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    CHECK_NEEDS(2);
    inter_create();
    int flag = 0, size = -1, result = -1;
    CHECK_MPI(MPI_Comm_test_inter(inter_comm, &flag));
    CHECK(flag);
    MPI_Group local, remote, both;
    CHECK_MPI(MPI_Comm_group(inter_comm, &local));
    CHECK_MPI(MPI_Comm_remote_group(inter_comm, &remote));
    CHECK_MPI(MPI_Group_size(remote, &size));
    CHECK_EQ(size, inter_remote);
    CHECK_MPI(MPI_Group_intersection(local, remote, &both));
    CHECK(both == MPI_GROUP_EMPTY);
    CHECK_MPI(MPI_Group_free(&local));
    CHECK_MPI(MPI_Group_free(&remote));
    messages(inter_comm);
    merged(0 + !inter_low);
    merged(inter_low);
    MPI_Comm dup, part;
    CHECK_MPI(MPI_Comm_dup(inter_comm, &dup));
    CHECK_MPI(MPI_Comm_compare(inter_comm, dup, &result));
    CHECK_EQ(result, MPI_CONGRUENT);
    messages(dup);
    CHECK_MPI(MPI_Comm_free(&dup));
    /* Split: colour 0 holds rank 0 of both sides. */
    CHECK_MPI(MPI_Comm_split(inter_comm, inter_rank == 0 ? 0 : MPI_UNDEFINED, 0, &part));
    if (inter_rank == 0) {
        int value = -1, remote_size = -1;
        CHECK_MPI(MPI_Comm_remote_size(part, &remote_size));
        CHECK_EQ(remote_size, 1);
        CHECK_MPI(MPI_Sendrecv(&check_rank, 1, MPI_INT, 0, 6, &value, 1, MPI_INT, 0, 6, part,
                               MPI_STATUS_IGNORE));
        CHECK_EQ(value, inter_first);
        CHECK_MPI(MPI_Comm_free(&part));
    } else {
        CHECK(part == MPI_COMM_NULL);
    }
    inter_free();
    return check_finish();
}
