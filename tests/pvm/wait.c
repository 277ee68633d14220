/* Two tasks that wait for ever. With an argument the first ends the virtual machine's process as `kill -9` does. */
#include "check.h"

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
            signal_machine(SIGKILL);
    }
    pvm_recv(-1, 7);
    printf("a message that nobody has sent\n");
    return 1;
}
