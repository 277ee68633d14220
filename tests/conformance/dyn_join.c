/* MPI_Comm_join (MPI 5.0, section 11.10.7): two processes with a socket between them; descriptors that are no such socket. */
#include "check.h"
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

static void fails(int fd)
{
    MPI_Comm inter = MPI_COMM_NULL;
    CHECK_CLASS(MPI_Comm_join(fd, &inter), MPI_ERR_ARG);
    CHECK(inter == MPI_COMM_NULL);
    if (fd >= 0)
        close(fd);
}

static void wrong_ones(void)
{
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    fails(-1);
    int pipe_ends[2], datagrams[2];
    CHECK_EQ(pipe(pipe_ends), 0);
    close(pipe_ends[0]);
    fails(pipe_ends[1]);
    fails(pipe_ends[1]); /* closed by now */
    fails(open("/dev/null", O_RDWR));
    /* Nobody is at the other end. */
    fails(socket(AF_UNIX, SOCK_STREAM, 0));
    fails(socket(AF_INET, SOCK_STREAM, 0));
    CHECK_EQ(socketpair(AF_UNIX, SOCK_DGRAM, 0, datagrams), 0);
    fails(datagrams[0]);
    close(datagrams[1]);
}

/* Ranks 0 and 1 join by a socket with a name that the system chooses. */
static void join(int rank)
{
    if (rank > 1)
        return;
    struct sockaddr_storage name = { 0 };
    socklen_t length = sizeof name;
    int other = 1 - rank, fd = socket(AF_UNIX, SOCK_STREAM, 0);
    CHECK(fd >= 0);
    if (rank == 0) {
        int listener = fd;
        struct sockaddr any = { .sa_family = AF_UNIX };
        CHECK_EQ(bind(listener, &any, sizeof any.sa_family), 0);
        CHECK_EQ(listen(listener, 1), 0);
        CHECK_EQ(getsockname(listener, (struct sockaddr *)&name, &length), 0);
        CHECK_MPI(MPI_Send(&length, (int)sizeof length, MPI_BYTE, other, 0, MPI_COMM_WORLD));
        CHECK_MPI(MPI_Send(&name, (int)sizeof name, MPI_BYTE, other, 0, MPI_COMM_WORLD));
        fd = accept(listener, NULL, NULL);
        CHECK(fd >= 0);
        close(listener);
    } else {
        CHECK_MPI(MPI_Recv(&length, (int)sizeof length, MPI_BYTE, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CHECK_MPI(MPI_Recv(&name, (int)sizeof name, MPI_BYTE, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CHECK_EQ(connect(fd, (struct sockaddr *)&name, length), 0);
    }
    MPI_Comm inter;
    int remote, got = -1;
    CHECK_MPI(MPI_Comm_join(fd, &inter));
    CHECK_MPI(MPI_Comm_remote_size(inter, &remote));
    CHECK_EQ(remote, 1);
    CHECK_MPI(MPI_Sendrecv(&rank, 1, MPI_INT, 0, 0, &got, 1, MPI_INT, 0, 0, inter, MPI_STATUS_IGNORE));
    CHECK_EQ(got, other);
    CHECK_MPI(MPI_Comm_disconnect(&inter));
    close(fd);
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    wrong_ones();
    if (size > 1)
        join(rank);
    check_finish();
    return 0;
}
