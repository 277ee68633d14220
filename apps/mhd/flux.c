/* Fluxes through faces: limited slopes of the primitive variables on both sides, and between them the approximate Riemann solver HLLD
 * (T. Miyoshi and K. Kusano, J. Comput. Phys. 208, 2005). No branches, so that the compiler makes vectors of cells. */
#include "mhd.h"
#include "../common/slopes.h"

#include <math.h>

/* Where the Alfven wave is as fast as the outer one the states between are 0 / 0: they are taken as not turned there. */
static const double DEGENERATE = 1e-8;

/* The gas on one side of a face: velocity and field across it (n; the field is the same on both sides) and along it (t, b). */
struct side {
    double r, n, t, b, p, ft, fb;   /* density, velocities, pressure, fields */
    double total, e, fast, out;     /* total pressure, energy; speed of the outer wave; what flows into it: r (fast - n) */
    double rs, ts, bs, fts, fbs;    /* between the outer wave and the Alfven wave */
};

INLINE void complete(struct side *s, double fn, double gamma)
{
    double field2 = fn * fn + s->ft * s->ft + s->fb * s->fb;
    s->total = s->p + 0.5 * field2;
    s->e = s->p / (gamma - 1) + 0.5 * s->r * (s->n * s->n + s->t * s->t + s->b * s->b) + 0.5 * field2;
}

INLINE double fast_speed(const struct side *s, double fn, double gamma)
{
    double sound = gamma * s->p, all = sound + fn * fn + s->ft * s->ft + s->fb * s->fb;
    return sqrt(0.5 * (all + sqrt(most(all * all - 4 * sound * fn * fn, 0))) / s->r);
}

/* Equations 43 to 47 of the paper. */
INLINE void behind_outer(struct side *s, double fn, double contact, double total)
{
    double turned = s->out * (s->fast - contact) - fn * fn, is_good = fabs(turned) > DEGENERATE * total;
    double by = is_good ? 1 / turned : 0;
    double slower = is_good ? fn * (contact - s->n) * by : 0, more = is_good ? (s->out * (s->fast - s->n) - fn * fn) * by : 1;
    s->rs = s->out / (s->fast - contact);
    s->ts = s->t - s->ft * slower, s->bs = s->b - s->fb * slower;
    s->fts = s->ft * more, s->fbs = s->fb * more;
}

/* What goes through a face: mass, momenta, energy, and the field along it, which is minus and plus the electric field. */
struct through {
    double mass, n, t, b, e, ft, fb;
};

INLINE struct through between(struct side *l, struct side *r, double fn, double gamma)
{
    complete(l, fn, gamma), complete(r, fn, gamma);
    double fast_l = fast_speed(l, fn, gamma), fast_r = fast_speed(r, fn, gamma);
    l->fast = least(l->n - fast_l, r->n - fast_r), r->fast = most(l->n + fast_l, r->n + fast_r);
    l->out = l->r * (l->fast - l->n), r->out = r->r * (r->fast - r->n);
    double by = 1 / (r->out - l->out), contact = (r->out * r->n - l->out * l->n - r->total + l->total) * by;
    double total = (r->out * l->total - l->out * r->total + l->out * r->out * (r->n - l->n)) * by;
    behind_outer(l, fn, contact, total), behind_outer(r, fn, contact, total);
    /* Between the Alfven waves: equations 59 to 62. */
    double root_l = sqrt(l->rs), root_r = sqrt(r->rs), sign = copysign(1, fn), both = 1 / (root_l + root_r), product = root_l * root_r;
    double t = (root_l * l->ts + root_r * r->ts + (r->fts - l->fts) * sign) * both;
    double b = (root_l * l->bs + root_r * r->bs + (r->fbs - l->fbs) * sign) * both;
    double ft = (root_l * r->fts + root_r * l->fts + product * (r->ts - l->ts) * sign) * both;
    double fb = (root_l * r->fbs + root_r * l->fbs + product * (r->bs - l->bs) * sign) * both;
    /* The side on which the face is, as seen from the contact. */
    int left = contact >= 0;
    double d = left ? l->r : r->r, vn = left ? l->n : r->n, vt = left ? l->t : r->t, vb = left ? l->b : r->b;
    double st = left ? l->ft : r->ft, sb = left ? l->fb : r->fb, st1 = left ? l->fts : r->fts, sb1 = left ? l->fbs : r->fbs;
    double vt1 = left ? l->ts : r->ts, vb1 = left ? l->bs : r->bs, d1 = left ? l->rs : r->rs, e = left ? l->e : r->e;
    double pt = left ? l->total : r->total, fast = left ? l->fast : r->fast, out = left ? l->out : r->out;
    double root = left ? root_l : -root_r, alfven = contact - fabs(fn) / root;
    /* Waves that have gone the other way do not change what flows. */
    double outer = left ? least(fast, 0) : most(fast, 0), inner = left ? least(alfven, 0) : most(alfven, 0);
    double along = vn * fn + vt * st + vb * sb, along1 = contact * fn + vt1 * st1 + vb1 * sb1, along2 = contact * fn + t * ft + b * fb;
    double e1 = (e * out / d - pt * vn + total * contact + fn * (along - along1)) / (fast - contact);
    double e2 = e1 - root * sign * (along1 - along2);
    struct through f;
    f.mass = d * vn + outer * (d1 - d);
    f.n = d * vn * vn + pt - fn * fn + outer * (d1 * contact - d * vn);
    f.t = d * vn * vt - fn * st + outer * (d1 * vt1 - d * vt) + inner * d1 * (t - vt1);
    f.b = d * vn * vb - fn * sb + outer * (d1 * vb1 - d * vb) + inner * d1 * (b - vb1);
    f.e = (e + pt) * vn - fn * along + outer * (e1 - e) + inner * (e2 - e1);
    f.ft = st * vn - fn * vt + outer * (st1 - st) + inner * (ft - st1);
    f.fb = sb * vn - fn * vb + outer * (sb1 - sb) + inner * (fb - sb1);
    return f;
}

