/* MPI 5.0, 7.4.2 and 7.6.2: communicators from groups without a parent, with string tags;
 * intercommunicators from groups; a chain of intercommunicators with one tag; MPI_Comm_create and
 * MPI_Comm_split of an intercommunicator; guided splits. With the argument "strict" also: hints
 * are kept, and MPI_Comm_disconnect waits for what is under way. */
#include "check.h"

static void works(MPI_Comm comm, int size)
{
    int one = 1, sum = 0;
    CHECK_MPI(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm));
    CHECK_EQ(sum, size);
}

static void from_group(void)
{
    MPI_Group world, part;
    MPI_Comm all, some;
    int calls[1][3] = { { check_rank % 2, check_size - 1, 2 } }, size = -1, code = 0;
    MPI_Errhandler handler;
    CHECK_MPI(MPI_Comm_group(MPI_COMM_WORLD, &world));
    CHECK_MPI(MPI_Comm_create_from_group(world, "test://all", MPI_INFO_NULL, MPI_ERRORS_RETURN,
                                         &all));
    works(all, check_size);
    CHECK_MPI(MPI_Comm_get_errhandler(all, &handler));
    CHECK(handler == MPI_ERRORS_RETURN);
    if (check_rank % 2 <= check_size - 1) {
        CHECK_MPI(MPI_Group_range_incl(world, 1, calls, &part));
        CHECK_MPI(MPI_Group_size(part, &size));
        CHECK_MPI(MPI_Comm_create_from_group(part, "test://parity", MPI_INFO_NULL,
                                             MPI_ERRORS_ARE_FATAL, &some));
        works(some, size);
        CHECK_MPI(MPI_Comm_free(&some));
        CHECK_MPI(MPI_Group_free(&part));
    }
    CHECK_MPI(MPI_Comm_compare(all, MPI_COMM_WORLD, &code));
    CHECK_EQ(code, MPI_CONGRUENT);
    CHECK_MPI(MPI_Comm_free(&all));
    CHECK_MPI(MPI_Group_free(&world));
}

static void two_groups(void)
{
    if (check_size < 2)
        return;
    MPI_Group world, mine, other;
    MPI_Comm inter;
    int low = check_rank < check_size / 2, half = check_size / 2, remote = -1;
    int first[1][3] = { { 0, half - 1, 1 } };
    CHECK_MPI(MPI_Comm_group(MPI_COMM_WORLD, &world));
    CHECK_MPI(MPI_Group_range_incl(world, 1, first, low ? &mine : &other));
    CHECK_MPI(MPI_Group_range_excl(world, 1, first, low ? &other : &mine));
    CHECK_MPI(MPI_Intercomm_create_from_groups(mine, 0, other, 0, "test://halves", MPI_INFO_NULL,
                                               MPI_ERRORS_RETURN, &inter));
    CHECK_MPI(MPI_Comm_remote_size(inter, &remote));
    CHECK_EQ(remote, low ? check_size - half : half);
    works(inter, remote);
    /* Parts of both sides: the first process of each, then all but those. */
    MPI_Group part;
    MPI_Comm pair, rest;
    int zero = 0, rank = -1;
    CHECK_MPI(MPI_Comm_rank(inter, &rank));
    CHECK_MPI(MPI_Group_incl(mine, 1, &zero, &part));
    CHECK_MPI(MPI_Comm_create(inter, part, &pair));
    CHECK((pair != MPI_COMM_NULL) == (rank == 0));
    if (pair != MPI_COMM_NULL) {
        works(pair, 1);
        CHECK_MPI(MPI_Comm_free(&pair));
    }
    CHECK_MPI(MPI_Comm_split(inter, rank == 0 ? MPI_UNDEFINED : 4, -rank, &rest));
    int both = half > 1 && check_size - half > 1;
    CHECK((rest != MPI_COMM_NULL) == (rank > 0 && both));
    if (rest != MPI_COMM_NULL) {
        works(rest, remote - 1);
        CHECK_MPI(MPI_Comm_free(&rest));
    }
    CHECK_MPI(MPI_Group_free(&part));
    CHECK_MPI(MPI_Comm_disconnect(&inter));
    CHECK(inter == MPI_COMM_NULL);
    CHECK_MPI(MPI_Group_free(&mine));
    CHECK_MPI(MPI_Group_free(&other));
    CHECK_MPI(MPI_Group_free(&world));
}

