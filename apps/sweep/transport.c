/* A sweep: linear discontinuous finite elements (W. H. Reed and T. R. Hill, 1973). In a cell the angular flux of an ordinate O is
 * u0 + u . (x - c), c the centroid, and for each of the functions b = 1, x - c, y - c, z - c
 *
 *     sum over faces of O.n integral(b flux) - integral(O.grad b flux) + total integral(b flux) = integral(b source),
 *
 * where the flux at a face is that of the cell upwind. Four equations per cell, ordinate and group; a bundle's ordinates and all groups are
 * solved at once, as numbers of a vector. */
#include "sweep.h"

#include <math.h>
#include <string.h>

#define INLINE static inline __attribute__((always_inline))

static const int PAIR[3][3] = {{0, 1, 2}, {1, 3, 4}, {2, 4, 5}};

/* 1 for the ordinates of a set, 0 for the others. */
static const wide ONLY[ALL + 1] = {
    {0, 0, 0, 0, 0, 0, 0, 0}, {1, 1, 0, 0, 0, 0, 0, 0}, {0, 0, 1, 1, 0, 0, 0, 0}, {1, 1, 1, 1, 0, 0, 0, 0},
    {0, 0, 0, 0, 1, 1, 0, 0}, {1, 1, 0, 0, 1, 1, 0, 0}, {0, 0, 1, 1, 1, 1, 0, 0}, {1, 1, 1, 1, 1, 1, 0, 0},
    {0, 0, 0, 0, 0, 0, 1, 1}, {1, 1, 0, 0, 0, 0, 1, 1}, {0, 0, 1, 1, 0, 0, 1, 1}, {1, 1, 1, 1, 0, 0, 1, 1},
    {0, 0, 0, 0, 1, 1, 1, 1}, {1, 1, 0, 0, 1, 1, 1, 1}, {0, 0, 1, 1, 1, 1, 1, 1}, {1, 1, 1, 1, 1, 1, 1, 1},
};

/* The same pair for each ordinate: every other number of two vectors. From eight numbers compilers make it by small stores and a wide
 * load, which has to wait for all of them. */
INLINE wide each(pair p)
{
    const wide none = {0}, even = p[0] - none, odd = p[1] - none;
#if __has_builtin(__builtin_shufflevector)
    return __builtin_shufflevector(even, odd, 0, 9, 2, 11, 4, 13, 6, 15);
#else
    typedef int64_t places __attribute__((vector_size(sizeof(wide))));
    return __builtin_shuffle(even, odd, (places){0, 9, 2, 11, 4, 13, 6, 15});
#endif
}

INLINE pair sum(wide w)
{
    return (ordinate_of(&w, 0) + ordinate_of(&w, 1)) + (ordinate_of(&w, 2) + ordinate_of(&w, 3));
}

/* left: what faces and collisions add is symmetric, so that half of it is enough: 00, 01, 02, 03, 11, 12, 13, 22, 23, 33. Whoever adds to
 * it writes out the indices: then all 14 vectors stay in registers, while compilers keep what a loop counts through in memory. */
struct equations {
    wide mean, first[3], second[6];
    struct angular right;
};

/* Flux that goes out through a face belongs to the left side. */
INLINE void go_out(struct equations *e, const struct cell_face *f, wide flow)
{
    e->mean += flow;
    e->first[0] += flow * f->from_centre[0];
    e->first[1] += flow * f->from_centre[1];
    e->first[2] += flow * f->from_centre[2];
    e->second[0] += flow * f->moment[0];
    e->second[1] += flow * f->moment[1];
    e->second[2] += flow * f->moment[2];
    e->second[3] += flow * f->moment[3];
    e->second[4] += flow * f->moment[4];
    e->second[5] += flow * f->moment[5];
}

/* Flux that comes in to the right one. */
INLINE void come_in(struct equations *e, const struct cell_face *f, wide flow, const struct angular *from)
{
    const double *r = f->from_centre, *q = f->moment;
    wide x = flow * from->u[1], y = flow * from->u[2], z = flow * from->u[3];
    wide mean = flow * from->u[0] + x * f->shift[0] + y * f->shift[1] + z * f->shift[2];
    e->right.u[0] += mean + x * r[0] + y * r[1] + z * r[2];
    e->right.u[1] += mean * r[0] + x * q[0] + y * q[1] + z * q[2];
    e->right.u[2] += mean * r[1] + x * q[1] + y * q[3] + z * q[4];
    e->right.u[3] += mean * r[2] + x * q[2] + y * q[4] + z * q[5];
}

