/* Ranks that outlive one that is killed: outlive CASE, on 3 ranks with --enable-recovery.
 *
 * Rank 1 kills itself with SIGKILL. The others wait for it in CASE, which must end with MPI_ERR_PROC_ABORTED, and so must
 * whatever else needs that rank. What does not need it goes on.
 *
 * fatal: the error handler is the default one, so the job ends.
 */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEAD = 1, LONG = 4 << 20 };

static int rank;
static char *buffer, *other;
static MPI_Comm living, world;
static MPI_Win window; /* the dead rank holds the lock of rank 0 */

static int receive(void) { return MPI_Recv(buffer, 1, MPI_INT, DEAD, 0, world, MPI_STATUS_IGNORE); }
static int anybody(void) { return MPI_Recv(buffer, 1, MPI_INT, MPI_ANY_SOURCE, 9, world, MPI_STATUS_IGNORE); }
static int synchronous(void) { return MPI_Ssend(buffer, 1, MPI_INT, DEAD, 0, world); }
static int lengthy(void) { return MPI_Send(buffer, LONG, MPI_BYTE, DEAD, 0, world); }
static int barrier(void) { return MPI_Barrier(world); }
static int allreduce(void) { return MPI_Allreduce(buffer, other, 1, MPI_INT, MPI_SUM, world); }
static int longreduce(void) { return MPI_Allreduce(buffer, other, LONG / 4, MPI_INT, MPI_SUM, world); }
static int broadcast(void) { return MPI_Bcast(buffer, LONG, MPI_BYTE, DEAD, world); }
static int alltoall(void) { return MPI_Alltoall(buffer, 1000, MPI_INT, other, 1000, MPI_INT, world); }

static int fence(void) { return MPI_Win_fence(0, window); }

static int lock(void)
{
    int code = MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
    return code == MPI_SUCCESS ? MPI_Win_unlock(0, window) : code;
}

static int probe(void)
{
    MPI_Status status;
    return MPI_Probe(DEAD, 0, world, &status);
}

static int test(void)
{
    MPI_Request request;
    int flag = 0, code = MPI_Irecv(buffer, 1, MPI_INT, DEAD, 0, world, &request);
    while (code == MPI_SUCCESS && !flag) code = MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
    return code;
}

static int nonblocking(void)
{
    MPI_Request request;
    int code = MPI_Iallreduce(buffer, other, 1000, MPI_INT, MPI_SUM, world, &request);
    return code == MPI_SUCCESS ? MPI_Wait(&request, MPI_STATUS_IGNORE) : code;
}

static int waitall(void)
{
    MPI_Request requests[2];
    MPI_Status statuses[2];
    MPI_Irecv(buffer, 1, MPI_INT, DEAD, 0, world, &requests[0]);
    MPI_Irecv(other, 1, MPI_INT, rank, 1, world, &requests[1]);
    MPI_Send(&rank, 1, MPI_INT, rank, 1, world);
    int code = MPI_Waitall(2, requests, statuses);
    if (code != MPI_ERR_IN_STATUS || statuses[1].MPI_ERROR != MPI_SUCCESS) return code;
    return statuses[0].MPI_ERROR;
}

static int duplicate(void)
{
    MPI_Comm copy;
    return MPI_Comm_dup(world, &copy);
}

static const struct { const char *name; int (*run)(void); } cases[] = {
    {"receive", receive}, {"anybody", anybody}, {"synchronous", synchronous}, {"lengthy", lengthy}, {"probe", probe},
    {"test", test}, {"waitall", waitall}, {"barrier", barrier}, {"allreduce", allreduce}, {"longreduce", longreduce},
    {"broadcast", broadcast}, {"alltoall", alltoall}, {"nonblocking", nonblocking}, {"duplicate", duplicate},
    {"fence", fence}, {"lock", lock},
};
enum { CASES = sizeof cases / sizeof cases[0] };

static void fail(const char *what, int code)
{
    char text[MPI_MAX_ERROR_STRING];
    int length;
    MPI_Error_string(code, text, &length);
    printf("rank %d: %s: %s\n", rank, what, text);
    fflush(stdout);
    MPI_Abort(MPI_COMM_WORLD, 9);
}

static void needs_the_dead(const char *name, int (*run)(void))
{
    int class = MPI_SUCCESS, code = run();
    MPI_Error_class(code, &class);
    if (class != MPI_ERR_PROC_ABORTED) fail(name, code);
}

static void must(const char *what, int code)
{
    if (code != MPI_SUCCESS) fail(what, code);
}

/* What the living do among themselves, also on the communicator that the dead rank belongs to. */
static void go_on(void)
{
    int to = 2 - rank, sum = 0, one = 1;
    must("sendrecv", MPI_Sendrecv(buffer, LONG, MPI_BYTE, to, 3, other, LONG, MPI_BYTE, to, 3, world, MPI_STATUS_IGNORE));
    for (int i = 0; i < 100; i++) {
        must("allreduce of the living", MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, living));
        if (sum != 2) fail("a wrong sum", MPI_SUCCESS);
    }
    MPI_Group group, all;
    MPI_Comm made;
    MPI_Comm_group(living, &group);
    for (int i = 0; i < 10; i++) {
        must("create_group", MPI_Comm_create_group(world, group, 4, &made));
        for (int k = 0; k < 50; k++) must("allreduce of those made", MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, made));
        must("free", MPI_Comm_free(&made));
    }
    MPI_Group_free(&group);
    MPI_Comm_group(world, &all);
    MPI_Group_free(&all);
}

int main(int argc, char **argv)
{
    const char *first = argc > 1 ? argv[1] : "";
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_dup(MPI_COMM_WORLD, &world);
    MPI_Comm_split(MPI_COMM_WORLD, rank == DEAD, 0, &living);
    buffer = calloc(1, LONG);
    other = calloc(1, LONG);
    int *shown, one = 1;
    MPI_Win_allocate(sizeof *shown, 1, MPI_INFO_NULL, world, &shown, &window);
    MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN);
    if (rank == DEAD) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
        MPI_Put(&one, 1, MPI_INT, 0, 0, 1, MPI_INT, window);
        MPI_Win_flush(0, window);
    }
    MPI_Barrier(world);
    if (strcmp(first, "fatal") == 0) {
        if (rank == DEAD) raise(SIGKILL);
        MPI_Barrier(world);
        return 8;
    }
    MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (rank == DEAD) raise(SIGKILL);
    for (int i = 0; i < CASES; i++) {
        if (strcmp(cases[i].name, first) == 0) needs_the_dead(cases[i].name, cases[i].run);
    }
    go_on();
    for (int i = 0; i < CASES; i++) needs_the_dead(cases[i].name, cases[i].run);
    go_on();
    printf("rank %d has seen it\n", rank);
    fflush(stdout);
    MPI_Finalize();
    return 0;
}
