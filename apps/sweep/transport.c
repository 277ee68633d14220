/* A sweep: linear discontinuous finite elements (W. H. Reed and T. R. Hill, 1973). In a cell the angular flux of an ordinate O is
 * u0 + u . (x - c), c the centroid, and for each of the functions b = 1, x - c, y - c, z - c
 *
 *     sum over faces of O.n integral(b flux) - integral(O.grad b flux) + total integral(b flux) = integral(b source),
 *
 * where the flux at a face is that of the cell upwind. Four equations per cell, ordinate and group; a bundle's ordinates and all groups are
 * solved at once, as numbers of a vector.
 *
 * Only faces by which something comes in are looked at: for any function f, the sum over all faces of O.n integral(f) is the cell's
 * integral(O.grad f), so what goes out by the others follows. What does not depend on the group is calculated for the ordinates alone. */
#include "sweep.h"

#include <math.h>
#include <string.h>

/* How many tasks before its own one its memory is asked for. */
enum { AHEAD = 4 * IN_OCTANT };

#define INLINE static inline __attribute__((always_inline))

static const int PAIR[3][3] = {{0, 1, 2}, {1, 3, 4}, {2, 4, 5}};

/* 1 for the ordinates of a set, 0 for the others. */
static const quad ONLY[ALL + 1] = {
    {0, 0, 0, 0}, {1, 0, 0, 0}, {0, 1, 0, 0}, {1, 1, 0, 0}, {0, 0, 1, 0}, {1, 0, 1, 0}, {0, 1, 1, 0}, {1, 1, 1, 0},
    {0, 0, 0, 1}, {1, 0, 0, 1}, {0, 1, 0, 1}, {1, 1, 0, 1}, {0, 0, 1, 1}, {1, 0, 1, 1}, {0, 1, 1, 1}, {1, 1, 1, 1},
};

/* The numbers of two vectors that come at the places of a list; a place in the second is that in the first and the vector's length more.
 * Compilers make one instruction of it, and of vectors that are made of single numbers small stores and a wide load that waits for them. */
#if __has_builtin(__builtin_shufflevector)
#define CHOOSE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
typedef int64_t places __attribute__((vector_size(sizeof(wide))));
#define CHOOSE(a, b, ...) __builtin_shuffle(a, b, (places){__VA_ARGS__})
#endif

/* The same for both groups. */
INLINE wide both(quad q)
{
#if __has_builtin(__builtin_shufflevector)
    return __builtin_shufflevector(q, q, 0, 1, 2, 3, 0, 1, 2, 3);
#else
    return (wide){q[0], q[1], q[2], q[3], q[0], q[1], q[2], q[3]};
#endif
}

/* The same pair for each ordinate; of four pairs in a vector the one with a number. Inlined as all that takes or gives such vectors:
 * how a function returns them depends on the processor that it is compiled for. */
INLINE wide each(pair p)
{
    return (wide){p[0], p[0], p[0], p[0], p[1], p[1], p[1], p[1]};
}
#define EACH(pairs, n) CHOOSE(pairs, pairs, 2 * (n), 2 * (n), 2 * (n), 2 * (n), 2 * (n) + 1, 2 * (n) + 1, 2 * (n) + 1, 2 * (n) + 1)

/* Sums over the ordinates. */
INLINE pair sum(wide w)
{
    return (pair){(w[0] + w[1]) + (w[2] + w[3]), (w[4] + w[5]) + (w[6] + w[7])};
}

/* The same of four vectors, each a pair. Numbers that are neighbours are added, then neighbours of these. */
INLINE wide sums(const wide w[UNKNOWNS])
{
    wide a = CHOOSE(w[0], w[1], 0, 8, 2, 10, 4, 12, 6, 14) + CHOOSE(w[0], w[1], 1, 9, 3, 11, 5, 13, 7, 15);
    wide b = CHOOSE(w[2], w[3], 0, 8, 2, 10, 4, 12, 6, 14) + CHOOSE(w[2], w[3], 1, 9, 3, 11, 5, 13, 7, 15);
    return CHOOSE(a, b, 0, 4, 1, 5, 8, 12, 9, 13) + CHOOSE(a, b, 2, 6, 3, 7, 10, 14, 11, 15);
}

