/* A box of cells on many ranks. */
#include "grid.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a face costs to send: faces across rows are single numbers far apart. */
static const double COST[3] = {1, 1.05, 2};

struct region {
    int low[3], high[3];
};

/* The split with the least surface between ranks. */
static int choose_dims(struct grid *g, int least)
{
    double best = INFINITY, n[3] = {g->n[0], g->n[1], g->n[2]};
    for (int a = 1; a <= g->ranks; a++) {
        for (int b = 1; g->ranks % a == 0 && b <= g->ranks / a; b++) {
            int dims[3] = {a, b, g->ranks / a / b}, fits = g->ranks / a % b == 0;
            double cost = 0;
            for (int d = 0; d < 3; d++) {
                fits = fits && g->n[d] / g->block[d] / dims[d] >= (dims[d] > 1 ? least : 1);
                cost += COST[d] * (dims[d] - 1) * n[(d + 1) % 3] * n[(d + 2) % 3];
            }
            if (fits && cost < best) {
                best = cost;
                memcpy(g->dims, dims, sizeof dims);
            }
        }
    }
    return isfinite(best);
}

int grid_fits(const int64_t n[3], int ranks, int least)
{
    struct grid g = {.ranks = ranks, .n = {(int)n[0], (int)n[1], (int)n[2]}, .block = {1, 1, 1}};
    return choose_dims(&g, least);
}

int grid_rank(const struct grid *g, const int at[3])
{
    return (at[0] * g->dims[1] + at[1]) * g->dims[2] + at[2];
}

static int neighbour(const struct grid *g, int d, int step)
{
    int at[3] = {g->at[0], g->at[1], g->at[2]};
    at[d] += step;
    if (at[d] < 0 || at[d] >= g->dims[d]) {
        if (!g->periodic[d])
            return MPI_PROC_NULL;
        at[d] = (at[d] + g->dims[d]) % g->dims[d];
    }
    return grid_rank(g, at);
}

static int split(struct grid *g, MPI_Comm comm, const int n[3], const int periodic[3], int least)
{
    g->comm = comm;
    MPI_Comm_rank(comm, &g->rank);
    MPI_Comm_size(comm, &g->ranks);
    memcpy(g->n, n, sizeof g->n);
    memcpy(g->periodic, periodic, sizeof g->periodic);
    if (!choose_dims(g, least))
        return 0;
    g->at[0] = g->rank / (g->dims[1] * g->dims[2]);
    g->at[1] = g->rank / g->dims[2] % g->dims[1];
    g->at[2] = g->rank % g->dims[2];
    for (int d = 0; d < 3; d++) {
        int blocks = n[d] / g->block[d], share = blocks / g->dims[d], rest = blocks % g->dims[d];
        g->size[d] = g->block[d] * (share + (g->at[d] < rest));
        g->first[d] = g->block[d] * (g->at[d] * share + (g->at[d] < rest ? g->at[d] : rest));
        g->neighbour[d][0] = neighbour(g, d, -1);
        g->neighbour[d][1] = neighbour(g, d, 1);
    }
    int lines = (GRID_LINE + g->size[2] + g->ghost[2] + GRID_LINE - 1) / GRID_LINE;
    g->row = (ptrdiff_t)lines * GRID_LINE;
    g->plane = (g->size[1] + 2 * g->ghost[1]) * g->row;
    g->points = (size_t)(g->size[0] + 2 * g->ghost[0]) * (size_t)g->plane;
    g->origin = (size_t)(g->ghost[0] * g->plane + g->ghost[1] * g->row + GRID_LINE);
    return 1;
}

int grid_split(struct grid *g, MPI_Comm comm, const int n[3], const int periodic[3], int ghost, int least)
{
    memset(g, 0, sizeof *g);
    for (int d = 0; d < 3; d++)
        g->block[d] = 1, g->ghost[d] = n[d] > 1 ? ghost : 0;
    return split(g, comm, n, periodic, least);
}

int grid_split_blocks(struct grid *g, MPI_Comm comm, const int n[3], const int periodic[3], int ghost, int block)
{
    memset(g, 0, sizeof *g);
    for (int d = 0; d < 3; d++)
        g->block[d] = n[d] > 1 ? block : 1, g->ghost[d] = n[d] > 1 ? ghost : 0;
    return split(g, comm, n, periodic, 1);
}

void grid_free(struct grid *g)
{
    free(g->buffer);
    g->buffer = NULL;
}

int grid_refuse(const struct app *app, const int64_t n[3], int ranks, int least)
{
    return app_refuse(app, APP_USAGE,
                      "%lld x %lld x %lld cells cannot be split over %d ranks: each needs a part of %d cells or more in every direction "
                      "that is split; take more cells or fewer ranks",
                      (long long)n[0], (long long)n[1], (long long)n[2], ranks, least);
}

