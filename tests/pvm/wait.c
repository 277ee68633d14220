/* Two tasks that wait for ever. With an argument the first ends the virtual machine's process as `kill -9` does. */
#include "check.h"
#include <signal.h>
#include <sys/socket.h>

static void end_machine(void)
{
    /* Its connection to us says which process it is; that socket is the first of pvm_getfds. */
    struct {
        int pid, uid, gid;
    } peer;
    socklen_t length = sizeof peer;
    int *fds;
    CHECK(pvm_getfds(&fds) > 0);
    CHECK(getsockopt(fds[0], SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 && peer.pid > 1);
    CHECK(kill(peer.pid, SIGKILL) == 0);
}

int main(int argc, char **argv)
{
    int tid;
    (void)argv;
    pvm_mytid();
    if (pvm_parent() > 0) {
        pvm_initsend(PvmDataDefault);
        CHECK(pvm_send(pvm_parent(), 1) == 0);
    } else {
        start("wait", 1, &tid);
        CHECK(pvm_recv(tid, 1) > 0);
        printf("both wait\n");
        fflush(stdout);
        if (argc > 1)
            end_machine();
    }
    pvm_recv(-1, 7);
    printf("a message that nobody has sent\n");
    return 1;
}
