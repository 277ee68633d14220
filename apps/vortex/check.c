/* Answers against theory. */
#include "vortex.h"

#include <math.h>

/* How fast a thin ring goes along its axis. */
static double speed_of(int64_t around, double smoothing)
{
    struct problem p = {.around = around, .rings = 1, .smoothing = smoothing, .dt = 0.05};
    struct vortex v;
    vortex_share(&v, MPI_COMM_WORLD, &p);
    vortex_start(&v);
    for (int s = 0; s < 4; s++)
        vortex_step(&v);
    double speed = vortex_invariants(&v).centre[2] / ((double)v.step * p.dt);
    vortex_free(&v);
    return speed;
}

/* With the smoothing of Rosenhead and Moore a thin ring of radius R goes with G / (4 pi R) (ln(8 R / s) - 1). This smoothing adds
 * 3/2 s^2 / (r^2 + s^2)^(5/2) to theirs, which makes 1 into 1/2. */
static double thin_ring(double smoothing)
{
    return (log(8 / smoothing) - 0.5) / (4 * M_PI);
}

static int check_ring(const struct app *app)
{
    static const double THICK = 1e-3, THIN = 2.5e-4, AGREE = 1e-6;
    double thick = speed_of(400, 0.1), thin = speed_of(800, 0.05), coarse = speed_of(200, 0.1);
    double off_thick = thick / thin_ring(0.1) - 1, off_thin = thin / thin_ring(0.05) - 1;
    int good = app_judge(app, fabs(off_thick) < THICK && fabs(off_thin) < THIN,
                         "speed of a ring with core 0.1: %.5f, thin rings' %.5f, off by %.1e; with 0.05 by %.1e, allowed %g and %g", thick,
                         thin_ring(0.1), off_thick, off_thin, THICK, THIN);
    return app_judge(app, fabs(coarse / thick - 1) < AGREE, "the same with half the particles: differs by %.1e, allowed %g",
                     fabs(coarse / thick - 1), AGREE) &
           good;
}

/* Two rings at time 2, and at the beginning. */
static struct invariants meet(double dt, struct invariants *before)
{
    struct problem p = {.around = 60, .layers = 2, .rings = 2, .core = 0.3, .smoothing = 0.2, .distance = 2.3, .tilt = 15, .dt = dt};
    struct vortex v;
    vortex_share(&v, MPI_COMM_WORLD, &p);
    vortex_start(&v);
    *before = vortex_invariants(&v);
    while ((double)v.step * dt < 2 - 0.5 * dt)
        vortex_step(&v);
    struct invariants after = vortex_invariants(&v);
    vortex_free(&v);
    return after;
}

static int check_meeting(const struct app *app)
{
    static const double KEPT = 1e-12, IMPULSE = 5e-3, LEAST = 3.5;
    struct invariants before, after = meet(0.1, &before), half = meet(0.2, &before), twice = meet(0.4, &before);
    double lost = 0, impulse = 0;
    for (int d = 0; d < 3; d++) {
        lost = fmax(lost, fabs(after.strength[d] - before.strength[d]) / before.stretched);
        impulse = fmax(impulse, fabs(after.impulse[d] - before.impulse[d]) / fabs(before.impulse[2]));
    }
    double order = log2(fabs((twice.stretched - half.stretched) / (half.stretched - after.stretched)));
    int good = app_judge(app, lost < KEPT, "two rings: total vorticity changed by %.1e, allowed %g", lost, KEPT);
    good &= app_judge(app, impulse < IMPULSE, "their impulse by %.1e, allowed %g", impulse, IMPULSE);
    return app_judge(app, order > LEAST, "steps in time: order %.2f, allowed %g", order, LEAST) & good;
}

int vortex_check(const struct app *app)
{
    int good = check_ring(app);
    good &= check_meeting(app);
    return app_verdict(app, good);
}