/* How the manufactured flux depends on the direction. */
INLINE wide factor(const struct bundle *b)
{
    return 1 + 0.5 * b->direction[0];
}

/* What comes in at the box's border: nothing, or the manufactured flux. */
static __attribute__((noinline)) void inflow(const struct sweep *s, const struct face *f, const struct bundle *b, struct angular *in)
{
    memset(in, 0, sizeof *in);
    if (s->p.which == MANUFACTURED) {
        pair value, slope;
        manufactured(f->centre, &value, &slope);
        in->u[0] = each(value) * factor(b);
        for (int d = 0; d < 3; d++)
            in->u[1 + d] = factor(b) * each(slope * SLOPE[d]);
    }
}

/* The integrals of b times a source that is linear in a cell. */
#define INTEGRATE(to, c, source)                                                                                                       \
    do {                                                                                                                               \
        (to)->u[0] += (source)->u[0] * (c)->volume;                                                                                    \
        for (int i = 0; i < 3; i++)                                                                                                    \
            for (int j = 0; j < 3; j++)                                                                                                \
                (to)->u[1 + i] += (source)->u[1 + j] * (c)->moment[PAIR[i][j]];                                                        \
    } while (0)

/* The source that makes the manufactured flux a solution. */
static __attribute__((noinline)) void add_manufactured(const struct sweep *s, int cell, const struct bundle *b, struct angular *right)
{
    const struct material *m = material_of(s, cell);
    const struct cell *c = &s->mesh.cell[cell];
    const pair size = {1, 0.7};
    pair value, slope, scattered = {0, 0}, change = {0, 0};
    manufactured(c->centre, &value, &slope);
    pair bend = -(value - 2 * size); /* of slope, the derivative by the phase */
    for (int g = 0; g < GROUPS; g++) {
        scattered += m->scatter[g] * value[g];
        change += m->scatter[g] * slope[g];
    }
    wide along = b->direction[0] * SLOPE[0] + b->direction[1] * SLOPE[1] + b->direction[2] * SLOPE[2];
    wide rise = factor(b) * (along * each(bend) + each(m->total * slope)) - each(change);
    struct angular source = {{factor(b) * (along * each(slope) + each(m->total * value)) - each(scattered), rise * SLOPE[0], rise * SLOPE[1],
                              rise * SLOPE[2]}};
    INTEGRATE(right, c, &source);
}

/* Particles that scatter come from the flux of the iteration before, the same in all directions. */
static void emit(struct sweep *s, int cell)
{
    const struct material *m = material_of(s, cell);
    const struct linear *flux = &s->flux[cell];
    struct linear source, *to = &s->emitted_in[cell];
    for (int k = 0; k < UNKNOWNS; k++)
        source.u[k] = m->scatter[0] * flux->u[k][0] + m->scatter[1] * flux->u[k][1];
    source.u[0] += s->emitted[s->mesh.cell[cell].material];
    memset(to, 0, sizeof *to);
    INTEGRATE(to, &s->mesh.cell[cell], &source);
}

/* What is known before any face is looked at. */
INLINE void begin(struct equations *e, const struct sweep *s, int cell)
{
    const struct cell *c = &s->mesh.cell[cell];
    wide total = each(material_of(s, cell)->total);
    const pair *emitted = s->emitted_in[cell].u;
    *e = (struct equations){total * c->volume,
                            {{0}, {0}, {0}},
                            {total * c->moment[0], total * c->moment[1], total * c->moment[2], total * c->moment[3], total * c->moment[4],
                             total * c->moment[5]},
                            {{each(emitted[0]), each(emitted[1]), each(emitted[2]), each(emitted[3])}}};
}

/* The inverse of two by two numbers. */
INLINE void invert(const wide a[2][2], wide to[2][2])
{
    wide one = 1 / (a[0][0] * a[1][1] - a[0][1] * a[1][0]);
    to[0][0] = one * a[1][1], to[0][1] = -one * a[0][1];
    to[1][0] = -one * a[1][0], to[1][1] = one * a[0][0];
}

/* Elimination without pivots, for the symmetric part of the matrix is positive; by blocks of two by two, with two divisions that wait
 * for each other instead of four. flown: the volume times the direction, what - integral(O.grad b flux) adds below the first row. */
