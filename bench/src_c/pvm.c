/* hpvmpvm: messages of PVM between two tasks. The task that is started by hand prints one JSON object per line, as hpvmbench does; it
 * starts itself as the other one. Compiled once it runs on any library of PVM 3.4.
 *
 *     hpvmpvm [--budget SECONDS_PER_POINT] [--max BYTES] [--host NAME]
 *
 * With a host, which is added to the virtual machine if it is not there, the other task is on that one.
 */
#include "batches.h"
#include <pvm3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BATCHES = 301, LEAST = 5, WINDOW = 16, CONTROL = 1000, DATA = 1001, DONE = 1002, NEVER = 1003 };
enum { PACKED, TYPED, STREAM, END };

static double budget = 0.2;
static int most = 1 << 20;
static int other;
static char *data, *copy, self[4096], *host = "";

static void fail(const char *what, int code)
{
    fprintf(stderr, "hpvmpvm: %s returned %d\n", what, code);
    exit(1);
}

#define MUST(call)                    \
    do {                              \
        int code_ = (call);           \
        if (code_ < 0)                \
            fail(#call, code_);       \
    } while (0)

static void send_packed(int size)
{
    MUST(pvm_initsend(PvmDataRaw));
    MUST(pvm_pkbyte(data, size, 1));
    MUST(pvm_send(other, DATA));
}

static void receive_packed(int size)
{
    MUST(pvm_recv(other, DATA));
    MUST(pvm_upkbyte(copy, size, 1));
}

static void send_typed(int size)
{
    MUST(pvm_psend(other, DATA, data, size, PVM_BYTE));
}

static void receive_typed(int size)
{
    MUST(pvm_precv(other, DATA, copy, size, PVM_BYTE, NULL, NULL, NULL));
}

static void signal_done(void)
{
    MUST(pvm_initsend(PvmDataRaw));
    MUST(pvm_send(other, DONE));
}

/* What both do, `count` times; the first says it to the second. */
static void rounds(int what, int size, int count, int first)
{
    int i, w;
    for (i = 0; i < count; i++) {
        if (what == STREAM) {
            for (w = 0; w < WINDOW; w++) {
                if (first)
                    send_typed(size);
                else
                    receive_typed(size);
            }
            if (first)
                MUST(pvm_recv(other, DONE));
            else
                signal_done();
        } else if (first) {
            what == PACKED ? send_packed(size) : send_typed(size);
            what == PACKED ? receive_packed(size) : receive_typed(size);
        } else {
            what == PACKED ? receive_packed(size) : receive_typed(size);
            what == PACKED ? send_packed(size) : send_typed(size);
        }
    }
}

static void second(void)
{
    int order[3];
    other = pvm_parent();
    signal_done();
    for (;;) {
        MUST(pvm_recv(other, CONTROL));
        MUST(pvm_upkint(order, 3, 1));
        if (order[0] == END)
            return;
        signal_done();
        rounds(order[0], order[1], order[2], 0);
    }
}

static void tell(int what, int size, int count)
{
    int order[3] = {what, size, count};
    MUST(pvm_initsend(PvmDataRaw));
    MUST(pvm_pkint(order, 3, 1));
    MUST(pvm_send(other, CONTROL));
    if (what != END)
        MUST(pvm_recv(other, DONE));
}

/* Seconds of `count` repetitions. */
typedef double (*batch)(int what, int size, int count);

static double between_tasks(int what, int size, int count)
{
    tell(what, size, count);
    double start = now();
    rounds(what, size, count, 1);
    return now() - start;
}

enum { PACK, UNPACK, STRIDED, MEMCPY };

/* A message to ourselves, received: what is unpacked. */
static void prepare(int size)
{
    MUST(pvm_initsend(PvmDataRaw));
    MUST(pvm_pkbyte(data, size, 1));
    MUST(pvm_send(pvm_mytid(), DATA));
    MUST(pvm_recv(-1, DATA));
}

static double in_memory(int what, int size, int count)
{
    int i;
    double total = 0;
    for (i = 0; i < count; i++) {
        if (what == UNPACK)
            prepare(size);
        double start = now();
        if (what == PACK || what == STRIDED)
            MUST(pvm_initsend(PvmDataRaw));
        if (what == PACK)
            MUST(pvm_pkdouble((double *)data, size / 8, 1));
        else if (what == STRIDED)
            MUST(pvm_pkdouble((double *)data, size / 16, 2));
        else if (what == UNPACK)
            MUST(pvm_upkdouble((double *)copy, size / 8, 1));
        else
            memcpy(copy, data, size);
        total += now() - start;
    }
    return total;
}

static double probing(int what, int size, int count)
{
    int i;
    (void)what, (void)size;
    double start = now();
    for (i = 0; i < count; i++)
        MUST(pvm_probe(-1, NEVER));
    return now() - start;
}

/* From the call to the first message of the task. */
static double spawning(int what, int size, int count)
{
    int i, tid;
    char *arguments[] = {"hello", NULL};
    (void)what, (void)size;
    double total = 0;
    for (i = 0; i < count; i++) {
        double start = now();
        if (pvm_spawn(self, arguments, *host ? PvmTaskHost : PvmTaskDefault, host, 1, &tid) != 1)
            fail("pvm_spawn", tid);
        MUST(pvm_recv(tid, DONE));
        total += now() - start;
    }
    return total;
}

/* MB/s where a repetition moves bytes, else the microseconds of one. */
static void point(const char *mode, const char *op, batch run, int what, int size, double bytes)
{
    double values[BATCHES], spent = 0, first;
    int count = 1, batches = 0;
    run(what, size, 1);
    while ((first = run(what, size, count)) < 1e-3 && count < 1 << 22 && run != spawning)
        count *= first > 1e-4 ? (int)(1e-3 / first) + 1 : 4;
    while (batches < BATCHES && (batches < LEAST || spent < budget)) {
        double seconds = run(what, size, count);
        spent += seconds;
        values[batches++] = bytes > 0 ? bytes * count / seconds * 1e-6 : seconds / count * 1e6;
    }
    qsort(values, batches, sizeof *values, ascending);
    printf("{\"mode\":\"%s\",\"op\":\"%s\",\"ranks\":2,\"size\":%d,\"unit\":\"%s\",\"median\":%.6g,\"min\":%.6g,\"max\":%.6g,"
           "\"iters\":%d,\"batches\":%d}\n",
           mode, op, size, bytes > 0 ? "MB/s" : "us", values[batches / 2], values[0], values[batches - 1], count, batches);
    fflush(stdout);
}

static void measure(void)
{
    int size, info = 0;
    char *arguments[] = {"second", NULL};
    if (*host && pvm_mstat(host) != PvmOk && (pvm_addhosts(&host, 1, &info) != 1 || info < 0))
        fail("pvm_addhosts", info);
    if (pvm_spawn(self, arguments, *host ? PvmTaskHost : PvmTaskDefault, host, 1, &other) != 1)
        fail("pvm_spawn", other);
    MUST(pvm_recv(other, DONE));
    point("probe", "nothing there", probing, 0, 0, 0);
    for (size = 8; size <= most; size *= 8)
        point("round trip", "pack, send, receive, unpack", between_tasks, PACKED, size, 0);
    for (size = 8; size <= most; size *= 8)
        point("round trip", "psend, precv", between_tasks, TYPED, size, 0);
    for (size = 1024; size <= most; size *= 32)
        point("bandwidth", "psend, precv", between_tasks, STREAM, size, (double)size * WINDOW);
    for (size = 4096; size <= most; size *= 16) {
        point("memory", "memcpy", in_memory, MEMCPY, size, size);
        point("memory", "pack", in_memory, PACK, size, size);
        point("memory", "pack every second", in_memory, STRIDED, size, size / 2.0);
        point("memory", "unpack", in_memory, UNPACK, size, size);
    }
    point("spawn", "to the first message", spawning, 0, 0, 0);
    tell(END, 0, 0);
}

int main(int argc, char **argv)
{
    int i;
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length <= 0)
        fail("readlink", (int)length);
    self[length] = 0;
    for (i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--budget") == 0)
            budget = atof(argv[i + 1]);
        else if (strcmp(argv[i], "--max") == 0)
            most = atoi(argv[i + 1]);
        else if (strcmp(argv[i], "--host") == 0)
            host = argv[i + 1];
    }
    if (most < 8 || most > 1 << 28)
        fail("--max: expected 8 to 268435456; it", most);
    data = malloc(most);
    copy = malloc(most);
    memset(data, 1, most);
    memset(copy, 0, most);
    MUST(pvm_mytid());
    pvm_setopt(PvmRoute, PvmRouteDirect);
    if (argc == 2 && strcmp(argv[1], "hello") == 0) {
        other = pvm_parent();
        signal_done();
    } else if (argc == 2) {
        second();
    } else {
        printf("{\"mode\":\"header\",\"library\":\"PVM %s\",\"standard\":\"3.4\",\"ranks\":2,\"host\":\"\",\"window\":%d}\n",
               pvm_version(), WINDOW);
        measure();
    }
    pvm_exit();
    return 0;
}
