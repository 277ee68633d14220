/* BSPlib: programs that end elsewhere than behind bsp_end. The first argument says where:
 *   sorry CODE  process 0 ends before bsp_begin, where the other processes wait for it, as programs do that were started on
 *               too few processes: the job ends with its code
 *   alone       without bsp_init, the last process ends with an error before bsp_begin, where the others wait for it
 *   each        without bsp_init, all processes end with an error before bsp_begin, and each has said why
 *   busy        the same of the last process while process 0 neither begins nor ends
 *   silent      with bsp_init, all processes but 0 end before bsp_begin without an error, which is a mistake
 *   endless     all end without bsp_end, which is a mistake; what they have printed is there
 * What it takes from stdio.h and stdint.h comes with bsp.h, as with that of other BSPlibs. */
#include <bsp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int silent;

static void spmd(void)
{
    const char *rank = getenv("PMI_RANK");
    if (silent && rank && atoi(rank) > 0)
        exit(0);
    bsp_begin(bsp_nprocs());
    bsp_sync();
    printf("result\n");
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "", *rank = getenv("PMI_RANK");
    uint8_t code = argc > 2 ? (uint8_t)atoi(argv[2]) : 0;
    if (strcmp(how, "alone") == 0) {
        if (rank && atoi(rank) == bsp_nprocs() - 1)
            return 5;
        bsp_begin(bsp_nprocs());
    }
    if (strcmp(how, "each") == 0) {
        fprintf(stderr, "no-input-%s\n", rank ? rank : "0");
        usleep(rank ? 1000u * (unsigned)atoi(rank) : 0);
        bsp_nprocs();
        return 6;
    }
    if (strcmp(how, "busy") == 0) {
        if (rank && atoi(rank) == bsp_nprocs() - 1)
            return 7;
        if (!rank || atoi(rank) == 0)
            sleep(100);
        bsp_begin(bsp_nprocs());
    }
    silent = strcmp(how, "silent") == 0;
    bsp_init(spmd, argc, argv);
    if (strcmp(how, "sorry") == 0) {
        printf("Sorry\n");
        exit(code);
    }
    spmd();
    return 0;
}
