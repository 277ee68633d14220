/* What the programs of this folder share: they start themselves again as tasks. */
#ifndef CHECK_H
#define CHECK_H
#include <pvm3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#define CHECK(condition)                                                          \
    do {                                                                          \
        if (!(condition)) {                                                       \
            printf("%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);        \
            fflush(stdout);                                                       \
            exit(1);                                                              \
        }                                                                         \
    } while (0)

/* Enrolls; says whether we were started by `start`. Without a parent such a task would start tasks without end. */
static inline int is_child(int argc)
{
    CHECK(pvm_mytid() > 0);
    CHECK((argc > 1) == (pvm_parent() > 0));
    return argc > 1;
}

/* Starts `count` tasks of this program, whose first argument is `what`. */
static inline void start(char *what, int count, int *tids)
{
    static char self[4096];
    char *arguments[] = {what, NULL};
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    CHECK(length > 0);
    self[length] = 0;
    CHECK(pvm_spawn(self, arguments, PvmTaskDefault, "", count, tids) == count);
}

/* Sends a signal to the virtual machine's process on this host: our connection to it, the first of pvm_getfds, says which one that is. */
static inline void signal_machine(int number)
{
    struct {
        int pid, uid, gid;
    } peer;
    socklen_t length = sizeof peer;
    int *fds;
    CHECK(pvm_getfds(&fds) > 0);
    CHECK(getsockopt(fds[0], SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 && peer.pid > 1);
    CHECK(kill(peer.pid, number) == 0);
}

#endif
