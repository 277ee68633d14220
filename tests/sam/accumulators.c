/* Accumulators: no update is lost or seen twice, whatever their number and length; chaotic reads are whole; values at the
 * end. */
#include "check.h"

#define COUNTERS 7
#define ROUNDS 300

static sam_name counter(int which) { return sam_name_of(1, which); }

int main(void)
{
    begin();
    size_t words = 5;
    for (int i = me; i < COUNTERS; i += n) {
        long *at = sam_accumulator_begin(counter(i), (words + i * 300) * sizeof *at);
        CHECK_EQ(at[words - 1], 0);
        sam_end_update(counter(i));
    }
    long sum = 0;
    uint64_t seen[COUNTERS] = {0};
    for (int round = 0; round < ROUNDS; round++) {
        int which = (round * 5 + me * 3) % COUNTERS;
        size_t bytes;
        long *at = sam_update(counter(which), &bytes);
        CHECK_EQ(bytes, (words + which * 300) * sizeof *at);
        long before = at[0];
        for (size_t i = 0; i < bytes / sizeof *at; i++) {
            CHECK_EQ(at[i], before);
            at[i]++;
        }
        if (round % 10 == 0)
            sam_poll(); /* others wait, and must not get it */
        CHECK_EQ(at[0], before + 1);
        sam_end_update(counter(which));
        sum++;

        int other = (which + 1) % COUNTERS;
        uint64_t updates;
        const long *state = sam_chaotic(counter(other), &bytes, &updates);
        CHECK_EQ(state[0], updates - 1); /* the first update was the creation */
        CHECK_EQ(state[bytes / sizeof *state - 1], state[0]);
        CHECK(updates >= seen[other]);
        seen[other] = updates;
        sam_end_chaotic(counter(other));
        if (round % 7 == 0)
            sam_refresh(counter(other));
    }
    CHECK_EQ(sum, ROUNDS);
    sam_barrier();
    for (int i = me; i < COUNTERS; i += n) {
        sam_update(counter(i), NULL);
        sam_end_update_to_value(counter(i), i % 2 ? SAM_STAYS : n);
    }
    long total = 0;
    for (int i = 0; i < COUNTERS; i++) {
        const long *at = sam_use(counter(i), NULL);
        total += at[words - 1];
        sam_end_use(counter(i));
    }
    CHECK_EQ(total, (long)n * ROUNDS);
    return end();
}
