/* Sums over all ranks: an accumulator to which each rank adds, and which the last of them makes a value. */
#include "together.h"

sam_name name_with_home(uint64_t series, int kind, int home, int number)
{
    return sam_name_of(series << KIND_BITS | (uint64_t)kind, (uint64_t)home << HOME_SHIFT | (uint64_t)number);
}

int home_of(sam_name name, int ranks)
{
    return (int)(name.key >> HOME_SHIFT) % ranks;
}

static void together(wide *numbers, int count, int add)
{
    static uint64_t sums; /* a name is used once */
    sam_name name = name_with_home(++sums, KIND_OF_SUMS, 0, 0);
    size_t bytes = ((size_t)count + 1) * sizeof(wide);
    wide *all = sam_rank() == 0 ? sam_accumulator_begin(name, bytes) : sam_update(name, NULL);
    for (int n = 0; n < count; n++)
        if (add)
            all[n + 1] += numbers[n];
        else
            all[n + 1] = all[0] == 0 || numbers[n] > all[n + 1] ? numbers[n] : all[n + 1];
    if (++all[0] == sam_ranks())
        sam_end_update_to_value(name, (uint64_t)sam_ranks());
    else
        sam_end_update(name);
    const wide *result = sam_use(name, NULL);
    for (int n = 0; n < count; n++)
        numbers[n] = result[n + 1];
    sam_end_use(name);
}

void add_together(wide *numbers, int count)
{
    together(numbers, count, 1);
}

void most_together(wide *numbers, int count)
{
    together(numbers, count, 0);
}

/* 64 bits behind the point: the last one is 5e-20. */
static const double ONE = 0x1p64;
/* Numbers up to 2^32, of which 2^30 can be added; larger ones count as that. */
static const double MOST = 0x1p96;

wide fixed(double number)
{
    number *= ONE;
    return (wide)(number > MOST ? MOST : number < -MOST ? -MOST : number == number ? number : MOST);
}

double from_fixed(wide number)
{
    return (double)number / ONE;
}
