/* The exact answer to Sod's tube (E. F. Toro, Riemann Solvers and Numerical Methods for Fluid Dynamics, chapter 4). */
#include "hydro.h"

#include <math.h>
#include <string.h>

struct side {
    double density, velocity, pressure, sound;
};

/* Change of velocity across the wave of one side when the pressure behind it is p, and its derivative. */
static double behind(const struct side *s, double p, double gamma, double *slope)
{
    if (p > s->pressure) {
        double a = 2 / ((gamma + 1) * s->density), b = (gamma - 1) / (gamma + 1) * s->pressure, root = sqrt(a / (p + b));
        *slope = root * (1 - 0.5 * (p - s->pressure) / (p + b));
        return (p - s->pressure) * root;
    }
    double ratio = p / s->pressure;
    *slope = pow(ratio, -0.5 * (gamma + 1) / gamma) / (s->density * s->sound);
    return 2 * s->sound / (gamma - 1) * (pow(ratio, 0.5 * (gamma - 1) / gamma) - 1);
}

/* One side seen with the wave going to the left, at a speed on its side of the contact. */
static void sample(const struct side *s, double p, double contact, double speed, double gamma, double *density, double *velocity,
                   double *pressure)
{
    double ratio = p / s->pressure, g = (gamma - 1) / (gamma + 1);
    *density = s->density, *velocity = s->velocity, *pressure = s->pressure;
    if (p > s->pressure) {
        double shock = s->velocity - s->sound * sqrt(0.5 * (gamma + 1) / gamma * ratio + 0.5 * (gamma - 1) / gamma);
        if (speed > shock)
            *density = s->density * (ratio + g) / (g * ratio + 1), *velocity = contact, *pressure = p;
        return;
    }
    double head = s->velocity - s->sound, tail = contact - s->sound * pow(ratio, 0.5 * (gamma - 1) / gamma);
    if (speed > tail) {
        *density = s->density * pow(ratio, 1 / gamma), *velocity = contact, *pressure = p;
    } else if (speed > head) {
        double sound = 2 / (gamma + 1) * (s->sound + 0.5 * (gamma - 1) * (s->velocity - speed));
        *velocity = speed + sound;
        *density = s->density * pow(sound / s->sound, 2 / (gamma - 1));
        *pressure = s->pressure * pow(sound / s->sound, 2 * gamma / (gamma - 1));
    }
}

void exact_sod(double gamma, double speed, double w[VARIABLES])
{
    struct side left = {1, 0, 1, sqrt(gamma)}, right = {0.125, 0, 0.1, sqrt(gamma * 0.1 / 0.125)};
    double p = 0.5 * (left.pressure + right.pressure), slope_left, slope_right, left_change, right_change;
    for (int newton = 0; newton < 20; newton++) {
        left_change = behind(&left, p, gamma, &slope_left);
        right_change = behind(&right, p, gamma, &slope_right);
        p -= (left_change + right_change + right.velocity - left.velocity) / (slope_left + slope_right);
    }
    double contact = 0.5 * (left.velocity + right.velocity + right_change - left_change);
    memset(w, 0, VARIABLES * sizeof *w);
    if (speed < contact) {
        sample(&left, p, contact, speed, gamma, &w[DENSITY], &w[1], &w[PRESSURE]);
    } else {
        sample(&right, p, -contact, -speed, gamma, &w[DENSITY], &w[1], &w[PRESSURE]);
        w[1] = -w[1];
    }
}
