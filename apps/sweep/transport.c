/* A sweep: linear discontinuous finite elements (W. H. Reed and T. R. Hill, 1973). In a cell the angular flux of an ordinate O is
 * u0 + u . (x - c), c the centroid, and for each of the functions b = 1, x - c, y - c, z - c
 *
 *     sum over faces of O.n integral(b flux) - integral(O.grad b flux) + total integral(b flux) = integral(b source),
 *
 * where the flux at a face is that of the cell upwind. Four equations per cell and group, one group in each half of a pair. */
#include "sweep.h"

#include <math.h>
#include <string.h>

#define INLINE static inline __attribute__((always_inline))

static const int PAIR[3][3] = {{0, 1, 2}, {1, 3, 4}, {2, 4, 5}};

struct equations {
    double left[UNKNOWNS][UNKNOWNS]; /* without collisions, the same for all groups */
    struct linear right;
};

/* Flux that goes out through a face belongs to the left side. */
INLINE void go_out(struct equations *e, const struct cell_face *f, const double r[3], double flow)
{
    e->left[0][0] += flow;
    for (int i = 0; i < 3; i++) {
        e->left[0][1 + i] += flow * r[i];
        e->left[1 + i][0] += flow * r[i];
        for (int j = 0; j < 3; j++)
            e->left[1 + i][1 + j] += flow * (r[i] * r[j] + f->moment[PAIR[i][j]]);
    }
}

/* Flux that comes in to the right one. */
INLINE void come_in(struct equations *e, const struct cell_face *f, const double r[3], double flow, const struct linear *from)
{
    pair mean = from->u[0];
    for (int j = 0; j < 3; j++)
        mean += from->u[1 + j] * f->from_other[j];
    e->right.u[0] += flow * mean;
    for (int i = 0; i < 3; i++)
        e->right.u[1 + i] += flow * (mean * r[i] + from->u[1] * f->moment[PAIR[i][0]] + from->u[2] * f->moment[PAIR[i][1]] +
                                     from->u[3] * f->moment[PAIR[i][2]]);
}

INLINE pair factor(const struct ordinate *o)
{
    double f = 1 + 0.5 * o->direction[0];
    return (pair){f, f};
}

/* What comes in at the box's border: nothing, or the manufactured flux. */
static __attribute__((noinline)) struct linear inflow(const struct sweep *s, const struct face *f, const struct ordinate *o)
{
    struct linear in;
    memset(&in, 0, sizeof in);
    if (s->p.which == MANUFACTURED) {
        pair slope;
        manufactured(f->centre, &in.u[0], &slope);
        in.u[0] *= factor(o);
        for (int d = 0; d < 3; d++)
            in.u[1 + d] = factor(o) * slope * SLOPE[d];
    }
    return in;
}

/* The source that makes the manufactured flux a solution, about the centroid. */
static __attribute__((noinline)) void add_manufactured(const struct sweep *s, int cell, const struct ordinate *o, struct linear *source)
{
    const struct material *m = material_of(s, cell);
    const double *d = o->direction;
    double along = d[0] * SLOPE[0] + d[1] * SLOPE[1] + d[2] * SLOPE[2];
    const pair size = {1, 0.7};
    pair value, slope, both = factor(o);
    manufactured(s->mesh.cell[cell].centre, &value, &slope);
    pair change = slope, bend = -(value - 2 * size); /* derivatives by the phase */
    pair here = both * (along * slope + m->total * value), rise = both * (along * bend + m->total * change);
    for (int g = 0; g < GROUPS; g++) {
        here -= m->scatter[g] * value[g];
        rise -= m->scatter[g] * change[g];
    }
    source->u[0] += here;
    for (int k = 0; k < 3; k++)
        source->u[1 + k] += rise * SLOPE[k];
}

/* Particles that scatter come from the flux of the iteration before. */
INLINE struct linear source_of(const struct sweep *s, int cell, const struct ordinate *o)
{
    const struct material *m = material_of(s, cell);
    const struct linear *flux = &s->flux[cell];
    struct linear source;
    for (int k = 0; k < UNKNOWNS; k++)
        source.u[k] = m->scatter[0] * flux->u[k][0] + m->scatter[1] * flux->u[k][1];
    source.u[0] += s->emitted[s->mesh.cell[cell].material];
    if (s->p.which == MANUFACTURED)
        add_manufactured(s, cell, o, &source);
    return source;
}

