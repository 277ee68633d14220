/* BSPlib: supersteps without end, for tests that kill processes. With the argument "sync" all processes go on and on;
 * with "between" process 0 leaves bsp_sync and never enters the next one, in which the others wait. Prints "ready" when
 * that state is reached. */
#include <bsp.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { NUMBERS = 1000 };

static void ready(void)
{
    if (bsp_pid() == 0) {
        printf("ready\n");
        fflush(stdout);
    }
}

static void superstep(int round, int *area, int *numbers)
{
    int other = (bsp_pid() + round) % bsp_nprocs();
    for (int i = 0; i < NUMBERS; i++)
        numbers[i] = round + i;
    bsp_put(other, numbers, area, 0, NUMBERS * (int)sizeof(int));
    bsp_hpget(other, area, NUMBERS * (int)sizeof(int), numbers, sizeof(int));
    bsp_send(other, NULL, numbers, NUMBERS * (int)sizeof(int));
    bsp_sync();
}

int main(int argc, char **argv)
{
    bsp_begin(bsp_nprocs());
    int between = argc > 1 && strcmp(argv[1], "between") == 0;
    static int area[2 * NUMBERS], numbers[NUMBERS];
    bsp_push_reg(area, sizeof area);
    bsp_sync();
    for (int round = 1;; round++) {
        superstep(round, area, numbers);
        if (round == 20)
            ready();
        while (between && round == 20 && bsp_pid() == 0)
            pause();
    }
}