/* Each process with its right neighbour, all with the same tag. */
static void chain(void)
{
    MPI_Comm left = MPI_COMM_NULL, right = MPI_COMM_NULL;
    int value = -1;
    for (int step = 0; step < 2; step++) {
        int partner = (check_rank + step) % 2 ? check_rank - 1 : check_rank + 1;
        if (partner < 0 || partner >= check_size)
            continue;
        CHECK_MPI(MPI_Intercomm_create(MPI_COMM_SELF, 0, MPI_COMM_WORLD, partner, 9,
                                       partner < check_rank ? &left : &right));
    }
    if (right != MPI_COMM_NULL)
        CHECK_MPI(MPI_Send(&check_rank, 1, MPI_INT, 0, 0, right));
    if (left != MPI_COMM_NULL) {
        CHECK_MPI(MPI_Recv(&value, 1, MPI_INT, 0, 0, left, MPI_STATUS_IGNORE));
        CHECK_EQ(value, check_rank - 1);
        CHECK_MPI(MPI_Comm_free(&left));
    }
    if (right != MPI_COMM_NULL)
        CHECK_MPI(MPI_Comm_free(&right));
}

static void by_hardware(void)
{
    MPI_Comm shared, part;
    MPI_Info info;
    int size = -1, whole = -1, result = -1;
    CHECK_MPI(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &shared));
    CHECK_MPI(MPI_Comm_size(shared, &whole));
    CHECK_MPI(MPI_Info_create(&info));
    CHECK_MPI(MPI_Info_set(info, "mpi_hw_resource_type", "mpi_shared_memory"));
    CHECK_MPI(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_GUIDED, 0, info, &part));
    CHECK_MPI(MPI_Comm_compare(shared, part, &result));
    CHECK_EQ(result, MPI_CONGRUENT);
    CHECK_MPI(MPI_Comm_free(&part));
    CHECK_MPI(MPI_Info_set(info, "mpi_hw_resource_type", "nothing of this name"));
    CHECK_MPI(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_GUIDED, 0, info, &part));
    CHECK(part == MPI_COMM_NULL);
    CHECK_MPI(MPI_Info_free(&info));
    /* Always a smaller part, in the end none. */
    int steps = 0;
    CHECK_MPI(MPI_Comm_split_type(shared, MPI_COMM_TYPE_HW_UNGUIDED, 0, MPI_INFO_NULL, &part));
    while (part != MPI_COMM_NULL && steps++ < 20) {
        MPI_Comm next;
        CHECK_MPI(MPI_Comm_size(part, &size));
        CHECK(size < whole);
        whole = size;
        CHECK_MPI(MPI_Comm_split_type(part, MPI_COMM_TYPE_HW_UNGUIDED, 0, MPI_INFO_NULL, &next));
        CHECK_MPI(MPI_Comm_free(&part));
        part = next;
    }
    CHECK(part == MPI_COMM_NULL);
    CHECK_MPI(MPI_Comm_free(&shared));
}

/* Hints travel with duplicates and can be replaced; disconnect waits for what is under way. */
static void hints(void)
{
    MPI_Comm comm, dup;
    MPI_Info info, got;
    char value[MPI_MAX_INFO_VAL];
    int flag = 0, length = sizeof value;
    int right = (check_rank + 1) % check_size, left = (check_rank + check_size - 1) % check_size;
    static int out[30000], in[30000];
    CHECK_MPI(MPI_Info_create(&info));
    CHECK_MPI(MPI_Info_set(info, "mpi_assert_no_any_tag", "true"));
    CHECK_MPI(MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &comm));
    CHECK_MPI(MPI_Comm_dup(comm, &dup));
    CHECK_MPI(MPI_Comm_get_info(dup, &got));
    CHECK_MPI(MPI_Info_get_string(got, "mpi_assert_no_any_tag", &length, value, &flag));
    CHECK(flag && !strcmp(value, "true"));
    CHECK_MPI(MPI_Info_free(&got));
    CHECK_MPI(MPI_Info_free(&info));
    CHECK_MPI(MPI_Comm_free(&dup));
    MPI_Request requests[2];
    out[29999] = check_rank;
    CHECK_MPI(MPI_Irecv(in, 30000, MPI_INT, left, 1, comm, &requests[0]));
    CHECK_MPI(MPI_Isend(out, 30000, MPI_INT, right, 1, comm, &requests[1]));
    CHECK_MPI(MPI_Comm_disconnect(&comm));
    int done = 0;
    CHECK_MPI(MPI_Testall(2, requests, &done, MPI_STATUSES_IGNORE));
    CHECK(done && in[29999] == left);
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    from_group();
    two_groups();
    chain();
    by_hardware();
    if (argc > 1 && !strcmp(argv[1], "strict"))
        hints();
    return check_finish();
}
