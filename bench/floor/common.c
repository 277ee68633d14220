/* Clock, batches, pinning, and a partner process. */
#include "floor.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int raw;

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static long calibrate(double (*run)(void *, long), void *context)
{
    long iters = 1;
    run(context, iters);
    while (iters < 1L << 30 && run(context, iters) < 0.0007)
        iters *= 2;
    return iters;
}

void measure(const char *mode, long size, double (*run)(void *context, long iters), void *context,
             double budget, double bytes)
{
    double seconds[BATCHES], start = now();
    long iters = calibrate(run, context);
    int count = 0;
    while (count < 5 || (count < BATCHES && now() - start < budget))
        seconds[count++] = run(context, iters) / (double)iters;
    qsort(seconds, (size_t)count, sizeof *seconds, compare_doubles);
    double median = seconds[count / 2], least = seconds[0], most = seconds[count - 1];
    printf("{\"mode\":\"%s\",\"size\":%ld,\"unit\":\"%s\",\"median\":%.6g,\"min\":%.6g,"
           "\"max\":%.6g,\"iters\":%ld,\"batches\":%d",
           mode, size, bytes > 0 ? "MB/s" : "us", bytes > 0 ? 1e-6 * bytes / median : 1e6 * median,
           bytes > 0 ? 1e-6 * bytes / most : 1e6 * least,
           bytes > 0 ? 1e-6 * bytes / least : 1e6 * most, iters, count);
    for (int i = 0; raw && i < count; i++)
        printf("%s%.5g", i == 0 ? ",\"samples\":[" : ",",
               bytes > 0 ? 1e-6 * bytes / seconds[i] : 1e6 * seconds[i]);
    puts(raw ? "]}" : "}");
    fflush(stdout);
}

void *shared_memory(size_t size)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        fprintf(stderr, "floor: cannot map %zu shared bytes: %s\n", size, strerror(errno));
        return NULL;
    }
    memset(memory, 0, size);
    return memory;
}

int pin(int n)
{
    static cpu_set_t allowed;
    static int known;
    if (!known && sched_getaffinity(0, sizeof allowed, &allowed) != 0) {
        fprintf(stderr, "floor: cannot ask which processors are allowed: %s\n", strerror(errno));
        return -1;
    }
    known = 1;
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET(cpu, &allowed) || n-- > 0)
            continue;
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        if (sched_setaffinity(0, sizeof one, &one) == 0)
            return 0;
        fprintf(stderr, "floor: cannot pin to processor %d: %s\n", cpu, strerror(errno));
        return -1;
    }
    fprintf(stderr, "floor: this needs two processors, the process may use fewer\n");
    return -1;
}

int with_partner(void *shared, void (*partner)(void *), void (*lead)(void *))
{
    if (!shared || pin(0) != 0)
        return 1;
    pid_t child = fork();
    if (child < 0) {
        fprintf(stderr, "floor: cannot start a second process: %s\n", strerror(errno));
        return 1;
    }
    if (child == 0) {
        /* A partner that polls must not outlive a leader that was killed. */
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (pin(1) != 0)
            _exit(1);
        partner(shared);
        _exit(0);
    }
    int status = 0;
    usleep(20000);
    if (waitpid(child, &status, WNOHANG) == child)
        return 1;
    lead(shared);
    kill(child, SIGTERM);
    waitpid(child, &status, 0);
    return 0;
}