void grid_print_size(const struct grid *g)
{
    if (g->rank == 0)
        printf("%d x %d x %d cells on %d ranks (%d x %d x %d)", g->n[0], g->n[1], g->n[2], g->ranks, g->dims[0], g->dims[1], g->dims[2]);
}

void grid_print_speed(const struct grid *g, int64_t steps, double seconds, double exchange)
{
    double rate = 1e-6 * (double)steps * g->n[0] * g->n[1] * g->n[2] / seconds;
    exchange = app_slowest(g->comm, exchange);
    if (g->rank == 0 && steps > 0)
        printf("%lld steps in %.3f s: %.3f million cells/s, %.3f per rank; exchange %.0f %%\n", (long long)steps, seconds, rate,
               rate / g->ranks, 100 * exchange / seconds);
}

/* Large fields come from the system at addresses that are alike in their last 12 bits, by which processors first compare a load with the
 * stores before it: the same cell of another field would seem to be what has just been written. So fields begin at different lines. */
enum { APART = 3 * GRID_LINE, PLACES = 12 };

double *grid_field(const struct grid *g)
{
    static size_t fields;
    size_t before = GRID_LINE + APART * (fields++ % PLACES);
    size_t points = before + g->points + 2 * GRID_LINE; /* vectors may reach beyond the end */
    double *memory = aligned_alloc(GRID_LINE * sizeof *memory, points * sizeof *memory);
    if (!memory)
        return app_memory(SIZE_MAX, sizeof *memory); /* which says that there is no memory */
    memset(memory, 0, points * sizeof *memory);
    /* For grid_field_free, in the line before the field. */
    memcpy(memory + before - GRID_LINE, &memory, sizeof memory);
    return memory + before + g->origin;
}

void grid_field_free(const struct grid *g, double *field)
{
    if (!field)
        return;
    double *memory;
    memcpy(&memory, field - g->origin - GRID_LINE, sizeof memory);
    free(memory);
}

static size_t cells_of(const struct region *r)
{
    size_t cells = 1;
    for (int d = 0; d < 3; d++)
        cells *= (size_t)(r->high[d] - r->low[d]);
    return cells;
}

enum transfer { PACK, UNPACK, ADD };

/* Moves cells of a region between a field and a buffer; returns the end of the buffer's part. */
static double *move(const struct grid *g, double *field, const struct region *r, double *buffer, enum transfer how)
{
    int length = r->high[2] - r->low[2];
    for (int i = r->low[0]; i < r->high[0]; i++)
        for (int j = r->low[1]; j < r->high[1]; j++, buffer += length) {
            double *cell = field + grid_at(g, i, j, r->low[2]);
            for (int k = 0; k < length; k++) {
                if (how == PACK)
                    buffer[k] = cell[k];
                else
                    cell[k] = how == ADD ? cell[k] + buffer[k] : buffer[k];
            }
        }
    return buffer;
}

/* A slab of `width` layers at one side, inside the part or outside of it. Ghosts of earlier directions belong to it: so
 * corners travel without messages of their own. */
static struct region slab(const struct grid *g, int d, int above, int outside, int width)
{
    struct region r;
    for (int e = 0; e < 3; e++) {
        int more = e < d && g->ghost[e] > 0 ? width : 0;
        r.low[e] = -more;
        r.high[e] = g->size[e] + more;
        if (e > d && g->has_faces && g->neighbour[e][1] == MPI_PROC_NULL)
            r.high[e] += g->ghost[e] > 0;
    }
    if (above)
        r.low[d] = g->size[d] - (outside ? 0 : width);
    else
        r.low[d] = outside ? -width : 0;
    r.high[d] = r.low[d] + width;
    return r;
}

static double *buffer(struct grid *g, size_t numbers)
{
    if (numbers > g->buffer_size) {
        g->buffer = app_more_memory(g->buffer, numbers, sizeof *g->buffer);
        g->buffer_size = numbers;
    }
    return g->buffer;
}

/* A rank that is its own neighbour, for its part goes around the box: the same without messages. */
static void move_slabs(const struct grid *g, double *const *fields, int count, const struct region out[2], const struct region in[2], int add)
{
    for (int side = 0; side < 2; side++) {
        const struct region *from = &out[1 - side], *to = &in[side];
        int rows = from->high[1] - from->low[1], planes = from->high[0] - from->low[0], length = from->high[2] - from->low[2];
        for (int f = 0; f < count; f++)
            for (int i = 0; i < planes; i++)
                for (int j = 0; j < rows; j++) {
                    const double *source = fields[f] + grid_at(g, from->low[0] + i, from->low[1] + j, from->low[2]);
                    double *cell = fields[f] + grid_at(g, to->low[0] + i, to->low[1] + j, to->low[2]);
                    for (int k = 0; k < length; k++)
                        cell[k] = add ? cell[k] + source[k] : source[k];
                }
    }
}

