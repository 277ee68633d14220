/* BSPlib: random total exchanges of small and large blocks in one superstep, by puts, gets and messages, while MPI is
 * used in the same program. The argument is the seed. */
#include "bsp_check.h"

enum { ROUNDS = 12, PIECES = 6, SLOT = 40000 };

static unsigned state;

static unsigned draw(unsigned below)
{
    state = state * 1664525u + 1013904223u;
    return (state >> 8) % below;
}

/* What process `a` gives process `b` in a round: the same numbers on both. */
static int length(unsigned seed, int round, int a, int b, int piece)
{
    unsigned saved = state;
    state = seed * 7919u + (unsigned)((round * 64 + a) * 64 + b) * 8u + (unsigned)piece;
    draw(2);
    int bytes = draw(8) == 0 ? (int)draw(SLOT) : (int)draw(40);
    state = saved;
    return bytes;
}

static char byte(int round, int a, int b, int piece, int i)
{
    return (char)(round * 31 + a * 17 + b * 13 + piece * 7 + i);
}

static int holds(const char *at, int bytes, int round, int a, int b, int piece)
{
    for (int i = 0; i < bytes; i++)
        if (at[i] != byte(round, a, b, piece, i))
            return 0;
    return 1;
}

int main(int argc, char **argv)
{
    bsp_begin(bsp_nprocs());
    bsp_check_init();
    unsigned seed = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
    int p = bsp_nprocs(), s = bsp_pid(), rounds = p > 8 ? 2 : ROUNDS, tag_size = 3 * sizeof(int);
    /* For every process a slot for each piece that it puts here, and one for what it gets here. */
    size_t area = (size_t)p * PIECES * SLOT;
    char *put_here = malloc(area), *get_here = malloc(area), *got = malloc(area), *data = malloc(SLOT);
    bsp_push_reg(put_here, (int)area);
    bsp_push_reg(get_here, (int)area);
    bsp_set_tagsize(&tag_size);
    bsp_sync();
    for (int round = 0; round < rounds; round++) {
        int expected = 0;
        for (int other = 0; other < p; other++)
            for (int piece = 0; piece < PIECES; piece++) {
                size_t mine = ((size_t)s * PIECES + (size_t)piece) * SLOT;
                size_t theirs = ((size_t)other * PIECES + (size_t)piece) * SLOT;
                int out = length(seed, round, s, other, piece), in = length(seed, round, other, s, piece);
                for (int i = 0; i < out; i++)
                    data[i] = get_here[theirs + (size_t)i] = byte(round, s, other, piece, i);
                int tag[3] = {s, piece, out};
                if (piece % 3 == 0)
                    bsp_put(other, data, put_here, (int)mine, out);
                else if (piece % 3 == 1)
                    bsp_get(other, get_here, (int)mine, got + theirs, in);
                else
                    bsp_send(other, tag, data, out);
                expected += piece % 3 == 2;
            }
        int sum = 0, one = 1;
        CHECK_MPI(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
        CHECK_EQ(sum, p);
        bsp_sync();
        int count, bytes;
        bsp_qsize(&count, &bytes);
        CHECK_EQ(count, expected);
        void *tag, *payload;
        for (int len; (len = bsp_hpmove(&tag, &payload)) >= 0;) {
            const int *t = tag;
            CHECK_EQ(len, length(seed, round, t[0], s, t[1]));
            CHECK(holds(payload, len, round, t[0], s, t[1]));
        }
        for (int other = 0; other < p; other++)
            for (int piece = 0; piece < PIECES; piece++) {
                size_t theirs = ((size_t)other * PIECES + (size_t)piece) * SLOT;
                int in = length(seed, round, other, s, piece);
                const char *at = piece % 3 == 0 ? put_here : got;
                if (piece % 3 < 2)
                    CHECK(holds(at + theirs, in, round, other, s, piece));
            }
    }
    free(put_here), free(get_here), free(got), free(data);
    return bsp_check_finish();
}
