/* Sums over all ranks: numbers go to rank 0 as values, and what they make together goes back as one. */
#include "together.h"
#include "among.h"

#include <string.h>

/* Who works together; at first all. */
static struct {
    MPI_Comm comm;
    int ranks; /* 0: all */
} team = {MPI_COMM_WORLD, 0};
static uint64_t sums; /* a name is used once */

void together_among(MPI_Comm comm)
{
    team.comm = comm;
    MPI_Comm_size(comm, &team.ranks);
    meet(comm);
    /* Ranks that have waited have made fewer sums. */
    MPI_Allreduce(MPI_IN_PLACE, &sums, 1, MPI_UINT64_T, MPI_MAX, comm);
}

static int team_ranks(void)
{
    return team.ranks > 0 ? team.ranks : sam_ranks();
}

void meet_together(void)
{
    meet(team.comm);
}

sam_name name_with_home(uint64_t series, int kind, int home, int number)
{
    return sam_name_of(series << KIND_BITS | (uint64_t)kind, (uint64_t)home << HOME_SHIFT | (uint64_t)number);
}

int home_of(sam_name name, int ranks)
{
    return (int)(name.key >> HOME_SHIFT) % ranks;
}

/* Makes a value for so many ranks, in a use that its caller ends when it has been pushed to them. */
static void make(sam_name name, const wide *numbers, int count, int readers)
{
    memcpy(sam_value_begin(name, (size_t)count * sizeof *numbers), numbers, (size_t)count * sizeof *numbers);
    sam_value_end(name, (uint64_t)readers + 1);
    sam_use(name, NULL);
}

static void combine(wide *numbers, const wide *others, int count, int add)
{
    for (int n = 0; n < count; n++)
        if (add)
            numbers[n] += others[n];
        else
            numbers[n] = others[n] > numbers[n] ? others[n] : numbers[n];
}

/* An accumulator that goes from rank to rank would do, too, but each would wait for the one before. */
static void together(wide *numbers, int count, int add)
{
    const int rank = sam_rank(), ranks = team_ranks();
    const sam_name result = name_with_home(++sums, KIND_OF_SUMS, 0, 0);
    if (rank > 0) {
        const sam_name mine = name_with_home(sums, KIND_OF_SUMS, rank, 0);
        make(mine, numbers, count, 1);
        sam_push(mine, 0);
        sam_end_use(mine);
        memcpy(numbers, sam_use(result, NULL), (size_t)count * sizeof *numbers);
    } else {
        for (int other = 1; other < ranks; other++) {
            const sam_name theirs = name_with_home(sums, KIND_OF_SUMS, other, 0);
            combine(numbers, sam_use(theirs, NULL), count, add);
            sam_end_use(theirs);
        }
        make(result, numbers, count, ranks - 1);
        for (int other = 1; other < ranks; other++)
            sam_push(result, other);
    }
    sam_end_use(result);
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
