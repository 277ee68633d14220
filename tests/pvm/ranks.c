/* Started by a launcher: the ranks find each other in a group, and the last one gets a message of each. */
#include "check.h"

#define RANKS 3

int main(void)
{
    int mine, i;
    CHECK(pvm_mytid() > 0 && pvm_parent() == PvmNoParent);
    mine = pvm_joingroup("ranks");
    CHECK(mine >= 0 && pvm_barrier("ranks", RANKS) == 0);
    pvm_initsend(PvmDataDefault);
    CHECK(pvm_send(pvm_gettid("ranks", RANKS - 1), 1) == 0);
    for (i = 0; mine == RANKS - 1 && i < RANKS; i++)
        CHECK(pvm_recv(-1, 1) > 0);
    CHECK(pvm_barrier("ranks", RANKS) == 0);
    if (mine == 0)
        printf("No errors\n");
    return pvm_exit();
}
