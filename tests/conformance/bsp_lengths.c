/* BSPlib: rows and others of all four accesses, of words that calls inside of the program know, of other lengths, and of
 * lengths that a compiler doesn't know. The argument is the number of bytes in a block (960), a multiple of 240. */
#include "bsp_check.h"

static int bytes_of_block = 960, units, p, s;

enum { PUT, HPPUT, GET, HPGET, WAYS };

static const char *const names[WAYS] = {"bsp_put", "bsp_hpput", "bsp_get", "bsp_hpget"};

/* The place of the unit that is moved as the i-th one. */
typedef int order_of(int i);

static int in_a_row(int i)
{
    return i;
}

static int backwards(int i)
{
    return units - 1 - i;
}

static int every_second(int i)
{
    return i < units / 2 ? 2 * i : 2 * (i - units / 2) + 1;
}

/* Behind the first half comes a gap, which is filled at last. */
static int with_a_gap(int i)
{
    return i < units / 2 ? i : i < units - 1 ? i + 1 : units / 2;
}

static order_of *const orders[] = {in_a_row, backwards, every_second, with_a_gap};

enum { ORDERS = sizeof orders / sizeof orders[0] };

/* Units of `bytes` of our source and another's target, or the other way round, each at its place, to all processes in turn. */
#define UNITS(bytes)                                                                                                   \
    for (int i = 0; i < units; i++) {                                                                                  \
        int peer = (s + i / 3) % p, at = (bytes) * order(i);                                                           \
        if (way == PUT)                                                                                                \
            bsp_put(peer, from + at, to, at, bytes);                                                                   \
        else if (way == HPPUT)                                                                                         \
            bsp_hpput(peer, from + at, to, at, bytes);                                                                 \
        else if (way == GET || i % 7 == 0)                                                                             \
            bsp_get(peer, from, at, to + at, bytes);                                                                   \
        else                                                                                                           \
            bsp_hpget(peer, from, at, to + at, bytes);                                                                 \
    }

/* Rows and others, of words that calls inside of the program know, and of other lengths. */
static void lengths(int way, int bytes, order_of *order, char *from, char *to)
{
    int errors = 0;
    units = bytes_of_block / bytes / 2 * 2;
    for (int i = 0; i < bytes_of_block; i++)
        from[i] = (char)(i % 119 + s), to[i] = -1;
    bsp_sync();
    switch (bytes) {
    case 4:
        UNITS(4) break;
    case 12:
        UNITS(12) break;
    case 16:
        UNITS(16) break;
    default:
        UNITS(bytes)
    }
    bsp_sync();
    for (int i = 0; i < units; i++) {
        int other = way <= HPPUT ? ((s - i / 3) % p + p) % p : (s + i / 3) % p;
        for (int b = order(i) * bytes; b < (order(i) + 1) * bytes; b++)
            errors += to[b] != (char)(b % 119 + other);
    }
    CHECK_EQ(errors, 0);
    if (errors != 0)
        printf("%s, %d bytes\n", names[way], bytes);
}

int main(int argc, char **argv)
{
    bsp_begin(bsp_nprocs());
    bsp_check_init();
    if (argc > 1)
        bytes_of_block = atoi(argv[1]);
    p = bsp_nprocs(), s = bsp_pid();
    char *from = malloc((size_t)bytes_of_block), *to = malloc((size_t)bytes_of_block);
    bsp_push_reg(from, bytes_of_block);
    bsp_push_reg(to, bytes_of_block);
    bsp_sync();
    for (int way = 0; way < WAYS; way++)
        for (int i = 0; i < ORDERS; i++)
            for (int bytes = 4; bytes <= 20; bytes += 4)
                lengths(way, bytes, orders[i], from, to);
    free(from), free(to);
    return bsp_check_finish();
}