/* What is known before any face is looked at. */
INLINE void begin(struct equations *e, const struct cell *c, const struct linear *source, const double o[3])
{
    memset(e->left, 0, sizeof e->left);
    e->right.u[0] = source->u[0] * c->volume;
    for (int i = 0; i < 3; i++) {
        e->left[1 + i][0] = -c->volume * o[i];
        e->right.u[1 + i] = source->u[1] * c->moment[PAIR[i][0]] + source->u[2] * c->moment[PAIR[i][1]] + source->u[3] * c->moment[PAIR[i][2]];
    }
}

/* The inverse of two by two numbers. */
INLINE void invert(const pair a[2][2], pair to[2][2])
{
    pair one = 1 / (a[0][0] * a[1][1] - a[0][1] * a[1][0]);
    to[0][0] = one * a[1][1], to[0][1] = -one * a[0][1];
    to[1][0] = -one * a[1][0], to[1][1] = one * a[0][0];
}

/* Elimination without pivots, for the symmetric part of the matrix is positive; by blocks of two by two, with two divisions that wait
 * for each other instead of four. */
INLINE struct linear solve(const struct equations *e, const struct cell *c, pair total)
{
    pair a[UNKNOWNS][UNKNOWNS], first[2][2], rest[2][2], times[2][2], last[2][2];
    struct linear x = e->right;
    for (int i = 0; i < UNKNOWNS; i++)
        for (int j = 0; j < UNKNOWNS; j++) {
            double mass = i > 0 && j > 0 ? c->moment[PAIR[i - 1][j - 1]] : i == j ? c->volume : 0;
            a[i][j] = e->left[i][j] + total * mass;
        }
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++)
            rest[i][j] = a[i][j];
    invert(rest, first);
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++)
            times[i][j] = a[2 + i][0] * first[0][j] + a[2 + i][1] * first[1][j];
    for (int i = 0; i < 2; i++) {
        for (int j = 0; j < 2; j++)
            rest[i][j] = a[2 + i][2 + j] - (times[i][0] * a[0][2 + j] + times[i][1] * a[1][2 + j]);
        x.u[2 + i] -= times[i][0] * x.u[0] + times[i][1] * x.u[1];
    }
    invert(rest, last);
    pair u2 = last[0][0] * x.u[2] + last[0][1] * x.u[3], u3 = last[1][0] * x.u[2] + last[1][1] * x.u[3];
    pair r0 = x.u[0] - (a[0][2] * u2 + a[0][3] * u3), r1 = x.u[1] - (a[1][2] * u2 + a[1][3] * u3);
    return (struct linear){{first[0][0] * r0 + first[0][1] * r1, first[1][0] * r0 + first[1][1] * r1, u2, u3}};
}

/* The flux upwind of a face: about the centroid of the cell there, in a mirror that of the cell itself, at a border the face's. */
INLINE const struct linear *upwind(struct sweep *s, int a, int face, int other, struct linear *room)
{
    const struct face *f = &s->mesh.face[face];
    if (other >= 0) {
        if (s->schedule[a].breaks > 0 && s->is_broken[face])
            return &s->schedule[a].before[s->break_of[face]];
        if (s->ranks > 1 && s->owner[other] != s->rank && s->stamp[other] != s->now)
            messages_await(s, a, other);
        return &s->angular[other];
    }
    if (other == REFLECTING) {
        int d = f->normal[0] != 0 ? 0 : f->normal[1] != 0 ? 1 : 2;
        const double *centre = s->mesh.cell[f->cell[0]].centre;
        const struct linear *out = &s->mirrored[s->ordinate[a].mirror[d]][s->mirror_of[face]];
        *room = *out;
        room->u[1 + d] = -out->u[1 + d];
        /* On the mirror's plane both have the same value: about the centroid's image. */
        room->u[0] = out->u[0] + 2 * out->u[1 + d] * (f->centre[d] - centre[d]);
        return room;
    }
    *room = inflow(s, f, &s->ordinate[a]);
    return room;
}