/* n, t, b: the directions across the face and along it, 1 to 3. */
INLINE void faces(const struct mhd *m, int n, int t, int b, ptrdiff_t s, ptrdiff_t at, int count)
{
    /* Small is the cell to the power 3/2, in units of the density, the fast speed, the pressure, the field. */
    const double gamma = m->p.gamma, small2 = m->cell * m->cell * m->cell;
    const double *wr = m->w[0] + at, *wn = m->w[n] + at, *wt = m->w[t] + at, *wb = m->w[b] + at, *wp = m->w[PRESSURE] + at;
    const double *bn = m->w[FIELD + n - 1] + at, *bt = m->w[FIELD + t - 1] + at, *bb = m->w[FIELD + b - 1] + at;
    const double *face = m->u[FIELD + n - 1] + at;
    double *mass = m->mass[n - 1] + at, *fn = m->flux[n] + at, *ft = m->flux[t] + at, *fb = m->flux[b] + at, *fe = m->flux[ENERGY] + at;
    double *et = m->face_e[n - 1][0] + at, *eb = m->face_e[n - 1][1] + at;
#pragma omp simd
    for (int k = 0; k < count; k++) {
        struct side l, r;
        ptrdiff_t o = k - s;
        double stiff_l = small2 * (gamma * wp[o] + bn[o] * bn[o] + bt[o] * bt[o] + bb[o] * bb[o]);
        double stiff_r = small2 * (gamma * wp[k] + bn[k] * bn[k] + bt[k] * bt[k] + bb[k] * bb[k]);
        double speed_l = stiff_l / wr[o], speed_r = stiff_r / wr[k];
        at_face(wr + k, s, small2 * wr[o] * wr[o], small2 * wr[k] * wr[k], &l.r, &r.r);
        at_face(wn + k, s, speed_l, speed_r, &l.n, &r.n);
        at_face(wt + k, s, speed_l, speed_r, &l.t, &r.t);
        at_face(wb + k, s, speed_l, speed_r, &l.b, &r.b);
        at_face(wp + k, s, small2 * wp[o] * wp[o], small2 * wp[k] * wp[k], &l.p, &r.p);
        at_face(bt + k, s, stiff_l, stiff_r, &l.ft, &r.ft);
        at_face(bb + k, s, stiff_l, stiff_r, &l.fb, &r.fb);
        struct through f = between(&l, &r, face[k], gamma);
        mass[k] = f.mass, fn[k] = f.n, ft[k] = f.t, fb[k] = f.b, fe[k] = f.e;
        et[k] = f.fb, eb[k] = -f.ft;
    }
}

FOR_EACH_PROCESSOR static void faces_x(const struct mhd *m, ptrdiff_t at, int count)
{
    faces(m, 1, 2, 3, m->g.plane, at, count);
}

FOR_EACH_PROCESSOR static void faces_y(const struct mhd *m, ptrdiff_t at, int count)
{
    faces(m, 2, 3, 1, m->g.row, at, count);
}

FOR_EACH_PROCESSOR static void faces_z(const struct mhd *m, ptrdiff_t at, int count)
{
    faces(m, 3, 1, 2, 1, at, count);
}

/* Nothing changes in a direction of one cell: the electric field at a face is that of the cell. */
static void faces_within(const struct mhd *m, int d, ptrdiff_t at, int count)
{
    int next = (d + 1) % 3, last = (d + 2) % 3;
    for (int k = 0; k < count; k++) {
        m->mass[d][at + k] = m->w[DENSITY][at + k] * m->w[1 + d][at + k];
        m->face_e[d][0][at + k] = m->cell_e[next][at + k];
        m->face_e[d][1][at + k] = m->cell_e[last][at + k];
    }
}

void flux_row(const struct mhd *m, int d, ptrdiff_t at, int count)
{
    if (!is_active(&m->p, d))
        faces_within(m, d, at, count);
    else if (d == 0)
        faces_x(m, at, count);
    else if (d == 1)
        faces_y(m, at, count);
    else
        faces_z(m, at, count);
}
