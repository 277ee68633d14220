/* Plummer's sphere (Aarseth, Henon, Wielen 1974). */
#include "plummer.h"
#include "random.h"

void plummer_body(int64_t seed, int64_t number, double x[3], double v[3])
{
    const double scale = 3 * 3.14159265358979323846 / 16;
    uint64_t state = random_stream(seed, number);
    double radius = 1 / sqrt(pow(0.999 * random_uniform(&state), -2.0 / 3) - 1), q, g;
    /* Speed as a part of the escape speed, by von Neumann's rejection. */
    do {
        q = random_uniform(&state);
        g = 0.1 * random_uniform(&state);
    } while (g > q * q * pow(1 - q * q, 3.5));
    double speed = q * sqrt(2) * pow(1 + radius * radius, -0.25);
    random_on_sphere(&state, scale * radius, x);
    random_on_sphere(&state, speed / sqrt(scale), v);
}
