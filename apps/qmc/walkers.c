/* Who has which walkers, and the reconfiguration: branching that keeps their number. Weights are added as whole numbers,
 * so that every rank count finds the same survivors. */
#include "qmc.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double UNIT = 0x1p32;     /* of a weight as a whole number */
static const double MOST_WEIGHT = 512; /* 2^41 units; times 2^20 walkers this fits 64 bits */

int64_t walkers_first(const struct qmc *q, int rank)
{
    int64_t share = q->p.walkers / q->ranks, rest = q->p.walkers % q->ranks;
    return rank * share + (rank < rest ? rank : rest);
}

static int rank_of(const struct qmc *q, int64_t slot)
{
    int rank = (int)(slot * q->ranks / q->p.walkers);
    while (rank > 0 && slot < walkers_first(q, rank))
        rank--;
    while (rank < q->ranks - 1 && slot >= walkers_first(q, rank + 1))
        rank++;
    return rank;
}

void walkers_room(struct qmc *q, int64_t count)
{
    if (count <= q->capacity)
        return;
    q->capacity = count;
    q->walkers = app_more_memory(q->walkers, (size_t)count, sizeof *q->walkers);
    q->spare = app_more_memory(q->spare, (size_t)count, sizeof *q->spare);
    q->copies = app_more_memory(q->copies, (size_t)count, sizeof *q->copies);
}

void walkers_share(struct qmc *q, MPI_Comm comm, const struct problem *p)
{
    memset(q, 0, sizeof *q);
    q->p = *p;
    q->comm = comm;
    MPI_Comm_rank(comm, &q->rank);
    MPI_Comm_size(comm, &q->ranks);
    q->first = walkers_first(q, q->rank);
    q->count = walkers_first(q, q->rank + 1) - q->first;
    q->a = app_memory(1, sizeof *q->a);
    memset(q->a, 0, sizeof *q->a);
    walkers_room(q, q->count);
}

void walkers_free(struct qmc *q)
{
    free(q->walkers);
    free(q->spare);
    free(q->copies);
    free(q->a);
    free(q->image);
}

/* Copies in the order of slots are sorted by destination already. */
void walkers_send(struct qmc *q, const struct walker *from, const int64_t *copies, int64_t count, int64_t first_slot)
{
    size_t ranks = (size_t)q->ranks;
    int *numbers = app_memory(4 * ranks, sizeof *numbers);
    int *counts = numbers, *came = counts + ranks, *begins = came + ranks, *places = begins + ranks;
    int64_t total = 0, next = 0;
    for (int64_t w = 0; w < count; w++)
        total += copies[w];
    struct walker *out = app_memory((size_t)total, sizeof *out);
    memset(counts, 0, ranks * sizeof *counts);
    for (int64_t w = 0; w < count; w++)
        for (int64_t c = 0; c < copies[w]; c++, next++) {
            out[next] = from[w];
            counts[rank_of(q, first_slot + next)]++;
        }
    MPI_Alltoall(counts, 1, MPI_INT, came, 1, MPI_INT, q->comm);
    begins[0] = places[0] = 0;
    for (size_t r = 1; r < ranks; r++) {
        begins[r] = begins[r - 1] + counts[r - 1];
        places[r] = places[r - 1] + came[r - 1];
    }
    MPI_Datatype walker;
    MPI_Type_contiguous(sizeof *out, MPI_BYTE, &walker);
    MPI_Type_commit(&walker);
    MPI_Alltoallv(out, counts, begins, walker, q->spare, came, places, walker, q->comm);
    MPI_Type_free(&walker);
    struct walker *old = q->walkers;
    q->walkers = q->spare;
    q->spare = old;
    free(out);
    free(numbers);
}

static int64_t units(double weight)
{
    return (int64_t)(fmin(weight, MOST_WEIGHT) * UNIT);
}

/* Of N marks at equal distances along all weights, laid end to end, those that lie below `end`. The first lies at shift / N. */
static int64_t marks_below(const struct qmc *q, int64_t end, int64_t all, int64_t shift)
{
    __int128 beyond = (__int128)end * q->p.walkers - shift;
    return beyond > 0 ? (int64_t)((beyond + all - 1) / all) : 0;
}

double walkers_reconfigure(struct qmc *q)
{
    double start = MPI_Wtime();
    int64_t mine = 0, before = 0, all;
    for (int64_t w = 0; w < q->count; w++)
        mine += units(q->walkers[w].weight);
    MPI_Exscan(&mine, &before, 1, MPI_INT64_T, MPI_SUM, q->comm);
    MPI_Allreduce(&mine, &all, 1, MPI_INT64_T, MPI_SUM, q->comm);
    before = q->rank == 0 ? 0 : before; /* which MPI_Exscan leaves undefined */
    int64_t shift = (int64_t)(draw_one(q->p.seed, q->step) * (double)all), at = before;
    int64_t first_slot = marks_below(q, before, all, shift), last = first_slot;
    for (int64_t w = 0; w < q->count; w++) {
        at += units(q->walkers[w].weight);
        int64_t next = marks_below(q, at, all, shift);
        q->copies[w] = next - last;
        q->walkers[w].weight = 1;
        last = next;
    }
    walkers_send(q, q->walkers, q->copies, q->count, first_slot);
    q->exchange_seconds += MPI_Wtime() - start;
    return (double)all / UNIT / (double)q->p.walkers;
}
