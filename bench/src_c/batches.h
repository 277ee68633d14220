/* What every measurement in batches needs: the time, and values in order. */
#ifndef HPVM_BENCH_BATCHES_H
#define HPVM_BENCH_BATCHES_H

#include <time.h>

/* Seconds of a clock that nobody sets. */
static inline double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* For qsort on doubles. */
static inline int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

#endif
