/* Latency and bandwidth of Fast Messages between nodes 0 and 1. `pingpong -h` says how. */
#include <errno.h>
#include <fm.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { PING = 1, PONG, DATA, ACK, STOP };

/* Messages under way in the bandwidth test before the receiver confirms. */
enum { WINDOW = 64 };

struct options {
    long repetitions;
    unsigned long largest; /* bytes */
};

static char *buffer;         /* what is sent */
static char *received;       /* what was received last */
static unsigned long room;   /* of either, bytes */
static unsigned long length; /* of what was received last */
static int pings, pongs, acks, stopped;
static int wrong; /* messages with the wrong content */

static const char usage[] =
    "usage: pingpong [-n REPETITIONS] [-m LARGEST]\n"
    "\n"
    "Measures Fast Messages between nodes 0 and 1; other nodes wait. Needs 2 nodes or more.\n"
    "  -n REPETITIONS  round trips per size (default 10000; fewer for long messages)\n"
    "  -m LARGEST      largest message in bytes, up to 2147483647 (default 1048576)\n"
    "  -h              this text\n"
    "\n"
    "latency: half a round trip. bandwidth: one way, 64 messages at a time. MB is 10^6 bytes.\n";

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void send_message(unsigned long to, unsigned long handler, unsigned long bytes)
{
    FM_stream *stream = FM_begin_message(to, bytes, handler);
    if (stream == NULL || FM_send_piece(stream, buffer, bytes) != 0 || FM_end_message(stream) != 0) {
        fprintf(stderr, "pingpong: node %lu can't send to node %lu\n", FM_nodeid, to);
        exit(1);
    }
}

static void extract(void)
{
    if (FM_extract(~0u) < 0) {
        fprintf(stderr, "pingpong: node %lu can't extract\n", FM_nodeid);
        exit(1);
    }
}

/* Every message carries the beginning of the same pattern. */
static void receive_message(FM_stream *stream)
{
    length = (unsigned long)FM_receive(received, stream, (unsigned)room);
    if (length > 0 && (received[0] != buffer[0] || received[length - 1] != buffer[length - 1]))
        wrong++;
}

static int on_ping(FM_stream *stream, unsigned sender)
{
    (void)sender;
    receive_message(stream);
    pings++;
    return FM_QUIT;
}

static int on_pong(FM_stream *stream, unsigned sender)
{
    (void)sender;
    receive_message(stream);
    pongs++;
    return FM_QUIT;
}

static int on_data(FM_stream *stream, unsigned sender)
{
    static int arrived;
    receive_message(stream);
    if (++arrived % WINDOW == 0) {
        /* A handler's message leaves after it has returned. */
        FM_stream *reply = FM_begin_message(sender, 0, ACK);
        if (reply != NULL)
            FM_end_message(reply);
    }
    return FM_CONTINUE;
}

static int on_ack(FM_stream *stream, unsigned sender)
{
    (void)stream;
    (void)sender;
    acks++;
    return FM_QUIT;
}

static int on_stop(FM_stream *stream, unsigned sender)
{
    (void)stream;
    (void)sender;
    stopped = 1;
    return FM_QUIT;
}

/* Seconds for one way. */
static double latency(unsigned long bytes, long repetitions)
{
    double start = now();
    for (long i = 0; i < repetitions; i++) {
        pongs = 0;
        send_message(1, PING, bytes);
        while (pongs == 0)
            extract();
    }
    return (now() - start) / (2.0 * (double)repetitions);
}

/* Bytes per second. */
static double bandwidth(unsigned long bytes, long windows)
{
    double start = now();
    acks = 0;
    for (long i = 0; i < windows; i++) {
        for (int j = 0; j < WINDOW; j++)
            send_message(1, DATA, bytes);
        while (acks <= i)
            extract();
    }
    return (double)bytes * WINDOW * (double)windows / (now() - start);
}

static void lead(const struct options *options)
{
    printf("%12s %14s %14s %12s\n", "bytes", "latency us", "bandwidth MB/s", "round trips");
    for (unsigned long bytes = 0; bytes <= options->largest; bytes = bytes ? 2 * bytes : 1) {
        /* About as much time for each size. */
        long repetitions = options->repetitions;
        if (bytes > 4096)
            repetitions = repetitions * 4096 / (long)bytes + 10;
        long windows = repetitions / WINDOW + 1;
        latency(bytes, repetitions / 10 + 1);
        double seconds = latency(bytes, repetitions);
        double rate = bandwidth(bytes, windows);
        printf("%12lu %14.3f %14.1f %12ld\n", bytes, 1e6 * seconds, 1e-6 * rate, repetitions);
        fflush(stdout);
    }
    for (unsigned long node = 1; node < FM_numnodes; node++)
        send_message(node, STOP, 0);
}

static void follow(void)
{
    int answered = 0;
    while (!stopped) {
        extract();
        for (; answered < pings; answered++)
            send_message(0, PONG, length);
    }
}

static unsigned long number(const char *text, unsigned long least, unsigned long most)
{
    char *end;
    errno = 0;
    unsigned long value = strtoul(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || *text == '-' || value < least || value > most) {
        fprintf(stderr, "pingpong: '%s': expected a number from %lu to %lu\n", text, least, most);
        exit(2);
    }
    return value;
}

int main(int argc, char **argv)
{
    struct options options = {10000, 1ul << 20};
    int option;
    while ((option = getopt(argc, argv, "n:m:h")) != -1) {
        if (option == 'n') {
            options.repetitions = (long)number(optarg, 1, 1000000000);
        } else if (option == 'm') {
            options.largest = number(optarg, 0, 2147483647);
        } else {
            fputs(usage, option == 'h' ? stdout : stderr);
            return option == 'h' ? 0 : 2;
        }
    }
    room = options.largest + 1;
    buffer = malloc(room);
    received = malloc(room);
    if (buffer == NULL || received == NULL) {
        fprintf(stderr, "pingpong: no memory for messages of %lu bytes\n", options.largest);
        return 1;
    }
    for (unsigned long i = 0; i < room; i++)
        buffer[i] = (char)(i * 31 + i / 251);
    memset(received, 0, room);
    if (FM_initialize() != 0)
        return 1;
    if (FM_numnodes < 2) {
        fprintf(stderr, "pingpong: 1 node; expected 2 or more (mpirun -n 2 pingpong)\n");
        return 2;
    }
    FM_register_handler(PING, on_ping);
    FM_register_handler(PONG, on_pong);
    FM_register_handler(DATA, on_data);
    FM_register_handler(ACK, on_ack);
    FM_register_handler(STOP, on_stop);
    if (FM_nodeid == 0)
        lead(&options);
    else
        follow();
    if (wrong > 0)
        fprintf(stderr, "pingpong: node %lu received %d wrong messages\n", FM_nodeid, wrong);
    int failed = FM_finalize() != 0 || wrong > 0;
    free(buffer);
    free(received);
    return failed;
}
