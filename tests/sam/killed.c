/* Rank 1 is killed while it has an accumulator that the others wait for. */
#include "check.h"
#include <signal.h>

int main(void)
{
    sam_name total = sam_name_of(9, 1);
    sam_init();
    if (sam_rank() == 1) {
        *(int *)sam_accumulator_begin(total, sizeof(int)) = 0;
        sam_end_update(total);
    }
    sam_barrier();
    for (int update = 0;; update++) {
        ++*(int *)sam_update(total, NULL);
        if (sam_rank() == 1 && update == 50)
            raise(SIGKILL);
        sam_end_update(total);
    }
}