/* What comes in: as much as the flow through faces takes of the left side, without and with the functions x - c, y - c, z - c and their
 * products xx, xy, xz, yy, yz, zz; and the right side. Whoever adds to it writes out the indices: then all vectors stay in registers,
 * while compilers keep what a loop counts through in memory. */
struct inflow {
    quad mean, first[3], second[6];
    struct angular right;
};

/* By a face, `flow` in, with the flux of the cell upwind. */
INLINE void come_in(struct inflow *to, const struct cell_face *f, quad flow, const struct angular *from)
{
    const double *r = f->from_centre, *q = f->moment;
    to->mean += flow;
    to->first[0] += flow * r[0];
    to->first[1] += flow * r[1];
    to->first[2] += flow * r[2];
    to->second[0] += flow * q[0];
    to->second[1] += flow * q[1];
    to->second[2] += flow * q[2];
    to->second[3] += flow * q[3];
    to->second[4] += flow * q[4];
    to->second[5] += flow * q[5];
    wide in = both(flow), x = in * from->u[1], y = in * from->u[2], z = in * from->u[3];
    wide mean = in * from->u[0] + x * f->shift[0] + y * f->shift[1] + z * f->shift[2];
    to->right.u[0] += mean + x * r[0] + y * r[1] + z * r[2];
    to->right.u[1] += mean * r[0] + x * q[0] + y * q[1] + z * q[2];
    to->right.u[2] += mean * r[1] + x * q[1] + y * q[3] + z * q[4];
    to->right.u[3] += mean * r[2] + x * q[2] + y * q[4] + z * q[5];
}

/* How the manufactured flux depends on the direction. */
INLINE wide factor(const struct bundle *b)
{
    return both(1 + 0.5 * b->direction[0]);
}

/* What comes in at the box's border: nothing, or the manufactured flux. */
FOR_EACH_PROCESSOR static __attribute__((noinline)) void inflow(const struct sweep *s, const struct face *f, const struct bundle *b, struct angular *in)
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
FOR_EACH_PROCESSOR static __attribute__((noinline)) void add_manufactured(const struct sweep *s, int cell, const struct bundle *b, struct angular *right)
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
    wide along = both(b->direction[0] * SLOPE[0] + b->direction[1] * SLOPE[1] + b->direction[2] * SLOPE[2]);
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

/* Nothing has come in yet; what the cell emits is on the right side. */
INLINE void begin(struct inflow *in, const struct sweep *s, int cell)
{
    wide emitted;
    memcpy(&emitted, &s->emitted_in[cell], sizeof emitted);
    *in = (struct inflow){.right = {{EACH(emitted, 0), EACH(emitted, 1), EACH(emitted, 2), EACH(emitted, 3)}}};
}

/* The left side is
 *
 *     mean   below + O volume
 *     below  second            below = what comes in with x - c, y - c, z - c; collisions are part of mean and second
 *
 * and second is symmetric and positive. So u . second = right - below u0 is solved by its adjugate for right and for below, u0 follows from
 * the first row; the two divisions do not wait for each other. */
