/* Plummer's sphere in equilibrium. */
#ifndef PLUMMER_H
#define PLUMMER_H

#include <stdint.h>

/* Where a body is and how fast. G = 1, total mass 1, total energy -1/4; without the outermost thousandth. */
void plummer_body(int64_t seed, int64_t number, double x[3], double v[3]);

#endif
