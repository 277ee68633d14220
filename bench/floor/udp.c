/* udpfloor: what busy-polled datagrams cost between two hosts, without any protocol.
 *
 *   host2$ udpfloor serve PORT CPU
 *   host1$ udpfloor ping HOST PORT CPU SIZE...
 *
 * Prints one JSON object per size, the time one way in microseconds, like `floor`. */
#define _GNU_SOURCE
#define PROGRAM "udpfloor"
#include "network.h"

enum { LARGEST = 65000, BATCHES = 201, ROUNDS = 1000, WARM_UP = 2000 };

static char buffer[LARGEST];

/* The next datagram; polls without sleeping. A lost one (this is no protocol) ends the program. */
static ssize_t next(int fd, struct sockaddr_storage *from, socklen_t *length, double patience)
{
    double start = 0;
    for (long polls = 0;; polls++) {
        ssize_t got = recvfrom(fd, buffer, sizeof buffer, MSG_DONTWAIT, (void *)from, length);
        if (got >= 0 || errno != EAGAIN)
            return got;
        if (polls % 4096)
            continue;
        if (start == 0)
            start = now();
        if (now() - start > patience) {
            errno = ETIMEDOUT;
            return -1;
        }
    }
}

static int serve(const char *port, const char *cpu)
{
    struct addrinfo *own;
    int fd = open_socket(SOCK_DGRAM, NULL, port, &own);
    if (fd < 0 || bind(fd, own->ai_addr, own->ai_addrlen) != 0 || pin(cpu) != 0)
        return fail("cannot serve");
    for (;;) {
        struct sockaddr_storage from;
        socklen_t length = sizeof from;
        ssize_t got = next(fd, &from, &length, 60);
        if (got <= 0)
            return got == 0 ? 0 : fail("no datagram");
        sendto(fd, buffer, (size_t)got, 0, (void *)&from, length);
    }
}

static int rounds(int fd, const struct addrinfo *peer, size_t size, int count)
{
    while (count-- > 0) {
        if (sendto(fd, buffer, size, 0, peer->ai_addr, peer->ai_addrlen) < 0)
            return fail("cannot send");
        if (next(fd, NULL, NULL, 5) < 0)
            return fail("no answer");
    }
    return 0;
}

static int ping(char **argv)
{
    struct addrinfo *peer;
    int fd = open_socket(SOCK_DGRAM, argv[2], argv[3], &peer);
    if (fd < 0 || pin(argv[4]) != 0)
        return fail("cannot ping");
    for (char **size = argv + 5; *size; size++) {
        double times[BATCHES];
        size_t bytes = strtoul(*size, NULL, 10);
        if (bytes < 1 || bytes > LARGEST || rounds(fd, peer, bytes, WARM_UP) != 0)
            return fail(*size);
        for (int i = 0; i < BATCHES; i++) {
            double start = now();
            if (rounds(fd, peer, bytes, ROUNDS / 10) != 0)
                return 1;
            times[i] = 1e6 * (now() - start) / (ROUNDS / 10) / 2;
        }
        report("udp", bytes, "us", times, BATCHES);
    }
    sendto(fd, buffer, 0, 0, peer->ai_addr, peer->ai_addrlen);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "serve") == 0)
        return serve(argv[2], argv[3]);
    if (argc > 5 && strcmp(argv[1], "ping") == 0)
        return ping(argv);
    fprintf(stderr, "usage: udpfloor serve PORT CPU\n"
                    "       udpfloor ping HOST PORT CPU SIZE...\n");
    return 2;
}
