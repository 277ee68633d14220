/* Copies of atoms near this rank's box: swaps with the two neighbours in x, then in y, then in z. Later
 * directions pass on what earlier ones brought, so that edges and corners need no messages of their own. */
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

/* Starts to send and receive the positions of a swap. Returns how many requests there are. */
static int start_positions(struct md *md, int s, double *out, MPI_Request *requests)
{
    const struct swap *swap = &md->swaps[s];
    double *to = &md->x[WIDE * (size_t)swap->first];
    if (swap->to == md->rank) {
        pack(md, s, to);
        return 0;
    }
    MPI_Irecv(to, WIDE * swap->received, MPI_DOUBLE, swap->from, s, md->comm, &requests[0]);
    pack(md, s, out);
    MPI_Isend(out, WIDE * swap->count, MPI_DOUBLE, swap->to, s, md->comm, &requests[1]);
    return 2;
}

/* Both swaps of a direction at once: neither passes on what the other brings. */
static void send_positions(struct md *md, int d)
{
    size_t down = WIDE * (size_t)md->swaps[2 * d].count, up = WIDE * (size_t)md->swaps[2 * d + 1].count;
    double *out = buffer(md, down + up);
    MPI_Request requests[4];
    int count = start_positions(md, 2 * d, out, requests);
    count += start_positions(md, 2 * d + 1, out + down, requests + count);
    MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
}

static void choose_ghosts(struct md *md, int s, int behind)
{
    struct swap *swap = &md->swaps[s];
    choose(md, s, behind);
    MPI_Sendrecv(&swap->count, 1, MPI_INT, swap->to, s, &swap->received, 1, MPI_INT, swap->from, s,
                 md->comm, MPI_STATUS_IGNORE);
    swap->first = md->own + md->ghosts;
    md->ghosts += swap->received;
}

void md_borders(struct md *md)
{
    md->ghosts = 0;
    for (int d = 0; d < 3; d++) {
        /* Both swaps of a direction choose among the same atoms. */
        int behind = md->own + md->ghosts;
        choose_ghosts(md, 2 * d, behind);
        choose_ghosts(md, 2 * d + 1, behind);
        md_room(md, md->own + md->ghosts);
        send_positions(md, d);
    }
}

void md_forward(struct md *md)
{
    double start = MPI_Wtime();
    for (int d = 0; d < 3; d++)
        send_positions(md, d);
    md->exchange_seconds += MPI_Wtime() - start;
}

static void add(double *f, const struct swap *swap, const double *came)
{
    for (int k = 0; k < swap->count; k++)
        for (int c = 0; c < 3; c++)
            f[WIDE * swap->send[k] + c] += came[WIDE * k + c];
}

static int start_forces(struct md *md, int s, double *came, MPI_Request *requests)
{
    const struct swap *swap = &md->swaps[s];
    if (swap->to == md->rank)
        return 0;
    MPI_Irecv(came, WIDE * swap->count, MPI_DOUBLE, swap->to, s, md->comm, &requests[0]);
    MPI_Isend(&md->f[WIDE * (size_t)swap->first], WIDE * swap->received, MPI_DOUBLE, swap->from, s,
              md->comm, &requests[1]);
    return 2;
}

/* Adds in the same order whatever comes first. */
static void return_forces(struct md *md, int d)
{
    const struct swap *down = &md->swaps[2 * d], *up = &md->swaps[2 * d + 1];
    double *came = buffer(md, WIDE * ((size_t)down->count + (size_t)up->count));
    double *came_up = came + WIDE * (size_t)down->count;
    MPI_Request requests[4];
    int count = start_forces(md, 2 * d, came, requests);
    count += start_forces(md, 2 * d + 1, came_up, requests + count);
    MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
    int alone = down->to == md->rank;
    add(md->f, up, alone ? &md->f[WIDE * (size_t)up->first] : came_up);
    add(md->f, down, alone ? &md->f[WIDE * (size_t)down->first] : came);
}

void md_reverse(struct md *md)
{
    double start = MPI_Wtime();
    for (int d = 2; d >= 0; d--)
        return_forces(md, d);
    md->exchange_seconds += MPI_Wtime() - start;
}
