/* A rank that is killed as it turns to the helper for AF_XDP: xdp_killed CALL, on 3 ranks with --enable-recovery.
 *
 * Rank 1 kills itself instead of making CALL, its first one to the helper: `connect`, or `sendmsg`, by which it would ask. This
 * program has those functions itself, so the library calls ours. The others must begin without waiting for rank 1 as long as for
 * one that is only slow, and learn that it has died.
 */
#define _GNU_SOURCE
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { SLOW = 10 }; /* seconds for which the helper waits for one that is slow */

static const char *deadly = "";

/* Dies if this is the call to die in, and goes to the helper, whose name is an abstract one. */
static void die_in(const char *call, const struct sockaddr_un *to)
{
    const char *rank = getenv("PMI_RANK");
    if (!rank || strcmp(rank, "1") != 0 || strcmp(call, deadly) != 0 || to->sun_family != AF_UNIX) return;
    if (memcmp(to->sun_path, "\0hpvm-xdp-", 10) == 0) raise(SIGKILL);
}

int connect(int fd, const struct sockaddr *to, socklen_t length)
{
    struct sockaddr_un copy = {0};
    memcpy(&copy, to, length < sizeof copy ? length : sizeof copy);
    die_in("connect", &copy);
    return (int)syscall(SYS_connect, fd, to, length);
}

ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
    struct sockaddr_un peer = {0};
    socklen_t length = sizeof peer;
    if (getpeername(fd, (struct sockaddr *)&peer, &length) == 0) die_in("sendmsg", &peer);
    return syscall(SYS_sendmsg, fd, message, flags);
}

int main(int argc, char **argv)
{
    if (argc > 1) deadly = argv[1];
    struct timespec from, to;
    clock_gettime(CLOCK_MONOTONIC, &from);
    MPI_Init(&argc, &argv);
    clock_gettime(CLOCK_MONOTONIC, &to);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    int rank, class = MPI_SUCCESS;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Error_class(MPI_Barrier(MPI_COMM_WORLD), &class);
    printf("rank %d has %s", rank, class == MPI_ERR_PROC_ABORTED ? "seen it" : "seen nothing");
    printf(" and has begun %s\n", to.tv_sec - from.tv_sec < SLOW ? "at once" : "late");
    fflush(stdout);
    MPI_Finalize();
    return 0;
}
