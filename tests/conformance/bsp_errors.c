/* BSPlib: mistakes, one per argument. Each ends the program with a line that names function, process and superstep. */
#include "bsp_check.h"

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    int x[25] = {0}, y = 0, tag = 0;
    if (strcmp(how, "outside") == 0)
        bsp_sync();
    bsp_begin(bsp_nprocs());
    int s = bsp_pid(), last = bsp_nprocs() - 1;
    bsp_push_reg(x, sizeof x);
    bsp_push_reg(s == 0 ? NULL : &y, s == 0 ? 0 : (int)sizeof y);
    if (strcmp(how, "early") == 0)
        bsp_put(0, &y, x, 0, 4);
    if (strcmp(how, "pushes") == 0 && s == last)
        bsp_push_reg(&tag, sizeof tag);
    bsp_sync();
    bsp_sync();
    if (strcmp(how, "range") == 0 && s == 1)
        bsp_put(0, &y, x, 100, 4);
    if (strcmp(how, "get_range") == 0 && s == 1)
        bsp_get(2, x, 96, x, 8);
    /* Rows that go on behind the block's end, of which calls inside of the program move nothing. */
    int many[64] = {0}, rows = strncmp(how, "row_", 4) == 0 && s == 1;
    for (int i = 0; rows && i < 40; i++) {
        if (strncmp(how + 4, "get", 3) == 0)
            bsp_get(2, x, 4 * i, many + i, 4);
        else if (strcmp(how + 4, "hpget") == 0)
            bsp_hpget(2, x, 4 * i, many + i, 4);
        else if (strcmp(how + 4, "hpput") == 0)
            bsp_hpput(2, many + i, x, 4 * i, 4);
        else
            bsp_put(2, many + i, x, 4 * i, 4);
    }
    if (strcmp(how, "row_get_put") == 0 && s == 1)
        bsp_put(2, &y, x, 0, 4);
    if (strcmp(how, "row_get_send") == 0 && s == 1)
        bsp_send(2, NULL, &y, 4);
    if (strcmp(how, "row_get_end") == 0) {
        bsp_end();
        return 0;
    }
    if (strcmp(how, "pid") == 0 && s == 1)
        bsp_get(bsp_nprocs(), x, 0, x, 4);
    if (strcmp(how, "unregistered") == 0 && s == 1)
        bsp_hpput(0, x, x + 1, 0, 4);
    if (strcmp(how, "null") == 0 && s == 1)
        bsp_hpget(0, &y, 0, x, 4);
    if (strstr(how, "_null")) {
        static char block[1 << 20];
        bsp_push_reg(block, sizeof block);
        bsp_sync();
        if (strncmp(how, "from_null", 9) == 0 && s == 1)
            bsp_put(0, NULL, block, 0, how[9] == '_' ? (int)sizeof block : 8);
        if (strcmp(how, "again_null") == 0 && s == 1)
            bsp_put(0, x, block, 0, 8), bsp_put(0, NULL, block, 8, 8);
        if (strcmp(how, "hp_null") == 0 && s == 1)
            bsp_hpput(0, NULL, block, 0, sizeof block);
        if (strcmp(how, "to_null") == 0 && s == 1)
            bsp_get(0, block, 0, x, 8), bsp_get(0, block, 0, NULL, 8);
        if (strcmp(how, "hp_to_null") == 0 && s == 1)
            bsp_hpget(0, block, 0, NULL, sizeof block);
    }
    if (strcmp(how, "negative") == 0 && s == 1)
        bsp_send(0, &tag, x, -3);
    if (strcmp(how, "pops") == 0)
        bsp_pop_reg(s == last ? (void *)&y : (void *)x);
    if (strcmp(how, "pop_count") == 0 && s == last)
        bsp_pop_reg(x);
    if (strcmp(how, "never") == 0)
        bsp_pop_reg(&tag);
    if (strcmp(how, "tag") == 0) {
        tag = 4 * s;
        bsp_set_tagsize(&tag);
    }
    if (strcmp(how, "empty") == 0)
        bsp_move(x, 4);
    if (strcmp(how, "abort") == 0 && s == last)
        bsp_abort("%d of %s, %.1f\n", 3, "four", 4.5);
    if (strcmp(how, "end") == 0 && s == last) {
        bsp_end();
        return 0;
    }
    if (strcmp(how, "missing_end") == 0 && s == last)
        return 0;
    bsp_sync();
    bsp_end();
    if (strcmp(how, "twice") == 0)
        bsp_begin(1);
    return 0;
}
