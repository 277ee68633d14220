/* A stranger that fills queues: opens connections, says a byte on each, and holds them.
 *
 *   hold COUNT ADDRESS PORT...
 *
 * COUNT connections to each port of ADDRESS (IPv4), as far as they are taken. Prints "held N" and
 * ends with its standard input. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

/* Milliseconds for a connection to be taken; a full queue takes none. */
enum { PATIENCE = 300 };

static int hold(struct sockaddr_in to)
{
    int s = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), error = 0;
    socklen_t size = sizeof error;
    if (s < 0)
        return 0;
    connect(s, (struct sockaddr *)&to, sizeof to);
    struct pollfd ready = {s, POLLOUT, 0};
    if (poll(&ready, 1, PATIENCE) != 1 || getsockopt(s, SOL_SOCKET, SO_ERROR, &error, &size) != 0 ||
        error != 0)
        return 0;
    return send(s, "x", 1, MSG_NOSIGNAL) == 1;
}

int main(int argc, char **argv)
{
    if (argc < 4)
        return 2;
    struct rlimit files = {4096, 4096};
    setrlimit(RLIMIT_NOFILE, &files);
    int count = atoi(argv[1]), held = 0;
    for (int port = 3; port < argc; port++) {
        struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((unsigned short)atoi(argv[port]))};
        if (inet_pton(AF_INET, argv[2], &to.sin_addr) != 1)
            return 2;
        for (int i = 0; i < count; i++)
            held += hold(to);
    }
    printf("held %d\n", held);
    fflush(stdout);
    while (getchar() != EOF)
        ;
    return 0;
}
