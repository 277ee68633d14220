/* Tasks: each is done once, also those that tasks make; ranks without tasks take those of others; phases end. The queens
 * problem has known answers. */
#include "check.h"

static const long answers[] = {1, 1, 0, 0, 2, 10, 4, 40, 92, 352, 724};

typedef struct board {
    int size, row, phase;
    unsigned columns, left, right;
} board;

static long solve(board b)
{
    if (b.row == b.size)
        return 1;
    long found = 0;
    for (int c = 0; c < b.size; c++) {
        unsigned bit = 1u << c;
        if ((b.columns | b.left | b.right) & bit)
            continue;
        board next = {b.size, b.row + 1, b.phase, b.columns | bit, (b.left | bit) << 1, (b.right | bit) >> 1};
        if (next.row <= 3)
            sam_task_add(&next, sizeof next);
        else
            found += solve(next);
    }
    return found;
}

int main(int argc, char **argv)
{
    int largest = argc > 1 ? atoi(argv[1]) : 8;
    begin();
    for (int size = 4; size <= largest; size++) {
        sam_name name = sam_name_of(1, size);
        if (me == size % n) {
            sam_accumulator_begin(name, sizeof(long));
            sam_end_update(name);
            board first = {size, 0, size, 0, 0, 0};
            sam_task_add(&first, sizeof first);
        }
        board b;
        size_t bytes;
        while (sam_task_next(&b, sizeof b, &bytes)) {
            CHECK_EQ(bytes, sizeof b);
            CHECK_EQ(b.phase, size);
            long found = solve(b);
            if (found > 0) {
                long *sum = sam_update(name, NULL);
                *sum += found;
                sam_end_update(name);
            }
        }
        /* All updates are over when the phase is. */
        if (me == 0) {
            long *sum = sam_update(name, NULL);
            CHECK_EQ(*sum, answers[size]);
            sam_end_update_to_value(name, SAM_STAYS);
        }
        CHECK_EQ(*(const long *)sam_use(name, NULL), answers[size]);
        sam_end_use(name);
    }
    CHECK_EQ(sam_task_next(NULL, 0, NULL), 0); /* a phase without tasks */
    return end();
}
