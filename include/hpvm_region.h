/* One region of a program, counted by `hpvm prof --region`: what happens between hpvm_region_begin and
 * hpvm_region_end, in all threads, as often as the program goes through. Without hpvm prof both calls look at one
 * variable. No library is needed; in MPI programs MPI_Pcontrol(1) and MPI_Pcontrol(0) do the same. Regions do not
 * nest: the first end ends it. */
#ifndef HPVM_REGION_H
#define HPVM_REGION_H

#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Tells all events that HPVM_REGION names, which hpvm prof has left open for us; says how many there are. */
static inline int hpvm_region_tell(unsigned long what) {
    const char *list = getenv("HPVM_REGION");
    int told = 0;
    while (list && *list) {
        char *end, path[40], link[32] = "";
        long fd = strtol(list, &end, 10);
        if (end == list) break;
        snprintf(path, sizeof path, "/proc/self/fd/%ld", fd);
        /* The program may have closed it and opened something else. */
        if (readlink(path, link, sizeof link - 1) > 0 && strcmp(link, "anon_inode:[perf_event]") == 0)
            told += ioctl((int)fd, what, 0) == 0;
        list = *end == ',' ? end + 1 : end;
    }
    return told;
}

/* 0: not known yet, 1: nobody counts, 2: hpvm prof does. */
static inline int hpvm_region_state(void) {
    static int state;
    if (state == 0) state = getenv("HPVM_REGION") ? 2 : 1;
    return state;
}

static inline void hpvm_region_begin(void) {
    if (hpvm_region_state() == 2) hpvm_region_tell(PERF_EVENT_IOC_ENABLE);
}

static inline void hpvm_region_end(void) {
    if (hpvm_region_state() == 2) hpvm_region_tell(PERF_EVENT_IOC_DISABLE);
}

#ifdef __cplusplus
}
#endif

#endif