/* What leaves the box or comes in; what goes to a mirror is kept for the ordinate that comes back. */
static __attribute__((noinline)) void at_border(struct sweep *s, int a, int face, double flow, const struct linear *flux)
{
    const struct face *f = &s->mesh.face[face];
    if (f->cell[1] == REFLECTING) {
        s->mirrored[a][s->mirror_of[face]] = *flux;
        return;
    }
    pair mean = flux->u[0];
    for (int d = 0; d < 3; d++)
        mean += flux->u[1 + d] * (f->centre[d] - s->mesh.cell[f->cell[0]].centre[d]);
    for (int g = 0; g < GROUPS; g++)
        s->leakage[g] += s->ordinate[a].weight * flow * mean[g];
}

INLINE void sweep_cell(struct sweep *s, int a, int cell)
{
    const struct ordinate *o = &s->ordinate[a];
    const struct cell *c = &s->mesh.cell[cell];
    struct equations e;
    struct linear source = source_of(s, cell, o);
    int border[12], borders = 0, is_between = 0; /* a cell has 12 faces at most */
    double border_flow[12];
    begin(&e, c, &source, o->direction);
    for (int k = c->faces; k < c[1].faces; k++) {
        const struct cell_face *f = &s->mesh.cell_face[k];
        double r[3] = {f->from_centre[0], f->from_centre[1], f->from_centre[2]};
        double flow = f->normal[0] * o->direction[0] + f->normal[1] * o->direction[1] + f->normal[2] * o->direction[2];
        int other = f->other, face = f->face;
        if (flow >= 0) {
            go_out(&e, f, r, flow);
            if (other < 0) {
                border_flow[borders] = flow;
                border[borders++] = face;
            } else {
                is_between |= s->ranks > 1 && s->owner[other] != s->rank;
            }
        } else {
            struct linear room;
            come_in(&e, f, r, -flow, upwind(s, a, face, other, &room));
        }
    }
    struct linear flux = solve(&e, c, material_of(s, cell)->total);
    s->angular[cell] = flux;
    s->stamp[cell] = s->now;
    for (int k = 0; k < UNKNOWNS; k++)
        s->next[cell].u[k] += o->weight * flux.u[k];
    for (int b = 0; b < borders; b++)
        at_border(s, a, border[b], border_flow[b], &flux);
    if (is_between)
        messages_send(s, a, cell);
}

static int is_own(const struct sweep *s, int cell)
{
    return s->owner[cell] == s->rank;
}

/* Of a broken face, which of its cells is upwind. */
static int up_cell(const struct sweep *s, int a, int face)
{
    const struct face *f = &s->mesh.face[face];
    const double *o = s->ordinate[a].direction;
    return f->cell[f->normal[0] * o[0] + f->normal[1] * o[1] + f->normal[2] * o[2] > 0 ? 0 : 1];
}

FOR_EACH_PROCESSOR static void sweep_ordinate(struct sweep *s, int a)
{
    struct schedule *to = &s->schedule[a];
    s->now++;
    for (int b = 0; b < to->breaks; b++) {
        s->is_broken[to->broken[b]] = 1;
        s->break_of[to->broken[b]] = b;
    }
    for (int k = 0; k < to->count; k++)
        sweep_cell(s, a, to->order[k]);
    /* What the next iteration takes at broken faces. */
    for (int b = 0; b < to->breaks; b++) {
        const struct face *f = &s->mesh.face[to->broken[b]];
        int up = up_cell(s, a, to->broken[b]), down = f->cell[0] == up ? f->cell[1] : f->cell[0];
        s->is_broken[to->broken[b]] = 0;
        if (!is_own(s, down))
            continue;
        if (!is_own(s, up))
            messages_await(s, a, up);
        to->before[b] = s->angular[up];
    }
    messages_finish(s, a, a == ORDINATES - 1);
}

