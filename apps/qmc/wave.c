/* The trial function: an orbital for each electron, a sum of exp(-zeta r) over the nuclei, times a correlation
 * exp(u), u = s / 2 / (1 + b s) with s the electrons' distance, which has the cusp that the repulsion asks for. */
#include "qmc.h"

#include <math.h>

/* Where potentials are infinite: closer than this no one comes in any run, but a start may. */
static const double CLOSE = 1e-12;

struct orbital {
    double value, gradient[3], laplacian, attraction;
};

/* The orbital of one electron, by its position. */
static inline void orbital_at(const struct problem *p, const double x[3], struct orbital *o)
{
    int nuclei = p->system == HELIUM ? 1 : 2;
    double charge = p->system == HELIUM ? 2 : 1;
    *o = (struct orbital){0, {0, 0, 0}, 0, 0};
    for (int n = 0; n < nuclei; n++) {
        double z = nuclei == 1 ? x[2] : x[2] + (n ? -0.5 : 0.5) * p->distance;
        double r = fmax(sqrt(x[0] * x[0] + x[1] * x[1] + z * z), CLOSE), f = exp(-p->zeta * r);
        o->value += f;
        o->gradient[0] -= p->zeta * f * x[0] / r;
        o->gradient[1] -= p->zeta * f * x[1] / r;
        o->gradient[2] -= p->zeta * f * z / r;
        o->laplacian += (p->zeta - 2 / r) * p->zeta * f;
        o->attraction -= charge / r;
    }
}

void wave_at(const struct problem *p, struct walker *w)
{
    struct orbital o[2];
    double apart[3], s = 0, u = 0, slope = 0, curve = 0;
    for (int d = 0; d < 3; d++) {
        apart[d] = w->x[d] - w->x[3 + d];
        s += apart[d] * apart[d];
    }
    s = fmax(sqrt(s), CLOSE);
    if (p->jastrow >= 0) {
        double g = 1 / (1 + p->jastrow * s);
        u = 0.5 * s * g;
        slope = 0.5 * g * g;
        curve = -2 * p->jastrow * slope * g;
    }
    w->log_psi = u;
    w->energy = 1 / s + (p->system == HYDROGEN ? 1 / p->distance : 0);
    for (int e = 0; e < 2; e++) {
        double sign = e ? -1 : 1, inner = 0;
        orbital_at(p, &w->x[3 * e], &o[e]);
        w->log_psi += log(o[e].value);
        for (int d = 0; d < 3; d++) {
            double of_orbital = o[e].gradient[d] / o[e].value, of_pair = sign * slope * apart[d] / s;
            inner += of_orbital * of_pair;
            w->drift[3 * e + d] = of_orbital + of_pair;
        }
        w->energy += o[e].attraction -
                     0.5 * (o[e].laplacian / o[e].value + 2 * inner + curve + 2 * slope / s + slope * slope);
    }
}
