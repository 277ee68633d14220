/* memcpy in one process, and process_vm_readv from another one. */
#include "floor.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

enum { LARGEST = 16 << 20 };

struct copy {
    char *from, *to;
    size_t size;
    _Atomic pid_t owner; /* set last by the owner of `from`, the reader waits for it */
    int failure;
};

static char *buffer(void)
{
    void *memory = NULL;
    if (posix_memalign(&memory, 4096, LARGEST) != 0) {
        fprintf(stderr, "floor: out of memory for a buffer of %d bytes\n", LARGEST);
        return NULL;
    }
    memset(memory, 1, LARGEST);
    return memory;
}

static double copy_here(void *context, long iters)
{
    struct copy *c = context;
    double start = now();
    for (long i = 0; i < iters; i++) {
        memcpy(c->to, c->from, c->size);
        /* The compiler must neither drop nor merge the copies. */
        __asm__ volatile("" : : "r"(c->to), "r"(c->from) : "memory");
    }
    return now() - start;
}

int floor_memcpy(void)
{
    struct copy c = {.from = buffer(), .to = buffer()};
    if (!c.from || !c.to || pin(0) != 0)
        return 1;
    for (c.size = 64; c.size <= LARGEST; c.size *= 4)
        measure("memcpy", (long)c.size, copy_here, &c, 0.1, (double)c.size);
    free(c.from);
    free(c.to);
    return 0;
}

static double copy_across(void *context, long iters)
{
    struct copy *c = context;
    struct iovec local = {c->to, c->size}, remote = {c->from, c->size};
    double start = now();
    for (long i = 0; i < iters; i++) {
        ssize_t got = process_vm_readv(c->owner, &local, 1, &remote, 1, 0);
        if (got != (ssize_t)c->size) {
            c->failure = got < 0 ? errno : EIO;
            return 1.0; /* long enough to end the calibration */
        }
    }
    return now() - start;
}

/* The owner of the data sleeps; the leader reads out of it. */
static void owner(void *context)
{
    struct copy *c = context;
    c->from = buffer();
    c->owner = getpid();
    for (;;)
        pause();
}

static void reader(void *context)
{
    struct copy *c = context;
    c->to = buffer();
    for (int wait = 0; wait < 1000 && c->owner == 0; wait++)
        usleep(1000);
    if (!c->to || !c->from)
        return;
    for (c->size = 4; c->size <= LARGEST && !c->failure; c->size *= 4) {
        struct copy probe = *c;
        copy_across(&probe, 1);
        c->failure = probe.failure;
        if (!c->failure)
            measure("vmread", (long)c->size, copy_across, c, 0.1, (double)c->size);
    }
    free(c->to);
}

int floor_vmread(void)
{
    struct copy *c = shared_memory(sizeof *c);
    int status = with_partner(c, owner, reader);
    if (status == 0 && c->failure) {
        fprintf(stderr, "floor: process_vm_readv is not possible here: %s\n", strerror(c->failure));
        return 1;
    }
    return status;
}