INLINE void solve(const struct inflow *in, const struct cell *c, const struct bundle *b, wide total, struct angular *to)
{
    const double *m = c->moment;
    const wide b0 = both(in->first[0]), b1 = both(in->first[1]), b2 = both(in->first[2]), mean = both(in->mean) + total * c->volume;
    const wide q00 = both(in->second[0]) + total * m[0], q01 = both(in->second[1]) + total * m[1], q02 = both(in->second[2]) + total * m[2];
    const wide q11 = both(in->second[3]) + total * m[3], q12 = both(in->second[4]) + total * m[4], q22 = both(in->second[5]) + total * m[5];
    const wide k00 = q11 * q22 - q12 * q12, k01 = q02 * q12 - q01 * q22, k02 = q01 * q12 - q02 * q11;
    const wide k11 = q00 * q22 - q02 * q02, k12 = q01 * q02 - q00 * q12, k22 = q00 * q11 - q01 * q01;
    const wide det = q00 * k00 + q01 * k01 + q02 * k02, one = 1 / det;
    const wide y0 = k00 * b0 + k01 * b1 + k02 * b2, y1 = k01 * b0 + k11 * b1 + k12 * b2, y2 = k02 * b0 + k12 * b1 + k22 * b2;
    const wide r0 = b0 + both(b->direction[0]) * c->volume, r1 = b1 + both(b->direction[1]) * c->volume, r2 = b2 + both(b->direction[2]) * c->volume;
    const wide below = 1 / (mean * det - (r0 * y0 + r1 * y1 + r2 * y2)), *right = in->right.u;
    const wide x0 = k00 * right[1] + k01 * right[2] + k02 * right[3], x1 = k01 * right[1] + k11 * right[2] + k12 * right[3];
    const wide x2 = k02 * right[1] + k12 * right[2] + k22 * right[3];
    to->u[0] = (right[0] * det - (r0 * x0 + r1 * x1 + r2 * x2)) * below;
    to->u[1] = (x0 - y0 * to->u[0]) * one;
    to->u[2] = (x1 - y1 * to->u[0]) * one;
    to->u[3] = (x2 - y2 * to->u[0]) * one;
}

/* Of ordinates whose inflow is that of the iteration before, that, and of the others what there is. */
FOR_EACH_PROCESSOR static __attribute__((noinline)) void mix(const struct breaks *of, int n, const struct angular *now, struct angular *room)
{
    const wide old = both(ONLY[of->broken[n].ordinates]), new = 1 - old;
    for (int k = 0; k < UNKNOWNS; k++)
        room->u[k] = old * of->before[n].u[k] + new * now->u[k];
}

/* Along which axis a mirror's normal is. */
static int axis_of(const struct cell_face *f)
{
    return f->normal[0] != 0 ? 0 : f->normal[1] != 0 ? 1 : 2;
}

/* What went into a mirror and comes back with a bundle. */
static struct angular *in_mirror(const struct sweep *s, int b, const struct cell_face *f)
{
    return &s->mirrored[s->bundle[b].mirror[axis_of(f)]][s->mirror_of[f->face]];
}

/* The same about the cell's own centroid. */
FOR_EACH_PROCESSOR static __attribute__((noinline)) void reflect(const struct sweep *s, int b, const struct cell_face *f, struct angular *room)
{
    int d = axis_of(f);
    const struct angular *out = in_mirror(s, b, f);
    *room = *out;
    room->u[1 + d] = -out->u[1 + d];
    /* On the mirror's plane both have the same value. */
    room->u[0] = out->u[0] + 2 * out->u[1 + d] * f->from_centre[d];
}

/* The flux upwind of a face: about the centroid of the cell there, in a mirror that of the cell itself, at a border the face's. */
INLINE const struct angular *upwind(struct sweep *s, const struct task *t, const struct cell_face *f, int in, struct angular *room)
{
    int other = f->other, b = t->bundle;
    if (other == REFLECTING) {
        reflect(s, b, f, room);
        return room;
    }
    if (other < 0) {
        inflow(s, &s->mesh.face[f->face], &s->bundle[b], room);
        return room;
    }
    const struct breaks *breaks = &s->breaks[b];
    struct angular *of = present(s, b)->angular;
    int broken = breaks->count > 0 ? present(s, b)->break_of[f->face] : -1;
    if (t->beside & RANKS && s->owner[other] != s->rank)
        messages_await(s, b, other, in & t->ready & ~(broken >= 0 ? breaks->broken[broken].ordinates : 0));
    if (broken < 0)
        return &of[other];
    mix(breaks, broken, &of[other], room);
    return room;
}

