/* BSPlib, words in a row, which most programs put, get and send one by one: rows that go on, break off, begin again, end with
 * the block, go to several processes in turn and to several blocks; with buffers and without. The argument is the number of
 * words in a block (100), a multiple of 5 above 40: long rows travel as large blocks do. */
#include "bsp_check.h"

static int n = 100, p, s;

enum { PUT, HPPUT, GET, HPGET, WAYS };

static const char *const names[WAYS] = {"bsp_put", "bsp_hpput", "bsp_get", "bsp_hpget"};

/* What a process has at place `i` of a block. */
static double value(int process, int block, int i)
{
    return process * 1e6 + block * 1e5 + i;
}

/* Moves word `from` of our source to word `to` of `peer`'s target, or of its source to our target. */
static void move(int way, int peer, double *source, double *target, int from, int to)
{
    int there = to * (int)sizeof(double), here = from * (int)sizeof(double);
    switch (way) {
    case PUT:
        bsp_put(peer, source + from, target, there, sizeof(double));
        break;
    case HPPUT:
        bsp_hpput(peer, source + from, target, there, sizeof(double));
        break;
    case GET:
        bsp_get(peer, source, here, target + to, sizeof(double));
        break;
    default:
        bsp_hpget(peer, source, here, target + to, sizeof(double));
        break;
    }
}

/* For place i of the target the place of the source, in the order in which the words are moved. */
typedef int order_of(int i);

static int in_a_row(int i)
{
    return i;
}

static int backwards(int i)
{
    return n - 1 - i;
}

/* Rows of 5 words, which are too short for a record each, and of 40. */
static int short_rows(int i)
{
    return i / 5 * 5 + 4 - i % 5;
}

static int long_rows(int i)
{
    return (i + 40) % n;
}

static order_of *const orders[] = {in_a_row, backwards, short_rows, long_rows};

enum { ORDERS = sizeof orders / sizeof orders[0] };

static void fill(double *block, int number)
{
    for (int i = 0; i < n; i++)
        block[i] = number < 0 ? -1 : value(s, number, i);
}

/* In target `number` lies what `from` had. */
static int wrong(const double *target, int from, int number, order_of *order)
{
    int count = 0;
    for (int i = 0; i < n; i++)
        count += target[i] != value(from, number, order(i));
    return count;
}

/* To, or from, one process. */
static void one(int way, order_of *order, double *source, double *target)
{
    int right = (s + 1) % p, left = (s + p - 1) % p;
    fill(source, 0), fill(target, -1);
    bsp_sync();
    for (int i = 0; i < n; i++) {
        move(way, right, source, target, order(i), i);
        if (way == PUT)
            source[order(i)] = -2;
    }
    bsp_sync();
    int errors = wrong(target, way <= HPPUT ? left : right, 0, order);
    CHECK_EQ(errors, 0);
    if (errors != 0)
        printf("%s\n", names[way]);
}

/* The words of each third of the block by another process in turn, and of two blocks in turn. */
static void in_turn(int way, double *source[2], double *target[2])
{
    for (int b = 0; b < 2; b++)
        fill(source[b], b), fill(target[b], -1);
    bsp_sync();
    for (int i = 0; i < n; i++)
        for (int b = 0; b < 2; b++)
            move(way, (s + i) % p, source[b], target[b], i, i);
    bsp_sync();
    for (int b = 0; b < 2; b++) {
        int errors = 0;
        for (int i = 0; i < n; i++) {
            int other = way <= HPPUT ? ((s - i) % p + p) % p : (s + i) % p;
            errors += target[b][i] != value(other, b, i);
        }
        CHECK_EQ(errors, 0);
    }
}

/* A row of unbuffered puts that buffered ones interrupt, beside gets of the puts' source. */
static void mixed(double *source, double *target)
{
    int right = (s + 1) % p, left = (s + p - 1) % p, word = sizeof(double);
    double other = -3, *got = malloc((size_t)n * sizeof *got);
    fill(source, 0), fill(target, -1);
    bsp_sync();
    for (int i = 0; i < n; i++) {
        if (i % 50 == 48)
            bsp_put(right, &other, target, i * word, word);
        else
            bsp_hpput(right, source + i, target, i * word, word);
        bsp_get(right, source, i * word, got + i, word);
    }
    other = -4;
    bsp_sync();
    int errors = 0;
    for (int i = 0; i < n; i++)
        errors += target[i] != (i % 50 == 48 ? -3 : value(left, 0, i)) || got[i] != value(right, 0, i);
    CHECK_EQ(errors, 0);
    free(got);
}

/* By the functions themselves, whose addresses a program may take, and by lengths that a compiler doesn't know. */
static void calls(double *source, double *target)
{
    void (*volatile put)(int, const void *, void *, int, int) = bsp_put;
    void (*volatile get)(int, const void *, int, void *, int) = bsp_get;
    int right = (s + 1) % p, left = (s + p - 1) % p;
    volatile int word = sizeof(double);
    fill(source, 0), fill(target, -1);
    bsp_sync();
    for (int i = 0; i < n; i++) {
        if (i % 2 == 0)
            put(right, source + i, target, i * word, word);
        else
            bsp_put(right, source + i, target, i * word, word);
    }
    bsp_sync();
    CHECK_EQ(wrong(target, left, 0, in_a_row), 0);
    fill(target, -1);
    for (int i = 0; i < n; i++) {
        if (i % 2 == 0)
            get(right, source, i * word, target + i, word);
        else
            bsp_get(right, source, i * word, target + i, word);
    }
    bsp_sync();
    CHECK_EQ(wrong(target, right, 0, in_a_row), 0);
}

/* Messages one way, the other, and both ways, of lengths that grow and shrink: whose memory they lie in changes. */
static void directions(double *source, double *target)
{
    for (int round = 0; round < 24; round++) {
        int right = (s + 1) % p, left = (s + p - 1) % p, count = 1 + round * 37 % n;
        fill(source, round), fill(target, -1);
        bsp_sync();
        if (round / 2 % 3 == 0 || (round / 2 % 3 == 1) == (s % 2 == 0))
            for (int i = 0; i < count; i++)
                move(PUT, right, source, target, i, i);
        bsp_sync();
        int comes = round / 2 % 3 == 0 || (round / 2 % 3 == 1) == (left % 2 == 0), errors = 0;
        for (int i = 0; i < n; i++)
            errors += target[i] != (comes && i < count ? value(left, round, i) : -1);
        CHECK_EQ(errors, 0);
    }
}

int main(int argc, char **argv)
{
    double *source[2], *target[2];
    bsp_begin(bsp_nprocs());
    bsp_check_init();
    if (argc > 1)
        n = atoi(argv[1]);
    p = bsp_nprocs(), s = bsp_pid();
    for (int b = 0; b < 2; b++) {
        source[b] = malloc((size_t)n * sizeof(double)), target[b] = malloc((size_t)n * sizeof(double));
        bsp_push_reg(source[b], n * (int)sizeof(double));
        bsp_push_reg(target[b], n * (int)sizeof(double));
    }
    bsp_sync();
    for (int way = 0; way < WAYS; way++) {
        for (int i = 0; i < ORDERS; i++)
            one(way, orders[i], source[0], target[0]);
        in_turn(way, source, target);
    }
    mixed(source[0], target[0]);
    calls(source[0], target[0]);
    directions(source[0], target[0]);
    for (int b = 0; b < 2; b++)
        free(source[b]), free(target[b]);
    return bsp_check_finish();
}
