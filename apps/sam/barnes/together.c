/* Sums over all ranks: an accumulator to which each rank adds, and which the last of them makes a value. */
#include "barnes.h"

#include <math.h>

/* Space: kind and step. Key: home and number. */
enum { KIND_BITS = 3, HOME_SHIFT = 40 };

sam_name name_of(const struct universe *u, enum kind_of_object kind, int home, int number)
{
    uint64_t series = kind == SUMS ? u->sums : u->step;
    return sam_name_of(series << KIND_BITS | kind, (uint64_t)home << HOME_SHIFT | (uint64_t)number);
}

int home_of(sam_name name, int ranks)
{
    return (int)(name.key >> HOME_SHIFT) % ranks;
}

static void together(struct universe *u, wide *numbers, int count, int add)
{
    u->sums++;
    sam_name name = name_of(u, SUMS, 0, 0);
    size_t bytes = ((size_t)count + 1) * sizeof(wide);
    wide *all = u->app->rank == 0 ? sam_accumulator_begin(name, bytes) : sam_update(name, NULL);
    for (int n = 0; n < count; n++)
        if (add)
            all[n + 1] += numbers[n];
        else
            all[n + 1] = all[0] == 0 || numbers[n] > all[n + 1] ? numbers[n] : all[n + 1];
    if (++all[0] == u->app->ranks)
        sam_end_update_to_value(name, (uint64_t)u->app->ranks);
    else
        sam_end_update(name);
    const wide *result = sam_use(name, NULL);
    for (int n = 0; n < count; n++)
        numbers[n] = result[n + 1];
    sam_end_use(name);
}

void add_together(struct universe *u, wide *numbers, int count)
{
    together(u, numbers, count, 1);
}

void most_together(struct universe *u, wide *numbers, int count)
{
    together(u, numbers, count, 0);
}

/* 80 bits behind the point: 47 bits before it, and a last one of 1e-24, far below the last bits of what is added. */
static const double ONE = 0x1p80;
/* So much of it that a million millions of numbers can be added. */
static const double MOST = 0x1p126 / 0x1p40;

wide fixed(double number)
{
    number *= ONE;
    return (wide)(number > MOST ? MOST : number < -MOST ? -MOST : number == number ? number : MOST);
}

double from_fixed(wide number)
{
    return (double)number / ONE;
}
