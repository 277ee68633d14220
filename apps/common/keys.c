/* Keys of bodies in Morton order, and bodies sorted by them. */
#include "gravity.h"
#include "app.h"

#include <stdlib.h>

/* 21 bits, two zeros between each and the next. */
static uint64_t spread(uint64_t v)
{
    v &= 0x1fffff;
    v = (v | v << 32) & 0x1f00000000ffff;
    v = (v | v << 16) & 0x1f0000ff0000ff;
    v = (v | v << 8) & 0x100f00f00f00f00f;
    v = (v | v << 4) & 0x10c30c30c30c30c3;
    return (v | v << 2) & 0x1249249249249249;
}

uint64_t morton_key(const double corner[3], double size, const double x[3])
{
    const double most = (double)((1 << LEVELS) - 1);
    uint64_t at[3];
    for (int d = 0; d < 3; d++) {
        double place = (x[d] - corner[d]) / size * (double)(1 << LEVELS);
        at[d] = (uint64_t)(place < 0 ? 0 : place > most ? most : place);
    }
    return spread(at[0]) << 2 | spread(at[1]) << 1 | spread(at[2]);
}

struct place {
    uint64_t key;
    int body;
};

/* Least significant digit first, stable. */
struct body *sort_by_key(struct body *bodies, int count)
{
    enum { BITS = 11, PASSES = 6, DIGITS = 1 << BITS };
    struct place *from = app_memory((size_t)count, sizeof *from);
    struct place *to = app_memory((size_t)count, sizeof *to), *other;
    for (int i = 0; i < count; i++)
        from[i] = (struct place){bodies[i].key, i};
    for (int pass = 0; pass < PASSES; pass++) {
        int begins[DIGITS + 1] = {0}, shift = BITS * pass;
        for (int i = 0; i < count; i++)
            begins[(from[i].key >> shift & (DIGITS - 1)) + 1]++;
        for (int d = 0; d < DIGITS; d++)
            begins[d + 1] += begins[d];
        for (int i = 0; i < count; i++)
            to[begins[from[i].key >> shift & (DIGITS - 1)]++] = from[i];
        other = from, from = to, to = other;
    }
    struct body *sorted = app_memory((size_t)count, sizeof *sorted);
    for (int i = 0; i < count; i++)
        sorted[i] = bodies[from[i].body];
    free(bodies);
    free(from);
    free(to);
    return sorted;
}

int lower_bound(const struct body *bodies, int count, uint64_t key)
{
    int low = 0, high = count;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (bodies[middle].key < key)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}
