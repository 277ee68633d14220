// Each rank writes a value and uses the one of its left neighbour.
#include <sam.h>
#include <stdio.h>

int main(void) {
    sam_init();
    int me = sam_rank(), all = sam_ranks(), left = (me + all - 1) % all;
    int *mine = sam_value_begin(sam_name_of(1, me), sizeof *mine);
    *mine = me;
    sam_value_end(sam_name_of(1, me), 1);
    int right = *(const int *)sam_use(sam_name_of(1, left), NULL) == left;
    sam_end_use(sam_name_of(1, left));
    if (me == 0 && right) printf("sam, %d processes\n", all);
    sam_finish();
    return !right;
}
