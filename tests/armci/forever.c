/* Process 1 dies with a mutex in its hands, for which the others wait for ever. */
#include "arm.h"

#include <signal.h>

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    ARMCI_Create_mutexes(1);
    if (me == 1)
        ARMCI_Lock(0, 0);
    ARMCI_Barrier();
    if (me == 1)
        raise(SIGKILL);
    ARMCI_Lock(0, 0);
    return end();
}
