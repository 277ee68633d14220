/* MPI 5.0, 11.3: sessions one after the other with communication in each, the world model in
 * between, a session that outlives MPI_Finalize, thread levels, and wrong calls. */
#include "check.h"

static void round_trip(MPI_Session session, const char *tag)
{
    MPI_Group group;
    MPI_Comm comm;
    int rank = -1, size = -1, got = -1;
    CHECK_MPI(MPI_Group_from_session_pset(session, "mpi://WORLD", &group));
    CHECK_MPI(MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
    CHECK_MPI(MPI_Group_free(&group));
    CHECK_MPI(MPI_Comm_rank(comm, &rank));
    CHECK_MPI(MPI_Comm_size(comm, &size));
    CHECK_MPI(MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 1, &got, 1, MPI_INT,
                           (rank + size - 1) % size, 1, comm, MPI_STATUS_IGNORE));
    CHECK_EQ(got, (rank + size - 1) % size);
    CHECK_MPI(MPI_Comm_free(&comm));
}

int main(int argc, char **argv)
{
    MPI_Session session, last;
    MPI_Info info;
    MPI_Group group;
    char value[64] = "";
    int length = sizeof value, flag = 0;
    for (int i = 0; i < 3; i++) {
        CHECK_MPI(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
        round_trip(session, "again");
        CHECK_MPI(MPI_Session_finalize(&session));
    }
    CHECK_MPI(MPI_Info_create(&info));
    CHECK_MPI(MPI_Info_set(info, "thread_level", "MPI_THREAD_MULTIPLE"));
    CHECK_MPI(MPI_Session_init(info, MPI_ERRORS_RETURN, &last));
    CHECK_MPI(MPI_Info_free(&info));
    CHECK_MPI(MPI_Session_get_info(last, &info));
    CHECK_MPI(MPI_Info_get_string(info, "thread_level", &length, value, &flag));
    CHECK(flag && !strcmp(value, "MPI_THREAD_MULTIPLE"));
    CHECK_MPI(MPI_Info_free(&info));
    round_trip(last, "first");
    check_init(&argc, &argv);
    CHECK(MPI_Group_from_session_pset(last, "mpi://nowhere", &group) != MPI_SUCCESS);
    CHECK(MPI_Session_get_nth_pset(last, MPI_INFO_NULL, 1000, &length, NULL) != MPI_SUCCESS);
    round_trip(last, "second");
    int result = check_finish();
    CHECK_MPI(MPI_Finalized(&flag));
    CHECK(flag);
    round_trip(last, "third");
    CHECK_MPI(MPI_Session_finalize(&last));
    CHECK(last == MPI_SESSION_NULL);
    return result || check_errors != 0;
}
