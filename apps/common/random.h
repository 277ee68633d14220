/* Random numbers by seed and number of what they are for, so that they do not depend on who makes them. */
#ifndef RANDOM_H
#define RANDOM_H

#include <math.h>
#include <stdint.h>

/* SplitMix64. */
static inline uint64_t random_next(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* Between 0 and 1, neither of them. */
static inline double random_uniform(uint64_t *state)
{
    return ((double)(random_next(state) >> 12) + 0.5) * 0x1p-52;
}

/* The random numbers of one thing, by its number. */
static inline uint64_t random_stream(int64_t seed, int64_t number)
{
    uint64_t state = (uint64_t)seed * 0xd1342543de82ef95u;
    random_next(&state);
    state ^= (uint64_t)number * 0xaf251af3b0f025b5u;
    random_next(&state);
    return state;
}

static inline void random_on_sphere(uint64_t *state, double radius, double out[3])
{
    double z = 2 * random_uniform(state) - 1, angle = 2 * 3.14159265358979323846 * random_uniform(state);
    double across = radius * sqrt(1 - z * z);
    out[0] = across * cos(angle), out[1] = across * sin(angle), out[2] = radius * z;
}

#endif
