/* 64 tasks, all of which send to all; the sum comes to the first. */
#include "check.h"

#define TASKS 64

int main(int argc, char **argv)
{
    int tids[TASKS], i, value, sum = 0, total = 0;
    (void)argv;
    if (!is_child(argc)) {
        start("member", TASKS, tids);
        pvm_initsend(PvmDataRaw);
        pvm_pkint(tids, TASKS, 1);
        CHECK(pvm_mcast(tids, TASKS, 1) == 0);
        for (i = 0; i < TASKS; i++) {
            CHECK(pvm_recv(-1, 3) > 0 && pvm_upkint(&value, 1, 1) == 0);
            total += value;
        }
        /* Each number comes to all tasks but its own. */
        CHECK(total == (TASKS - 1) * TASKS * (TASKS - 1) / 2);
        printf("No errors\n");
        return pvm_exit();
    }
    CHECK(pvm_recv(pvm_parent(), 1) > 0 && pvm_upkint(tids, TASKS, 1) == 0);
    for (i = 0; i < TASKS && tids[i] != pvm_mytid(); i++)
        ;
    pvm_initsend(PvmDataRaw);
    pvm_pkint(&i, 1, 1);
    CHECK(pvm_mcast(tids, TASKS, 2) == 0);
    for (i = 0; i < TASKS - 1; i++) {
        CHECK(pvm_recv(-1, 2) > 0 && pvm_upkint(&value, 1, 1) == 0);
        sum += value;
    }
    pvm_initsend(PvmDataRaw);
    pvm_pkint(&sum, 1, 1);
    CHECK(pvm_send(pvm_parent(), 3) == 0);
    return pvm_exit();
}
