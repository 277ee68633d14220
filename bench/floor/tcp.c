/* tcpfloor: what TCP without any protocol costs between two hosts, both ends polling.
 *
 *   host2$ tcpfloor serve PORT CPU
 *   host1$ tcpfloor ping HOST PORT CPU SIZE...      time one way, microseconds
 *   host1$ tcpfloor stream HOST PORT CPU SIZE...    bandwidth by write size, MB/s
 *
 * A CPU of `-` binds to none. Prints one JSON object per size, like `floor`. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#define PROGRAM "tcpfloor"
#include "network.h"

#include <netinet/tcp.h>
#include <stdint.h>

enum { LARGEST = 16 << 20, BATCHES = 101 };

/* What the client asks for: `count` messages of `size` bytes, each answered, or only the last. */
struct order {
    uint64_t size, count, echo;
};

static char *buffer;

static int get(int fd, void *to, size_t size)
{
    for (size_t done = 0; done < size;) {
        ssize_t got = recv(fd, (char *)to + done, size - done, MSG_DONTWAIT);
        if (got == 0)
            return -1;
        if (got > 0)
            done += (size_t)got;
        else if (errno != EAGAIN)
            return -1;
    }
    return 0;
}

static int put(int fd, const void *from, size_t size)
{
    for (size_t done = 0; done < size;) {
        ssize_t sent =
            send(fd, (const char *)from + done, size - done, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent > 0)
            done += (size_t)sent;
        else if (errno != EAGAIN)
            return -1;
    }
    return 0;
}

static int serve(const char *port, const char *cpu)
{
    struct addrinfo *own;
    int one = 1, listener = open_socket(SOCK_STREAM, NULL, port, &own);
    if (listener < 0)
        return 1;
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(listener, own->ai_addr, own->ai_addrlen) != 0 || listen(listener, 1) != 0)
        return fail("cannot serve");
    /* Nobody may come: then nobody would end this, either. */
    struct timeval patience = {.tv_sec = 20};
    setsockopt(listener, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    int fd = accept(listener, NULL, NULL);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (fd < 0 || pin(cpu) != 0)
        return fail("cannot serve");
    struct order order;
    while (get(fd, &order, sizeof order) == 0 && order.size <= LARGEST)
        for (uint64_t i = 0; i < order.count; i++) {
            if (get(fd, buffer, order.size) != 0)
                return fail("receiving");
            if (order.echo ? put(fd, buffer, order.size) != 0
                           : i + 1 == order.count && put(fd, buffer, 1) != 0)
                return fail("sending");
        }
    return 0;
}

/* Seconds for one order. */
static double perform(int fd, struct order order)
{
    double start = now();
    if (put(fd, &order, sizeof order) != 0)
        return -1;
    for (uint64_t i = 0; i < order.count; i++)
        if (put(fd, buffer, order.size) != 0 ||
            (order.echo && get(fd, buffer, order.size) != 0))
            return -1;
    if (!order.echo && get(fd, buffer, 1) != 0)
        return -1;
    return now() - start;
}

/* The server may have been started at the same time. */
static int reach(int fd, const struct addrinfo *peer)
{
    struct timespec pause = {.tv_nsec = 20000000};
    double start = now();
    while (connect(fd, peer->ai_addr, peer->ai_addrlen) != 0) {
        if (errno != ECONNREFUSED || now() - start > 10)
            return -1;
        nanosleep(&pause, NULL);
    }
    return 0;
}

static int client(char **argv, int echo)
{
    struct addrinfo *peer;
    int one = 1, fd = open_socket(SOCK_STREAM, argv[2], argv[3], &peer);
    if (fd < 0 || reach(fd, peer) != 0 || pin(argv[4]) != 0)
        return fail("cannot connect");
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    for (char **text = argv + 5; *text; text++) {
        double times[BATCHES];
        struct order order = {.size = strtoull(*text, NULL, 10), .echo = (uint64_t)echo};
        if (order.size < 1 || order.size > LARGEST)
            return fail(*text);
        order.count = echo ? 1 + 500000 / (order.size + 10000) : 64;
        for (int i = -10; i < BATCHES; i++) {
            double took = perform(fd, order);
            if (took < 0)
                return fail("the peer is gone");
            double each = took / (double)order.count;
            times[i < 0 ? 0 : i] = echo ? 1e6 * each / 2 : 1e-6 * (double)order.size / each;
        }
        report(echo ? "tcp" : "tcp stream", (size_t)order.size, echo ? "us" : "MB/s", times,
               BATCHES);
    }
    return 0;
}

int main(int argc, char **argv)
{
    buffer = aligned_alloc(4096, LARGEST);
    if (buffer == NULL)
        return fail("no memory");
    memset(buffer, 1, LARGEST);
    if (argc == 4 && strcmp(argv[1], "serve") == 0)
        return serve(argv[2], argv[3]);
    if (argc > 5 && (strcmp(argv[1], "ping") == 0 || strcmp(argv[1], "stream") == 0))
        return client(argv, strcmp(argv[1], "ping") == 0);
    fprintf(stderr, "usage: tcpfloor serve PORT CPU\n"
                    "       tcpfloor ping|stream HOST PORT CPU SIZE...\n");
    return 2;
}
