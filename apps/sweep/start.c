/* The problems: Kobayashi's first benchmark, and a manufactured solution. */
#include "sweep.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_CELLS = 20000000 }; /* the mesh is on every rank, some 2 KB per cell with its 24 orders */

const double SLOPE[3] = {0.031, 0.023, 0.017};

int sweep_refuse(const struct app *app, const struct problem *p)
{
    double cells = (double)(p->bricks * p->bricks * p->bricks) * (p->shape == TETRAHEDRA ? 6 : 1);
    if (cells > MOST_CELLS)
        return app_refuse(app, APP_USAGE, "%.0f cells: every rank has the whole mesh, which can have %d", cells, MOST_CELLS);
    if (p->which == KOBAYASHI && p->bricks % 10 != 0)
        return app_refuse(app, APP_USAGE, "%lld bricks per direction: Kobayashi's problem needs a multiple of 10, so that its materials are whole bricks",
                          (long long)p->bricks);
    if (p->which == KOBAYASHI && p->twist != 0)
        return app_refuse(app, APP_USAGE, "Kobayashi's problem is no box any more with --twist; take --case manufactured");
    if (cells < app->ranks)
        return app_refuse(app, APP_USAGE, "%.0f cells cannot be shared by %d ranks; take more cells or fewer ranks", cells, app->ranks);
    return 0;
}

/* The first group is Kobayashi's case with scattering, half of all collisions; the second the one without. */
static void kobayashi(struct material m[MATERIALS])
{
    const double total[MATERIALS] = {0.1, 1e-4, 0.1};
    memset(m, 0, MATERIALS * sizeof *m);
    for (int k = 0; k < MATERIALS; k++) {
        m[k].total = (pair){total[k], total[k]};
        m[k].scatter[0] = (pair){0.5 * total[k], 0};
    }
    m[0].source = (pair){1, 1};
}

/* Particles of the first group become such of the second. */
static void all_scatter(struct material m[MATERIALS])
{
    memset(m, 0, MATERIALS * sizeof *m);
    m[0].total = (pair){0.08, 0.12};
    m[0].scatter[0] = (pair){0.03, 0.02};
    m[0].scatter[1] = (pair){0, 0.05};
}

/* The angular flux is (1 + x component of the direction / 2) times this. */
void manufactured(const double at[3], pair *value, pair *slope)
{
    const pair size = {1, 0.7};
    double phase = SLOPE[0] * at[0] + SLOPE[1] * at[1] + SLOPE[2] * at[2];
    *value = size * (2 + sin(phase));
    *slope = size * cos(phase);
}

/* Nothing, so many times. */
static void *nothing(size_t count, size_t size)
{
    void *memory = app_memory(count, size);
    memset(memory, 0, count * size);
    return memory;
}

/* The same at the beginning of a line: a vector of eight numbers is then in one line, not in two. */
static void *nothing_wide(size_t count, size_t size)
{
    void *memory = app_lines(count, size);
    memset(memory, 0, count * size);
    return memory;
}

static void make_mirrors(struct sweep *s)
{
    size_t faces = 0;
    s->mirror_of = app_memory((size_t)s->mesh.faces, sizeof *s->mirror_of);
    for (int f = 0; f < s->mesh.faces; f++)
        s->mirror_of[f] = s->mesh.face[f].cell[1] == REFLECTING && s->owner[s->mesh.face[f].cell[0]] == s->rank ? (int)faces++ : -1;
    for (int b = 0; b < BUNDLES; b++)
        s->mirrored[b] = nothing_wide(faces, sizeof(struct angular));
}

void sweep_start(struct sweep *s, MPI_Comm comm, const struct problem *p)
{
    memset(s, 0, sizeof *s);
    s->p = *p;
    s->comm = comm;
    s->change = INFINITY;
    MPI_Comm_rank(comm, &s->rank);
    MPI_Comm_size(comm, &s->ranks);
    if (p->which == KOBAYASHI)
        kobayashi(s->material);
    else
        all_scatter(s->material);
    for (int m = 0; m < MATERIALS; m++)
        s->emitted[m] = p->rays ? (pair){0, 0} : s->material[m].source;
    mesh_make(&s->mesh, p);
    ordinates_make(s->bundle);
    partition(s);
    for (int o = 0; o < OCTANTS; o++)
        schedule_make(s, o);
    make_mirrors(s);
    if (p->rays)
        rays_start(s);
    size_t cells = (size_t)s->mesh.cells, faces = (size_t)s->mesh.faces;
    s->flux = nothing_wide(cells, sizeof *s->flux);
    s->next = nothing_wide(cells, sizeof *s->next);
    s->emitted_in = nothing_wide(cells, sizeof *s->emitted_in);
    for (struct present *of = s->present; of < s->present + IN_OCTANT; of++) {
        of->angular = nothing_wide(cells, sizeof *of->angular);
        of->there = nothing(cells, sizeof *of->there);
        of->break_of = app_memory(faces, sizeof *of->break_of);
        memset(of->break_of, -1, faces * sizeof *of->break_of);
    }
    messages_start(s);
}

void sweep_free(struct sweep *s)
{
    messages_free(s);
    for (int b = 0; b < BUNDLES; b++) {
        free(s->breaks[b].broken);
        free(s->breaks[b].before);
        free(s->mirrored[b]);
    }
    for (int o = 0; o < OCTANTS; o++)
        free(s->order[o].task);
    for (struct present *of = s->present; of < s->present + IN_OCTANT; of++) {
        free(of->angular);
        free(of->there);
        free(of->break_of);
    }
    free(s->mirror_of);
    free(s->first);
    free(s->flux);
    free(s->next);
    free(s->emitted_in);
    free(s->owner);
    mesh_free(&s->mesh);
}