INLINE void solve(const struct equations *e, const wide flown[3], struct angular *to)
{
    const wide *r = e->first, *q = e->second, below[3] = {r[0] - flown[0], r[1] - flown[1], r[2] - flown[2]};
    const wide a[UNKNOWNS][UNKNOWNS] = {
        {e->mean, r[0], r[1], r[2]}, {below[0], q[0], q[1], q[2]}, {below[1], q[1], q[3], q[4]}, {below[2], q[2], q[4], q[5]}};
    const wide corner[2][2] = {{a[0][0], a[0][1]}, {a[1][0], a[1][1]}};
    wide first[2][2], rest[2][2], times[2][2], last[2][2], x[UNKNOWNS];
    invert(corner, first);
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++)
            times[i][j] = a[2 + i][0] * first[0][j] + a[2 + i][1] * first[1][j];
    for (int i = 0; i < 2; i++) {
        for (int j = 0; j < 2; j++)
            rest[i][j] = a[2 + i][2 + j] - (times[i][0] * a[0][2 + j] + times[i][1] * a[1][2 + j]);
        x[i] = e->right.u[i];
        x[2 + i] = e->right.u[2 + i] - (times[i][0] * e->right.u[0] + times[i][1] * e->right.u[1]);
    }
    invert(rest, last);
    to->u[2] = last[0][0] * x[2] + last[0][1] * x[3];
    to->u[3] = last[1][0] * x[2] + last[1][1] * x[3];
    x[0] -= a[0][2] * to->u[2] + a[0][3] * to->u[3];
    x[1] -= a[1][2] * to->u[2] + a[1][3] * to->u[3];
    to->u[0] = first[0][0] * x[0] + first[0][1] * x[1];
    to->u[1] = first[1][0] * x[0] + first[1][1] * x[1];
}

/* Of ordinates whose inflow is that of the iteration before, that, and of the others what there is. */
static __attribute__((noinline)) void mix(const struct schedule *of, int n, const struct angular *now, struct angular *room)
{
    const wide old = ONLY[of->broken[n].ordinates], new = 1 - old;
    for (int k = 0; k < UNKNOWNS; k++)
        room->u[k] = old * of->before[n].u[k] + new * now->u[k];
}

/* In a mirror: the flux of the bundle that comes back, about the cell's own centroid. */
static __attribute__((noinline)) void reflect(const struct sweep *s, int b, int face, struct angular *room)
{
    const struct face *f = &s->mesh.face[face];
    int d = f->normal[0] != 0 ? 0 : f->normal[1] != 0 ? 1 : 2;
    const struct angular *out = &s->mirrored[s->bundle[b].mirror[d]][s->mirror_of[face]];
    *room = *out;
    room->u[1 + d] = -out->u[1 + d];
    /* On the mirror's plane both have the same value. */
    room->u[0] = out->u[0] + 2 * out->u[1 + d] * (f->centre[d] - s->mesh.cell[f->cell[0]].centre[d]);
}

/* The flux upwind of a face: about the centroid of the cell there, in a mirror that of the cell itself, at a border the face's. */
INLINE const struct angular *upwind(struct sweep *s, int b, const struct task *t, const struct cell_face *f, int in, struct angular *room)
{
    int other = f->other;
    if (other == REFLECTING) {
        reflect(s, b, f->face, room);
        return room;
    }
    if (other < 0) {
        inflow(s, &s->mesh.face[f->face], &s->bundle[b], room);
        return room;
    }
    int broken = s->schedule[b].breaks > 0 ? s->break_of[f->face] : -1;
    if (s->ranks > 1 && s->owner[other] != s->rank)
        messages_await(s, b, other, in & t->ready & ~(broken >= 0 ? s->schedule[b].broken[broken].ordinates : 0));
    if (broken < 0)
        return &s->angular[other];
    mix(&s->schedule[b], broken, &s->angular[other], room);
    return room;
}

/* What leaves the box; what goes to a mirror is kept for the bundle that comes back. */
static __attribute__((noinline)) void at_border(struct sweep *s, int b, const struct task *t)
{
    const struct bundle *of = &s->bundle[b];
    const struct angular *flux = &s->angular[t->cell];
    for (int k = s->mesh.cell[t->cell].faces, n = 0; k < s->mesh.cell[t->cell + 1].faces; k++, n++) {
        const struct cell_face *f = &s->mesh.cell_face[k];
        int in = t->in >> BUNDLE * n & ALL;
        if (f->other >= 0)
            continue;
        if (f->other == REFLECTING) {
            s->mirrored[b][s->mirror_of[f->face]] = *flux;
            continue;
        }
        wide flow = f->normal[0] * of->direction[0] + f->normal[1] * of->direction[1] + f->normal[2] * of->direction[2];
        wide mean = flux->u[0] + flux->u[1] * f->from_centre[0] + flux->u[2] * f->from_centre[1] + flux->u[3] * f->from_centre[2];
        pair leaves = sum(of->weight * ONLY[ALL & ~in] * flow * mean);
        for (int g = 0; g < GROUPS; g++)
            s->leakage[g] += leaves[g];
    }
}

