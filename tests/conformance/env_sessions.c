/* MPI 5.0, 11.3 "The Sessions Model": sessions without MPI_Init, process sets, groups and
 * communicators from them, several at once, beside the world model afterwards. */
#include "check.h"

static void use(MPI_Session session, const char *set, int expected_size, const char *tag)
{
    MPI_Group group;
    MPI_Comm comm;
    int size = -1, rank = -1, sum = -1;
    CHECK_MPI(MPI_Group_from_session_pset(session, set, &group));
    CHECK_MPI(MPI_Group_size(group, &size));
    CHECK(expected_size == 0 || size == expected_size);
    CHECK_MPI(MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
    CHECK_MPI(MPI_Comm_rank(comm, &rank));
    CHECK_MPI(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm));
    CHECK_EQ(sum, size * (size - 1) / 2);
    CHECK_MPI(MPI_Comm_free(&comm));
    CHECK_MPI(MPI_Group_free(&group));
}

int main(int argc, char **argv)
{
    MPI_Session first, second;
    int sets = -1, flag = -1, found = 0;
    CHECK_MPI(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &first));
    CHECK_MPI(MPI_Initialized(&flag));
    CHECK(!flag); /* of the world model only */
    CHECK_MPI(MPI_Session_get_num_psets(first, MPI_INFO_NULL, &sets));
    CHECK(sets >= 2);
    for (int i = 0; i < sets; i++) {
        char name[MPI_MAX_PSET_NAME_LEN];
        int length = 0;
        CHECK_MPI(MPI_Session_get_nth_pset(first, MPI_INFO_NULL, i, &length, NULL));
        CHECK(length > 1 && length <= MPI_MAX_PSET_NAME_LEN);
        length = sizeof name;
        CHECK_MPI(MPI_Session_get_nth_pset(first, MPI_INFO_NULL, i, &length, name));
        found += !strcmp(name, "mpi://WORLD") || !strcmp(name, "mpi://SELF");
    }
    CHECK_EQ(found, 2);
    MPI_Info info;
    char value[16] = "";
    int length = sizeof value;
    CHECK_MPI(MPI_Session_get_pset_info(first, "mpi://SELF", &info));
    CHECK_MPI(MPI_Info_get_string(info, "mpi_size", &length, value, &flag));
    CHECK(flag && !strcmp(value, "1"));
    CHECK_MPI(MPI_Info_free(&info));
    use(first, "mpi://SELF", 1, "self");
    use(first, "mpi://WORLD", 0, "world");
    CHECK_MPI(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &second));
    use(second, "mpi://WORLD", 0, "second");
    CHECK_MPI(MPI_Session_finalize(&first));
    CHECK(first == MPI_SESSION_NULL);
    use(second, "mpi://WORLD", 0, "still");
    check_init(&argc, &argv);
    use(second, "mpi://WORLD", check_size, "both");
    CHECK_MPI(MPI_Session_finalize(&second));
    int sum = -1;
    CHECK_MPI(MPI_Allreduce(&check_rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    CHECK_EQ(sum, check_size * (check_size - 1) / 2);
    return check_finish();
}
