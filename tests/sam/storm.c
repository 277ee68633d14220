/* Values, accumulators and tasks without end, for tests that kill ranks in the middle. Rank 0 says "ready" when all are at it. */
#include "check.h"

int main(void)
{
    begin();
    if (me == 0)
        sam_accumulator_begin(sam_name_of(1, 0), 100), sam_end_update(sam_name_of(1, 0));
    sam_barrier();
    if (me == 0) {
        printf("ready\n");
        fflush(stdout);
    }
    for (uint64_t round = 1;; round++) {
        size_t bytes = round % 5 ? 1000 : 300000;
        sam_value_begin(sam_name_of(2 + me, round), bytes);
        sam_value_end(sam_name_of(2 + me, round), n);
        for (int rank = 0; rank < n; rank++) {
            sam_use(sam_name_of(2 + rank, round), NULL);
            sam_end_use(sam_name_of(2 + rank, round));
        }
        sam_update(sam_name_of(1, 0), NULL);
        sam_end_update(sam_name_of(1, 0));
        sam_task_add(&round, sizeof round);
        while (sam_task_next(&bytes, sizeof bytes, NULL))
            ;
    }
}