/* Numbers of ordinates that are not ready are nonsense, and written over when they are. */
INLINE void sweep_cell(struct sweep *s, int b, const struct task *t)
{
    const struct bundle *of = &s->bundle[b];
    const struct cell *c = &s->mesh.cell[t->cell];
    struct equations e;
    int everyone = (1 << of->ordinates) - 1, is_border = 0, is_between = 0;
    uint64_t ins = t->in;
    begin(&e, s, t->cell);
    if (s->p.which == MANUFACTURED) {
        /* A copy: numbers whose address no other function knows stay in registers. */
        struct angular right = e.right;
        add_manufactured(s, t->cell, of, &right);
        e.right = right;
    }
    for (const struct cell_face *f = &s->mesh.cell_face[c->faces]; f < &s->mesh.cell_face[c[1].faces]; f++) {
        wide flow = f->normal[0] * of->direction[0] + f->normal[1] * of->direction[1] + f->normal[2] * of->direction[2];
        int in = ins & ALL;
        ins >>= BUNDLE;
        if (in == 0) {
            go_out(&e, f, flow);
        } else {
            struct angular room;
            wide coming = flow;
            if (in != everyone) {
                coming = flow * ONLY[in];
                go_out(&e, f, flow - coming);
            }
            come_in(&e, f, -coming, upwind(s, b, t, f, in, &room));
        }
        is_border |= f->other < 0;
        is_between |= s->ranks > 1 && f->other >= 0 && s->owner[f->other] != s->rank;
    }
    const wide flown[3] = {of->direction[0] * c->volume, of->direction[1] * c->volume, of->direction[2] * c->volume};
    struct angular flux;
    solve(&e, flown, &flux);
    s->angular[t->cell] = flux;
    if (is_between) {
        messages_send(s, b, t, t->ready & ~s->there[t->cell]);
        s->there[t->cell] = (char)t->ready;
    }
    if (t->ready != everyone)
        return;
    for (int k = 0; k < UNKNOWNS; k++)
        s->next[t->cell].u[k] += sum(of->weight * flux.u[k]);
    if (is_border)
        at_border(s, b, t);
}

static int is_own(const struct sweep *s, int cell)
{
    return s->owner[cell] == s->rank;
}

/* What the next iteration takes at broken faces. */
static void keep_before(struct sweep *s, int b, int n)
{
    const struct broken *broken = &s->schedule[b].broken[n];
    const struct face *f = &s->mesh.face[broken->face];
    for (int o = 0; o < BUNDLE; o++) {
        int is_along = ordinate_flow(&s->bundle[b], o, f->normal) > 0, up = f->cell[!is_along], down = f->cell[is_along];
        if ((broken->ordinates >> o & 1) == 0 || !is_own(s, down))
            continue;
        if (!is_own(s, up))
            messages_await(s, b, up, 1 << o);
        for (int k = 0; k < UNKNOWNS; k++)
            for (int g = 0; g < GROUPS; g++)
                s->schedule[b].before[n].u[k][o * GROUPS + g] = s->angular[up].u[k][o * GROUPS + g];
    }
}

FOR_EACH_PROCESSOR static void sweep_bundle(struct sweep *s, int b)
{
    struct schedule *to = &s->schedule[b];
    if (s->ranks > 1)
        memset(s->there, 0, (size_t)s->mesh.cells);
    for (int n = 0; n < to->breaks; n++)
        s->break_of[to->broken[n].face] = n;
    for (int k = 0; k < to->tasks; k++)
        sweep_cell(s, b, &to->task[k]);
    for (int n = 0; n < to->breaks; n++) {
        s->break_of[to->broken[n].face] = -1;
        keep_before(s, b, n);
    }
    messages_finish(s, b == BUNDLES - 1);
}

void sweep_iterate(struct sweep *s)
{
    double start = MPI_Wtime(), change = 0;
    memset(s->next, 0, (size_t)s->mesh.cells * sizeof *s->next);
    memset(s->leakage, 0, sizeof s->leakage);
    for (int c = 0; c < s->mesh.cells; c++)
        if (is_own(s, c))
            emit(s, c);
    for (int b = 0; b < BUNDLES; b++)
        sweep_bundle(s, b);
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
