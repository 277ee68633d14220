/* A stranger in the network of a job, who has no key: it sends garbage to the ports of ranks, hears
 * what they send each other and repeats it (whole, cut, with a bit turned; from its own address and
 * with that of the rank that sent it), opens connections and leaves them open, and looks at ports.
 *
 *   stranger SECONDS SEED NETNS DEVICE ADDRESS PORT...
 *
 * It listens at DEVICE of the network namespace NETNS, a file, and sends from where it is started.
 * ADDRESS is IPv4. At the end it prints how much it has sent. Needs root. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { KEPT = 512, FRAME = 1514, HEADERS = 14 + 20 + 8, OPEN = 64, PORTS = 64, BURST = 16 };

static uint64_t state;
static struct { int len; unsigned char bytes[FRAME]; } kept[KEPT];
static int heard, ports[PORTS], count, device;
static unsigned char own[6], victims[6];
static struct in_addr victim;
static long garbage, repeated, forged, connections, refused;

static unsigned below(unsigned end)
{
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return (unsigned)((state * 0x2545f4914f6cdd1d) >> 33) % end;
}

static void must(int ok, const char *what)
{
    if (!ok) {
        perror(what);
        exit(1);
    }
}

/* A socket that hears everything on `name` of a namespace. */
static int listen_at(const char *netns, const char *name)
{
    int here = open("/proc/self/ns/net", O_RDONLY), there = open(netns, O_RDONLY);
    must(here >= 0 && there >= 0 && setns(there, CLONE_NEWNET) == 0, netns);
    int s = socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK, htons(ETH_P_ALL));
    struct sockaddr_ll at = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL)};
    at.sll_ifindex = (int)if_nametoindex(name);
    must(s >= 0 && bind(s, (struct sockaddr *)&at, sizeof at) == 0, name);
    must(setns(here, CLONE_NEWNET) == 0, "setns");
    close(here), close(there);
    return s;
}

static int is_port(int port)
{
    for (int i = 0; i < count; i++)
        if (ports[i] == port)
            return 1;
    return 0;
}

/* Keeps datagrams that go to one of the ports. */
static void hear(int s)
{
    unsigned char frame[65536];
    for (int i = 0; i < 64; i++) {
        ssize_t len = recv(s, frame, sizeof frame, 0);
        if (len < 0)
            return;
        if (len < HEADERS || len > FRAME || frame[12] != 8 || frame[13] != 0 || frame[14] != 0x45 ||
            frame[23] != IPPROTO_UDP || !is_port(frame[36] << 8 | frame[37]) ||
            memcmp(frame + 30, &victim, 4) != 0)
            continue;
        int at = heard < KEPT ? heard : (int)below(KEPT);
        memcpy(victims, frame, 6);
        memcpy(kept[at].bytes, frame, (size_t)len);
        kept[at].len = (int)len;
        heard++;
    }
}

static struct sockaddr_in to(int port)
{
    return (struct sockaddr_in){
        .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr = victim};
}

static void send_garbage(int s)
{
    unsigned char bytes[1472];
    unsigned len = below(sizeof bytes + 1);
    for (unsigned i = 0; i < len; i++)
        bytes[i] = (unsigned char)below(256);
    struct sockaddr_in at = to(ports[below((unsigned)count)]);
    garbage += sendto(s, bytes, len, MSG_DONTWAIT, (struct sockaddr *)&at, sizeof at) >= 0;
}

/* Something that was heard, from our own address. */
static void repeat(int s)
{
    if (heard == 0)
        return;
    int which = (int)below(heard < KEPT ? (unsigned)heard : KEPT);
    unsigned char bytes[FRAME];
    int len = kept[which].len - HEADERS;
    memcpy(bytes, kept[which].bytes + HEADERS, (size_t)len);
    if (len > 0 && below(3) == 0)
        len = (int)below((unsigned)len);
    if (len > 0 && below(3) == 0)
        bytes[below((unsigned)len)] ^= (unsigned char)(1 << below(8));
    struct sockaddr_in at = to(ports[below((unsigned)count)]);
    repeated += sendto(s, bytes, (size_t)len, MSG_DONTWAIT, (struct sockaddr *)&at, sizeof at) >= 0;
}

/* A frame that was heard, with the address of the rank that sent it. */
static void forge(int s)
{
    if (heard == 0)
        return;
    int which = (int)below(heard < KEPT ? (unsigned)heard : KEPT);
    unsigned char frame[FRAME];
    int len = kept[which].len;
    memcpy(frame, kept[which].bytes, (size_t)len);
    memcpy(frame, victims, 6);
    memcpy(frame + 6, own, 6);
    /* The sum may have been left to an interface; 0 means that there is none. */
    frame[40] = frame[41] = 0;
    if (len > HEADERS && below(2) == 0)
        frame[HEADERS + below((unsigned)(len - HEADERS))] ^= (unsigned char)(1 << below(8));
    struct sockaddr_ll at = {.sll_family = AF_PACKET, .sll_ifindex = device, .sll_halen = 6};
    memcpy(at.sll_addr, victims, 6);
    forged += sendto(s, frame, (size_t)len, MSG_DONTWAIT, (struct sockaddr *)&at, sizeof at) >= 0;
}

/* One connection more: some say something, some are closed at once, the others stay. */
static void open_one(int fds[OPEN])
{
    int *fd = &fds[below(OPEN)], port = ports[below((unsigned)count)];
    if (*fd >= 0)
        close(*fd);
    *fd = socket(AF_INET, SOCK_STREAM, 0);
    must(*fd >= 0, "socket");
    if (below(4) == 0)
        port += (int)below(9) - 4;
    struct sockaddr_in at = to(port);
    if (connect(*fd, (struct sockaddr *)&at, sizeof at) != 0) {
        refused++;
        return;
    }
    connections++;
    unsigned char bytes[256];
    unsigned what = below(4);
    for (unsigned i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)below(256);
    if (what == 0)
        close(*fd), *fd = -1;
    else if (what < 3 && send(*fd, bytes, 1 + below(sizeof bytes), MSG_NOSIGNAL) < 0)
        close(*fd), *fd = -1;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

int main(int argc, char **argv)
{
    must(argc > 6 && argc - 6 <= PORTS, "usage: stranger SECONDS SEED NETNS DEVICE ADDRESS PORT...");
    double end = now() + atof(argv[1]);
    state = strtoull(argv[2], NULL, 10) * 2 + 1;
    must(inet_pton(AF_INET, argv[5], &victim) == 1, argv[5]);
    for (int i = 6; i < argc; i++)
        ports[count++] = atoi(argv[i]);
    int ear = listen_at(argv[3], argv[4]);
    int mouth = socket(AF_INET, SOCK_DGRAM, 0), raw = socket(AF_PACKET, SOCK_RAW, 0);
    must(mouth >= 0 && raw >= 0, "socket");
    device = (int)if_nametoindex(argv[4]);
    struct ifreq card = {0};
    snprintf(card.ifr_name, sizeof card.ifr_name, "%s", argv[4]);
    must(ioctl(mouth, SIOCGIFHWADDR, &card) == 0, argv[4]);
    memcpy(own, card.ifr_hwaddr.sa_data, 6);
    int fds[OPEN];
    memset(fds, -1, sizeof fds);
    while (now() < end) {
        hear(ear);
        for (int i = 0; i < BURST; i++) {
            send_garbage(mouth);
            repeat(mouth);
            forge(raw);
        }
        open_one(fds);
        usleep(2000);
    }
    printf("garbage %ld, repeated %ld, forged %ld, connections %ld, refused %ld\n", garbage,
           repeated, forged, connections, refused);
    return 0;
}
