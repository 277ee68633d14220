/* The gas at its beginning. */
#include "hydro.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double BALL = 3.5; /* cells: radius in which the explosion's energy is */

int hydro_refuse(const struct app *app, const struct problem *p)
{
    double cells = 1;
    int64_t least = INT64_MAX;
    for (int d = 0; d < 3; d++) {
        cells *= (double)p->cells[d];
        if (is_active(p, d) && p->cells[d] < least)
            least = p->cells[d];
    }
    if (least < 2 * GHOSTS || least == INT64_MAX || cells / app->ranks > 300e6)
        return app_refuse(app, APP_USAGE, "%lld x %lld x %lld cells on %d ranks: each direction needs 1 cell, or %d or more, one of them "
                          "more than 1, and a rank can have 300 million",
                          (long long)p->cells[0], (long long)p->cells[1], (long long)p->cells[2], app->ranks, 2 * GHOSTS);
    if (p->start == SOD && !is_active(p, (int)p->axis))
        return app_refuse(app, APP_USAGE, "Sod's tube needs more than one cell along its axis");
    return 0;
}

int hydro_split(struct hydro *h, MPI_Comm comm, const struct problem *p)
{
    int n[3], periodic[3], longest = 1;
    memset(h, 0, sizeof *h);
    h->p = *p;
    for (int d = 0; d < 3; d++) {
        n[d] = (int)p->cells[d];
        periodic[d] = is_active(p, d) && p->border[d] == PERIODIC;
        longest = n[d] > longest ? n[d] : longest;
    }
    if (!grid_split(&h->g, comm, n, periodic, GHOSTS, GHOSTS))
        return 0;
    h->cell = 1.0 / longest;
    for (int v = 0; v < VARIABLES; v++) {
        h->u[v] = grid_field(&h->g);
        h->old[v] = grid_field(&h->g);
        h->w[v] = grid_field(&h->g);
    }
    size_t rows = VARIABLES * (2 * (size_t)h->g.size[1] + 4);
    h->flux = app_memory(rows * (size_t)h->g.row, sizeof *h->flux);
    memset(h->flux, 0, rows * (size_t)h->g.row * sizeof *h->flux);
    return 1;
}

void hydro_free(struct hydro *h)
{
    for (int v = 0; v < VARIABLES; v++) {
        grid_field_free(&h->g, h->u[v]);
        grid_field_free(&h->g, h->old[v]);
        grid_field_free(&h->g, h->w[v]);
    }
    free(h->flux);
    grid_free(&h->g);
}

/* A sound wave of one period per direction that takes part. */
static void sound_wave(const struct hydro *h, const double at[3], double w[VARIABLES])
{
    double phase = 0, directions = 0, sound = sqrt(h->p.gamma);
    for (int d = 0; d < 3; d++)
        if (is_active(&h->p, d)) {
            phase += 2 * M_PI * at[d] / (h->cell * (double)h->p.cells[d]);
            directions += 1;
        }
    double change = h->p.wave * sin(phase);
    w[DENSITY] = 1 + change;
    w[PRESSURE] = 1 + h->p.gamma * change;
    for (int d = 0; d < 3; d++)
        w[1 + d] = is_active(&h->p, d) ? sound * change / sqrt(directions) : 0;
}

/* Two streams along y with layers between them that roll up (Kelvin and Helmholtz). */
static void shear(const struct hydro *h, const double at[3], double w[VARIABLES])
{
    const double thick = 0.02, height = h->cell * (double)h->p.cells[2], length = h->cell * (double)h->p.cells[1];
    double z = at[2] / height, middle = 0.5 * (tanh((z - 0.25) / thick) - tanh((z - 0.75) / thick));
    w[DENSITY] = 1 + middle;
    w[2] = middle - 0.5;
    w[3] = 0.02 * sin(4 * M_PI * at[1] / length) * (exp(-pow((z - 0.25) / 0.05, 2)) + exp(-pow((z - 0.75) / 0.05, 2)));
    w[PRESSURE] = 2.5;
}

void hydro_initial(const struct hydro *h, const double at[3], double w[VARIABLES])
{
    int axis = (int)h->p.axis;
    memset(w, 0, VARIABLES * sizeof *w);
    if (h->p.start == SOD) {
        int left = at[axis] < 0.5 * h->cell * (double)h->p.cells[axis];
        w[DENSITY] = left ? 1 : 0.125;
        w[PRESSURE] = left ? 1 : 0.1;
    } else if (h->p.start == SEDOV) {
        w[DENSITY] = 1;
        w[PRESSURE] = 1e-5;
    } else if (h->p.start == WAVE) {
        sound_wave(h, at, w);
    } else {
        shear(h, at, w);
    }
}

/* An eighth of the explosion is in the box, whose corner is its middle: its energy of 1 is shared by the cells of a ball. */
static void explode(struct hydro *h)
{
    const struct grid *g = &h->g;
    int reach = (int)ceil(BALL), count = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < reach && i < g->n[0]; i++)
            for (int j = 0; j < reach && j < g->n[1]; j++)
                for (int k = 0; k < reach && k < g->n[2]; k++) {
                    double x = i + 0.5, y = j + 0.5, z = k + 0.5;
                    int a = i - g->first[0], b = j - g->first[1], c = k - g->first[2];
                    if (x * x + y * y + z * z > BALL * BALL)
                        continue;
                    count += pass == 0;
                    if (pass == 1 && a >= 0 && b >= 0 && c >= 0 && a < g->size[0] && b < g->size[1] && c < g->size[2])
                        h->u[ENERGY][grid_at(g, a, b, c)] += 0.125 / (count * h->cell * h->cell * h->cell);
                }
}

void hydro_start(struct hydro *h)
{
    const struct grid *g = &h->g;
    for (int i = 0; i < g->size[0]; i++)
        for (int j = 0; j < g->size[1]; j++)
            for (int k = 0; k < g->size[2]; k++) {
                const int cell[3] = {i, j, k};
                double at[3], w[VARIABLES];
                for (int d = 0; d < 3; d++)
                    at[d] = (g->first[d] + cell[d] + 0.5) * h->cell;
                hydro_initial(h, at, w);
                ptrdiff_t here = grid_at(g, i, j, k);
                h->u[DENSITY][here] = w[DENSITY];
                for (int d = 0; d < 3; d++)
                    h->u[MOMENTUM + d][here] = w[DENSITY] * w[1 + d];
                h->u[ENERGY][here] =
                    w[PRESSURE] / (h->p.gamma - 1) + 0.5 * w[DENSITY] * (w[1] * w[1] + w[2] * w[2] + w[3] * w[3]);
            }
    if (h->p.start == SEDOV)
        explode(h);
    hydro_exchange(h);
}
