/* Started by a launcher: the ranks find each other in a group, and the last one gets a message of each. With an argument it is killed
   then, and the others wait for a message of it. */
#include "check.h"

#define RANKS 3

int main(int argc, char **argv)
{
    int mine, last, i;
    (void)argv;
    CHECK(pvm_mytid() > 0 && pvm_parent() == PvmNoParent);
    mine = pvm_joingroup("ranks");
    CHECK(mine >= 0 && pvm_barrier("ranks", RANKS) == 0);
    pvm_initsend(PvmDataDefault);
    last = pvm_gettid("ranks", RANKS - 1);
    CHECK(pvm_send(last, 1) == 0);
    for (i = 0; mine == RANKS - 1 && i < RANKS; i++)
        CHECK(pvm_recv(-1, 1) > 0);
    CHECK(pvm_barrier("ranks", RANKS) == 0);
    if (argc > 1) {
        if (mine == RANKS - 1)
            raise(SIGKILL);
        pvm_recv(last, 2);
        printf("did not wait\n");
    }
    if (mine == 0)
        printf("No errors\n");
    return pvm_exit();
}
