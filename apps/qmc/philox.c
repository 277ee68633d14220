/* Philox 4x32 with 10 rounds (Salmon, Moraes, Dror, Shaw, Supercomputing '11): a counter is encrypted with a key. There is no
 * state, so no matter who computes a walker's step, it gets the same numbers. */
#include "qmc.h"

#include <math.h>

enum { ROUNDS = 10 };

void philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4])
{
    uint32_t c[4] = {counter[0], counter[1], counter[2], counter[3]}, k[2] = {key[0], key[1]};
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t a = (uint64_t)0xD2511F53 * c[0], b = (uint64_t)0xCD9E8D57 * c[2];
        uint32_t next[4] = {(uint32_t)(b >> 32) ^ c[1] ^ k[0], (uint32_t)b, (uint32_t)(a >> 32) ^ c[3] ^ k[1], (uint32_t)a};
        for (int i = 0; i < 4; i++)
            c[i] = next[i];
        k[0] += 0x9E3779B9;
        k[1] += 0xBB67AE85;
    }
    for (int i = 0; i < 4; i++)
        out[i] = c[i];
}

/* Never 0 and never 1. */
static double uniform(uint32_t bits)
{
    return (bits + 0.5) * 0x1p-32;
}

static void draw(int64_t seed, uint64_t who, uint64_t when, uint32_t which, uint32_t out[4])
{
    const uint32_t key[2] = {(uint32_t)seed, which};
    const uint32_t counter[4] = {(uint32_t)who, (uint32_t)(who >> 32), (uint32_t)when, (uint32_t)(when >> 32)};
    philox(counter, key, out);
}

double draw_step(int64_t seed, int64_t slot, int64_t step, double gauss[COORDINATES])
{
    uint32_t bits[DRAWS];
    draw(seed, (uint64_t)slot, (uint64_t)step, 0, bits);
    draw(seed, (uint64_t)slot, (uint64_t)step, 1, bits + 4);
    for (int pair = 0; pair < COORDINATES / 2; pair++) {
        double radius = sqrt(-2 * log(uniform(bits[2 * pair]))), angle = 2 * M_PI * uniform(bits[2 * pair + 1]);
        gauss[2 * pair] = radius * cos(angle);
        gauss[2 * pair + 1] = radius * sin(angle);
    }
    return uniform(bits[COORDINATES]);
}

double draw_one(int64_t seed, int64_t step)
{
    uint32_t bits[4];
    draw(seed, 0, (uint64_t)step, 2, bits);
    return uniform(bits[0]);
}