void sweep_iterate(struct sweep *s)
{
    double start = MPI_Wtime(), change = 0;
    memset(s->next, 0, (size_t)s->mesh.cells * sizeof *s->next);
    memset(s->leakage, 0, sizeof s->leakage);
    for (int a = 0; a < ORDINATES; a++)
        sweep_ordinate(s, a);
    s->sweep_seconds += MPI_Wtime() - start;
    for (int c = 0; s->first && c < s->mesh.cells; c++)
        for (int k = 0; k < UNKNOWNS && is_own(s, c); k++)
            s->next[c].u[k] += s->first[c].u[k];
    for (int c = 0; c < s->mesh.cells; c++)
        for (int g = 0; g < GROUPS && is_own(s, c); g++) {
            double now = s->next[c].u[0][g], off = fabs(now - s->flux[c].u[0][g]) / fabs(now);
            change = off > change || off != off ? off : change;
        }
    MPI_Allreduce(&change, &s->change, 1, MPI_DOUBLE, MPI_MAX, s->comm);
    struct linear *was = s->flux;
    s->flux = s->next;
    s->next = was;
    s->iteration++;
}

int sweep_is_over(const struct sweep *s)
{
    return s->change <= s->p.tolerance;
}

/* What particles are made by the source and by scattering in the flux before, what is lost in the flux now: equal but for rounding
 * whatever the iteration, for all that goes out of a cell comes into another. */
struct balance sweep_balance(const struct sweep *s)
{
    double mine[4 * GROUPS] = {0}, all[4 * GROUPS];
    struct balance b = {0, 0, 0, 0};
    for (int c = 0; c < s->mesh.cells; c++)
        if (is_own(s, c)) {
            const struct material *m = material_of(s, c);
            const struct linear *now = &s->flux[c], *before = &s->next[c];
            pair scattered = m->scatter[0] * before->u[0][0] + m->scatter[1] * before->u[0][1];
            for (int g = 0; g < GROUPS; g++) {
                double volume = s->mesh.cell[c].volume;
                mine[4 * g] += volume * m->source[g];
                mine[4 * g + 1] += volume * scattered[g];
                mine[4 * g + 2] += volume * m->total[g] * now->u[0][g];
            }
        }
    for (int g = 0; g < GROUPS; g++)
        mine[4 * g + 3] = s->leakage[g] + s->first_leave[g];
    MPI_Allreduce(mine, all, 4 * GROUPS, MPI_DOUBLE, MPI_SUM, s->comm);
    for (int g = 0; g < GROUPS; g++) {
        const double *x = &all[4 * g];
        b.source += x[0];
        b.absorbed += x[2] - x[1];
        b.leaked += x[3];
        b.off = fmax(b.off, fabs(x[0] + x[1] - x[2] - x[3]) / (x[0] + x[1] + x[2]));
    }
    return b;
}

int mesh_has(const struct mesh *m, int cell, const double at[3])
{
    for (int k = m->cell[cell].faces; k < m->cell[cell + 1].faces; k++) {
        int is_first = m->face_of[k] >= 0;
        const struct face *f = &m->face[is_first ? m->face_of[k] : ~m->face_of[k]];
        double out = 0, size = 0;
        for (int d = 0; d < 3; d++) {
            out += (is_first ? 1 : -1) * f->normal[d] * (at[d] - f->centre[d]);
            size += fabs(f->normal[d]);
        }
        if (out > 1e-9 * size * cbrt(m->cell[cell].volume))
            return 0;
    }
    return 1;
}

/* Rays know more than a linear function does. */
void sweep_flux_at(const struct sweep *s, const double at[3], double value[GROUPS])
{
    pair first = s->first ? rays_at(s->material, at) : (pair){0, 0};
    double mine[GROUPS + 1] = {0}, all[GROUPS + 1];
    for (int c = 0; c < s->mesh.cells; c++) {
        if (!is_own(s, c) || !mesh_has(&s->mesh, c, at))
            continue;
        pair here = s->flux[c].u[0] - (s->first ? s->first[c].u[0] : (pair){0, 0});
        for (int d = 0; d < 3; d++)
            here += (s->flux[c].u[1 + d] - (s->first ? s->first[c].u[1 + d] : (pair){0, 0})) * (at[d] - s->mesh.cell[c].centre[d]);
        for (int g = 0; g < GROUPS; g++)
            mine[g] += here[g];
        mine[GROUPS] += 1;
    }
    MPI_Allreduce(mine, all, GROUPS + 1, MPI_DOUBLE, MPI_SUM, s->comm);
    for (int g = 0; g < GROUPS; g++)
        value[g] = all[g] / all[GROUPS] + first[g];
}
