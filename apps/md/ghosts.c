/* Copies of atoms near this rank's box: six swaps with the neighbours, x first, then y, then z. Later
 * swaps pass on what earlier ones brought, so that edges and corners need no messages of their own. */
#include "md.h"

#include <stdlib.h>
#include <string.h>

static double *buffer(struct md *md, size_t numbers)
{
    if (numbers > md->buffer_size) {
        md->buffer = app_more_memory(md->buffer, numbers, sizeof *md->buffer);
        md->buffer_size = numbers;
    }
    return md->buffer;
}

/* Atoms within reach of the face, ghosts of earlier directions included. */
static void choose(struct md *md, int s, int behind)
{
    struct swap *swap = &md->swaps[s];
    int d = s / 2, up = s % 2;
    double reach = md->p.cutoff + md->p.skin;
    double edge = up ? md->high[d] - reach : md->low[d] + reach;
    if (behind > swap->capacity) {
        swap->send = app_more_memory(swap->send, (size_t)behind, sizeof *swap->send);
        swap->capacity = behind;
    }
    swap->count = 0;
    for (int i = 0; i < behind; i++) {
        double x = md->x[WIDE * i + d];
        if (up ? x >= edge : x < edge)
            swap->send[swap->count++] = i;
    }
}

static void pack(const struct md *md, int s, double *to)
{
    const struct swap *swap = &md->swaps[s];
    double shift[WIDE] = {0};
    shift[s / 2] = swap->shift;
    for (int k = 0; k < swap->count; k++)
        for (int c = 0; c < WIDE; c++)
            to[WIDE * k + c] = md->x[WIDE * swap->send[k] + c] + shift[c];
}

static void send_positions(struct md *md, int s)
{
    struct swap *swap = &md->swaps[s];
    double *to = &md->x[WIDE * (size_t)swap->first];
    if (swap->to == md->rank) {
        pack(md, s, to);
        return;
    }
    double *out = buffer(md, WIDE * (size_t)swap->count);
    pack(md, s, out);
    MPI_Sendrecv(out, WIDE * swap->count, MPI_DOUBLE, swap->to, s, to, WIDE * swap->received,
                 MPI_DOUBLE, swap->from, s, md->comm, MPI_STATUS_IGNORE);
}

void md_borders(struct md *md)
{
    md->ghosts = 0;
    for (int s = 0; s < SWAPS; s++) {
        struct swap *swap = &md->swaps[s];
        /* Both swaps of a direction choose among the same atoms. */
        int behind = s % 2 ? md->swaps[s - 1].first : md->own + md->ghosts;
        choose(md, s, behind);
        MPI_Sendrecv(&swap->count, 1, MPI_INT, swap->to, s, &swap->received, 1, MPI_INT, swap->from,
                     s, md->comm, MPI_STATUS_IGNORE);
        swap->first = md->own + md->ghosts;
        md->ghosts += swap->received;
        md_room(md, md->own + md->ghosts);
        send_positions(md, s);
    }
}

void md_forward(struct md *md)
{
    double start = MPI_Wtime();
    for (int s = 0; s < SWAPS; s++)
        send_positions(md, s);
    md->exchange_seconds += MPI_Wtime() - start;
}

static void add(double *f, const struct swap *swap, const double *came)
{
    for (int k = 0; k < swap->count; k++)
        for (int c = 0; c < 3; c++)
            f[WIDE * swap->send[k] + c] += came[WIDE * k + c];
}

void md_reverse(struct md *md)
{
    double start = MPI_Wtime();
    for (int s = SWAPS - 1; s >= 0; s--) {
        const struct swap *swap = &md->swaps[s];
        const double *of_ghosts = &md->f[WIDE * (size_t)swap->first];
        if (swap->to == md->rank) {
            add(md->f, swap, of_ghosts);
            continue;
        }
        double *came = buffer(md, WIDE * (size_t)swap->count);
        MPI_Sendrecv(of_ghosts, WIDE * swap->received, MPI_DOUBLE, swap->from, s, came,
                     WIDE * swap->count, MPI_DOUBLE, swap->to, s, md->comm, MPI_STATUS_IGNORE);
        add(md->f, swap, came);
    }
    md->exchange_seconds += MPI_Wtime() - start;
}