/* What leaves the box; what goes to a mirror is kept for the bundle that comes back. */
FOR_EACH_PROCESSOR static __attribute__((noinline)) void at_border(struct sweep *s, const struct task *t)
{
    const struct bundle *of = &s->bundle[(int)t->bundle];
    const struct angular *flux = &present(s, t->bundle)->angular[t->cell];
    for (int k = s->mesh.cell[t->cell].faces, n = 0; k < s->mesh.cell[t->cell + 1].faces; k++, n++) {
        const struct cell_face *f = &s->mesh.cell_face[k];
        int in = t->in >> BUNDLE * n & ALL;
        if (f->other >= 0 || in == (1 << of->ordinates) - 1)
            continue;
        if (f->other == REFLECTING) {
            s->mirrored[(int)t->bundle][s->mirror_of[f->face]] = *flux;
            continue;
        }
        quad flow = f->normal[0] * of->direction[0] + f->normal[1] * of->direction[1] + f->normal[2] * of->direction[2];
        wide mean = flux->u[0] + flux->u[1] * f->from_centre[0] + flux->u[2] * f->from_centre[1] + flux->u[3] * f->from_centre[2];
        pair leaves = sum(both(of->weight * ONLY[ALL & ~in] * flow) * mean);
        for (int g = 0; g < GROUPS; g++)
            s->leakage[g] += leaves[g];
    }
}

/* The cell's share of the scalar flux. */
INLINE void add_flux(struct linear *to, const struct bundle *b, const struct angular *flux)
{
    const wide weight = both(b->weight);
    const wide share[UNKNOWNS] = {weight * flux->u[0], weight * flux->u[1], weight * flux->u[2], weight * flux->u[3]};
    wide all;
    memcpy(&all, to, sizeof all);
    all += sums(share);
    memcpy(to, &all, sizeof all);
}

/* Numbers of ordinates that are not ready are nonsense, and written over when they are. */
INLINE void sweep_cell(struct sweep *s, const struct task *t)
{
    const struct bundle *of = &s->bundle[(int)t->bundle];
    const struct cell *c = &s->mesh.cell[t->cell];
    struct present *now = present(s, t->bundle);
    const int everyone = (1 << of->ordinates) - 1;
    struct inflow e;
    struct angular flux;
    begin(&e, s, t->cell);
    if (s->p.which == MANUFACTURED) {
        /* A copy: numbers whose address no other function knows stay in registers. */
        struct angular right = e.right;
        add_manufactured(s, t->cell, of, &right);
        e.right = right;
    }
    for (uint64_t ins = t->in; ins != 0;) {
        const int place = __builtin_ctzll(ins) / BUNDLE, in = ins >> BUNDLE * place & ALL;
        const struct cell_face *f = &s->mesh.cell_face[c->faces + place];
        struct angular room;
        quad flow = -(f->normal[0] * of->direction[0] + f->normal[1] * of->direction[1] + f->normal[2] * of->direction[2]);
        ins &= ~((uint64_t)ALL << BUNDLE * place);
        if (in != everyone)
            flow *= ONLY[in];
        come_in(&e, f, flow, upwind(s, t, f, in, &room));
    }
    solve(&e, c, of, s->total[c->material], &flux);
    now->angular[t->cell] = flux;
    if (t->beside & RANKS) {
        messages_send(s, t, t->ready & ~now->there[t->cell]);
        now->there[t->cell] = t->ready;
    }
    if (t->ready != everyone)
        return;
    add_flux(&s->next[t->cell], of, &flux);
    if (t->beside & BORDER)
        at_border(s, t);
}

static int is_own(const struct sweep *s, int cell)
{
    return s->owner[cell] == s->rank;
}

/* What the next iteration takes at a broken face. */
static void keep_before(struct sweep *s, int b, int n)
{
    const struct broken *broken = &s->breaks[b].broken[n];
    const struct face *f = &s->mesh.face[broken->face];
    for (int o = 0; o < BUNDLE; o++) {
        int is_along = ordinate_flow(&s->bundle[b], o, f->normal) > 0, up = f->cell[!is_along], down = f->cell[is_along];
        if ((broken->ordinates >> o & 1) == 0 || !is_own(s, down))
            continue;
        if (!is_own(s, up))
            messages_await(s, b, up, 1 << o);
        for (int k = 0; k < UNKNOWNS; k++)
            for (int g = 0; g < GROUPS; g++)
                s->breaks[b].before[n].u[k][place_of(o, g)] = present(s, b)->angular[up].u[k][place_of(o, g)];
    }
}

