/* MPI 5.0, section 3.6: a buffer attached to a session serves buffered sends on communicators that
 * were made from the session's groups, also through a part of the group and a duplicate. */
#include "check.h"

enum { SPACE = 4 * (100 + MPI_BSEND_OVERHEAD) };

static char space[SPACE];

/* Sends to itself, within the buffer and beyond it. */
static void use(MPI_Comm comm)
{
    static char big[SPACE];
    char out[100], in[100];
    int rank;
    CHECK_MPI(MPI_Comm_rank(comm, &rank));
    for (int i = 0; i < 8; i++) {
        memset(out, i, sizeof out);
        CHECK_MPI(MPI_Bsend(out, 100, MPI_CHAR, rank, i, comm));
        CHECK_MPI(MPI_Recv(in, 100, MPI_CHAR, rank, i, comm, MPI_STATUS_IGNORE));
        CHECK(in[0] == i && in[99] == i);
    }
    CHECK_MPI(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    int error = MPI_Bsend(big, SPACE, MPI_CHAR, rank, 99, comm), class = MPI_SUCCESS;
    CHECK(error != MPI_SUCCESS);
    MPI_Error_class(error, &class);
    CHECK_EQ(class, MPI_ERR_BUFFER);
}

int main(int argc, char **argv)
{
    MPI_Session session;
    MPI_Group world, first;
    MPI_Comm all, again, alone;
    void *address = NULL;
    int size = 0, rank, zero = 0;
    check_init(&argc, &argv);
    CHECK_MPI(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
    CHECK_MPI(MPI_Session_attach_buffer(session, space, SPACE));
    CHECK_MPI(MPI_Group_from_session_pset(session, "mpi://WORLD", &world));
    CHECK_MPI(MPI_Comm_create_from_group(world, "hpvm.test.bsend.all", MPI_INFO_NULL,
                                         MPI_ERRORS_RETURN, &all));
    use(all);
    CHECK_MPI(MPI_Comm_dup(all, &again));
    use(again);
    CHECK_MPI(MPI_Comm_rank(all, &rank));
    CHECK_MPI(MPI_Group_incl(world, 1, &zero, &first));
    if (rank == 0) {
        CHECK_MPI(MPI_Comm_create_from_group(first, "hpvm.test.bsend.one", MPI_INFO_NULL,
                                             MPI_ERRORS_RETURN, &alone));
        use(alone);
        CHECK_MPI(MPI_Comm_free(&alone));
    }
    CHECK_MPI(MPI_Session_flush_buffer(session));
    CHECK_MPI(MPI_Session_detach_buffer(session, &address, &size));
    CHECK(address == space);
    CHECK_EQ(size, SPACE);
    CHECK_MPI(MPI_Group_free(&first));
    CHECK_MPI(MPI_Group_free(&world));
    CHECK_MPI(MPI_Comm_free(&again));
    CHECK_MPI(MPI_Comm_free(&all));
    CHECK_MPI(MPI_Session_finalize(&session));
    return check_finish();
}
