/* TIP3P (Jorgensen and others, J. Chem. Phys. 79, 926, 1983): three charges, and a Lennard-Jones potential between oxygens. */
#include "water.h"

#include <math.h>
#include <stdlib.h>

const double MASS[SITES] = {15.9994, 1.008, 1.008}, MASS_OF_WATER = 18.0154;
/* 0.9572 angstrom, and twice its sine of half of 104.52 degrees. */
const double BOND_LENGTH[3] = {0.9572, 0.9572, 1.5139006545247014};
static const double CHARGE[SITES] = {-0.834, 0.417, 0.417};
static const double REPULSION = 582000, ATTRACTION = 595; /* kcal/mol times angstrom^12 and ^6 */
static const double COULOMB = 332.06371;                  /* kcal/mol angstrom/e^2 */

void around_room(struct around *a, int count)
{
    if (count <= a->room)
        return;
    a->room = 2 * count + 256;
    for (int n = 0; n < NUMBERS; n++) {
        a->x[n] = app_more_memory(a->x[n], (size_t)a->room, sizeof *a->x[n]);
        a->f[n] = app_more_memory(a->f[n], (size_t)a->room, sizeof *a->f[n]);
    }
    a->who = app_more_memory(a->who, (size_t)a->room, sizeof *a->who);
}

void around_free(struct around *a)
{
    for (int n = 0; n < NUMBERS; n++)
        free(a->x[n]), free(a->f[n]);
    free(a->who);
    *a = (struct around){.count = 0};
}

/* A pair potential V becomes V(r) - V(c) - (r - c) V'(c) below the cutoff c: energy and force end there without a step. */
struct shift {
    double energy, slope; /* V(c) and V'(c) */
};

/* Added and taken away again, this leaves the nearest multiple of FORCE_UNIT, up to 2^19. */
#define ROUNDER (1.5 * 0x1p52 * FORCE_UNIT)

/* One kind of site pairs: charges, and for oxygens also the rest. */
FOR_EACH_PROCESSOR static double site_pairs(const double at[3], double charges, double repulsion, double attraction,
                                            double cutoff, int count, double *const x[3], double *const f[3], double force[3])
{
    const double *restrict px = x[0], *restrict py = x[1], *restrict pz = x[2];
    double *restrict gx = f[0], *restrict gy = f[1], *restrict gz = f[2];
    const double inverse_cutoff = 1 / cutoff, c6 = pow(inverse_cutoff, 6);
    const struct shift s = {charges * inverse_cutoff + (repulsion * c6 - attraction) * c6,
                            -(charges * inverse_cutoff + (12 * repulsion * c6 - 6 * attraction) * c6) * inverse_cutoff};
    const double ax = at[0], ay = at[1], az = at[2];
    double energy = 0, sx = 0, sy = 0, sz = 0;
#pragma omp simd reduction(+ : energy, sx, sy, sz)
    for (int i = 0; i < count; i++) {
        double dx = ax - px[i], dy = ay - py[i], dz = az - pz[i];
        double square = dx * dx + dy * dy + dz * dz;
        double inverse = 1 / sqrt(square), r = square * inverse, inverse2 = inverse * inverse;
        double inverse6 = inverse2 * inverse2 * inverse2;
        double coulomb = charges * inverse;
        double e = coulomb + (repulsion * inverse6 - attraction) * inverse6 - s.energy - (r - cutoff) * s.slope;
        double g = (coulomb + (12 * repulsion * inverse6 - 6 * attraction) * inverse6) * inverse2 + s.slope * inverse;
        int near = r < cutoff;
        e = near ? e : 0;
        g = near ? g : 0;
        double fx = (g * dx + ROUNDER) - ROUNDER, fy = (g * dy + ROUNDER) - ROUNDER, fz = (g * dz + ROUNDER) - ROUNDER;
        energy += (e + ROUNDER) - ROUNDER;
        sx += fx, sy += fy, sz += fz;
        gx[i] -= fx, gy[i] -= fy, gz[i] -= fz;
    }
    force[0] += sx, force[1] += sy, force[2] += sz;
    return energy;
}

double model_forces(double cutoff, const double x[NUMBERS], struct around *a, double force[NUMBERS])
{
    double energy = 0;
    for (int n = 0; n < NUMBERS; n++)
        for (int i = 0; i < a->count; i++)
            a->f[n][i] = 0;
    for (int s = 0; s < SITES; s++)
        for (int t = 0; t < SITES; t++) {
            int oxygens = s == 0 && t == 0;
            energy += site_pairs(x + 3 * s, COULOMB * CHARGE[s] * CHARGE[t], oxygens ? REPULSION : 0,
                                 oxygens ? ATTRACTION : 0, cutoff, a->count, a->x + 3 * t, a->f + 3 * t, force + 3 * s);
        }
    return energy;
}