/* Asks for an angular flux. */
INLINE void ask_flux(const struct angular *flux, int to_write)
{
    for (int k = 0; k < UNKNOWNS; k++)
        if (to_write)
            __builtin_prefetch(&flux->u[k], 1);
        else
            __builtin_prefetch(&flux->u[k]);
}

/* What goes into mirrors and comes out of them. */
static void ask_mirrors(const struct sweep *s, const struct task *t)
{
    int b = t->bundle;
    for (int k = s->mesh.cell[t->cell].faces, n = 0; k < s->mesh.cell[t->cell + 1].faces; k++, n++) {
        const struct cell_face *f = &s->mesh.cell_face[k];
        if (f->other == REFLECTING && t->in >> BUNDLE * n & ALL)
            ask_flux(in_mirror(s, b, f), 0);
        else if (f->other == REFLECTING)
            ask_flux(&s->mirrored[b][s->mirror_of[f->face]], 1);
    }
}

/* Asks for what a task will read and write: in which order cells come the processor cannot guess. Bundles share a cell's faces, and the
 * first one asks for them. */
INLINE void ask_for(struct sweep *s, const struct task *t)
{
    const struct cell *c = &s->mesh.cell[t->cell];
    ask_flux(&present(s, t->bundle)->angular[t->cell], 1);
    if (t->beside & BORDER)
        ask_mirrors(s, t);
    if (t->bundle % IN_OCTANT != 0)
        return;
    __builtin_prefetch(&s->emitted_in[t->cell]);
    __builtin_prefetch(&s->next[t->cell], 1);
    if (t->beside & RANKS) /* messages_send looks at what is behind each face */
        for (int k = c->faces; k < c[1].faces; k++)
            __builtin_prefetch(&s->mesh.cell_face[k].other);
    for (uint64_t ins = t->in; ins != 0;) {
        const int place = __builtin_ctzll(ins) / BUNDLE;
        const struct cell_face *f = &s->mesh.cell_face[c->faces + place];
        ins &= ~((uint64_t)ALL << BUNDLE * place);
        __builtin_prefetch(f->normal);
        __builtin_prefetch(f->moment);
    }
}

FOR_EACH_PROCESSOR static void sweep_cells(struct sweep *s, const struct order *order)
{
    const struct task *end = order->task + order->tasks;
    for (const struct task *t = order->task; t < end; t++) {
        if (end - t > AHEAD)
            ask_for(s, t + AHEAD);
        sweep_cell(s, t);
    }
}

static void sweep_octant(struct sweep *s, int octant)
{
    const int first = octant * IN_OCTANT, end = first + IN_OCTANT;
    for (int b = first; b < end; b++) {
        if (s->ranks > 1)
            memset(present(s, b)->there, 0, (size_t)s->mesh.cells);
        for (int n = 0; n < s->breaks[b].count; n++)
            present(s, b)->break_of[s->breaks[b].broken[n].face] = n;
    }
    sweep_cells(s, &s->order[octant]);
    for (int b = first; b < end; b++)
        for (int n = 0; n < s->breaks[b].count; n++) {
            present(s, b)->break_of[s->breaks[b].broken[n].face] = -1;
            keep_before(s, b, n);
        }
    messages_finish(s, octant == OCTANTS - 1);
}

void sweep_iterate(struct sweep *s)
{
    double start = MPI_Wtime(), change = 0;
    memset(s->next, 0, (size_t)s->mesh.cells * sizeof *s->next);
    memset(s->leakage, 0, sizeof s->leakage);
    for (int m = 0; m < MATERIALS; m++)
        s->total[m] = each(s->material[m].total);
    for (int c = 0; c < s->mesh.cells; c++)
        if (is_own(s, c))
            emit(s, c);
    for (int o = 0; o < OCTANTS; o++)
        sweep_octant(s, o);
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