/* Slabs of one direction: those that leave and those that come. */
struct swap {
    struct region out[2], in[2];
    size_t each; /* numbers of a message */
    int is_own;  /* a rank that is its own neighbour has nothing to send */
};

static struct swap swap_of(const struct grid *g, int count, int width, int d, int from_ghosts)
{
    struct swap s;
    for (int side = 0; side < 2; side++) {
        s.out[side] = slab(g, d, side, from_ghosts, width);
        s.in[side] = slab(g, d, side, !from_ghosts, width);
    }
    s.each = cells_of(&s.out[0]) * (size_t)count;
    s.is_own = g->neighbour[d][0] == g->rank && g->neighbour[d][1] == g->rank;
    return s;
}

/* Slabs to both neighbours. The tag is the side of the receiver, so that two messages between the same ranks differ. */
static void send_slabs(struct grid *g, double *const *fields, int count, int width, int d, int from_ghosts)
{
    struct swap s = swap_of(g, count, width, d, from_ghosts);
    if (g->ghost[d] == 0 || s.is_own)
        return;
    double *memory = buffer(g, 4 * s.each);
    for (int side = 0; side < 2; side++) {
        double *send = memory + s.each * (size_t)side, *receive = send + 2 * s.each;
        MPI_Irecv(receive, (int)s.each, MPI_DOUBLE, g->neighbour[d][side], side, g->comm, &g->requests[side]);
        for (int f = 0; f < count && g->neighbour[d][side] != MPI_PROC_NULL; f++)
            send = move(g, fields[f], &s.out[side], send, PACK);
        MPI_Isend(memory + s.each * (size_t)side, (int)s.each, MPI_DOUBLE, g->neighbour[d][side], 1 - side, g->comm,
                  &g->requests[2 + side]);
    }
}

/* And theirs: into ghosts, or from ghosts into cells. */
static void receive_slabs(struct grid *g, double *const *fields, int count, int width, int d, int from_ghosts)
{
    struct swap s = swap_of(g, count, width, d, from_ghosts);
    if (g->ghost[d] == 0)
        return;
    if (s.is_own) {
        move_slabs(g, fields, count, s.out, s.in, from_ghosts);
        return;
    }
    MPI_Waitall(4, g->requests, MPI_STATUSES_IGNORE);
    for (int side = 0; side < 2; side++) {
        double *came = g->buffer + s.each * (size_t)(2 + side);
        for (int f = 0; f < count && g->neighbour[d][side] != MPI_PROC_NULL; f++)
            came = move(g, fields[f], &s.in[side], came, from_ghosts ? ADD : UNPACK);
    }
}

void grid_exchange_begin(struct grid *g, double *const *fields, int count, int width)
{
    send_slabs(g, fields, count, width, 0, 0);
}

/* Corners travel with the slabs of later directions, which wait for the first. */
void grid_exchange_end(struct grid *g, double *const *fields, int count, int width)
{
    receive_slabs(g, fields, count, width, 0, 0);
    for (int d = 1; d < 3; d++) {
        send_slabs(g, fields, count, width, d, 0);
        receive_slabs(g, fields, count, width, d, 0);
    }
}

void grid_exchange(struct grid *g, double *const *fields, int count, int width)
{
    grid_exchange_begin(g, fields, count, width);
    grid_exchange_end(g, fields, count, width);
}

void grid_add(struct grid *g, double *const *fields, int count, int width)
{
    for (int d = 2; d >= 0; d--) {
        send_slabs(g, fields, count, width, d, 1);
        receive_slabs(g, fields, count, width, d, 1);
    }
}

double *grid_plane(const struct grid *g, const double *field, int d, int at)
{
    int u = (d + 1) % 3, v = (d + 2) % 3, cell[3];
    size_t points = (size_t)g->n[u] * (size_t)g->n[v];
    double *mine = app_memory(points, sizeof *mine), *all = g->rank == 0 ? app_memory(points, sizeof *all) : NULL;
    memset(mine, 0, points * sizeof *mine);
    cell[d] = at - g->first[d];
    if (cell[d] >= 0 && cell[d] < g->size[d])
        for (cell[v] = 0; cell[v] < g->size[v]; cell[v]++)
            for (cell[u] = 0; cell[u] < g->size[u]; cell[u]++)
                mine[(size_t)(g->first[v] + cell[v]) * (size_t)g->n[u] + (size_t)(g->first[u] + cell[u])] =
                    field[grid_at(g, cell[0], cell[1], cell[2])];
    MPI_Reduce(mine, all, (int)points, MPI_DOUBLE, MPI_SUM, 0, g->comm);
    free(mine);
    return all;
}
