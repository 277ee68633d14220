/* What tcp.c and udp.c share. Each is one program from one file: define PROGRAM, its name, first. */
#ifndef HPVM_FLOOR_NETWORK_H
#define HPVM_FLOOR_NETWORK_H

#include <errno.h>
#include <netdb.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int fail(const char *what)
{
    fprintf(stderr, PROGRAM ": %s: %s\n", what, strerror(errno));
    return 1;
}

static int pin(const char *text)
{
    cpu_set_t one;
    if (strcmp(text, "-") == 0)
        return 0;
    CPU_ZERO(&one);
    CPU_SET(atoi(text), &one);
    return sched_setaffinity(0, sizeof one, &one);
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Sorts `count` figures and prints median, least and most, like `floor`. */
static void report(const char *mode, size_t size, const char *unit, double *figures, int count)
{
    qsort(figures, (size_t)count, sizeof *figures, compare);
    printf("{\"mode\":\"%s\",\"size\":%zu,\"unit\":\"%s\",\"median\":%.4g,\"min\":%.4g,"
           "\"max\":%.4g,\"iters\":1,\"batches\":%d}\n",
           mode, size, unit, figures[count / 2], figures[0], figures[count - 1], count);
}

/* A socket of `type`, of IPv4, and in `*found` where it shall connect; with `host` null, where it
 * shall be bound. -1 with a message. */
static int open_socket(int type, const char *host, const char *port, struct addrinfo **found)
{
    struct addrinfo hints = {.ai_socktype = type, .ai_flags = host ? 0 : AI_PASSIVE};
    hints.ai_family = AF_INET;
    int error = getaddrinfo(host, port, &hints, found);
    if (error) {
        fprintf(stderr, PROGRAM ": %s: %s\n", host ? host : port, gai_strerror(error));
        return -1;
    }
    return socket((*found)->ai_family, type, 0);
}

#endif
