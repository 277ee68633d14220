// A task sends itself a number.
#include <pvm3.h>
#include <stdio.h>

int main(void) {
    int me = pvm_mytid(), sent = 7, found = 0;
    if (me < 0) return 1;
    pvm_initsend(PvmDataDefault);
    pvm_pkint(&sent, 1, 1);
    pvm_send(me, 1);
    pvm_recv(me, 1);
    pvm_upkint(&found, 1, 1);
    if (found == sent) printf("pvm, 1 task\n");
    pvm_exit();
    return found != sent;
}
