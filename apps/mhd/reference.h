/* What the checks compare with. */
#ifndef REFERENCE_H
#define REFERENCE_H

/* D. Ryu and T. W. Jones, Astrophys. J. 442, 1995, figure 2a: density, pressure and velocity along the tube before, between and behind the
 * waves from left to right, fast shock, turn, slow shock, contact, slow shock, turn, fast shock; the waves' speeds follow from them, the
 * turns' with the fields. */
enum { RYU_JONES_WAVES = 7 };
static const double RYU_JONES_STATE[RYU_JONES_WAVES + 1][3] = {{1.08, 0.95, 1.2},          {1.4903, 1.6558, 0.60588}, {1.4903, 1.6558, 0.60588},
                                                               {1.6343, 1.9317, 0.57538}, {1.4735, 1.9317, 0.57538}, {1.3090, 1.5844, 0.53432},
                                                               {1.3090, 1.5844, 0.53432}, {1, 1, 0}};
static const double RYU_JONES_SPEED[RYU_JONES_WAVES] = {-0.95798, 0.14373, 0.25970, 0.57538, 0.90216, 1.02744, 2.26346};

/* The tube of M. Brio and C. C. Wu (J. Comput. Phys. 75, 1988) at time 0.1: means of density and field along the face over 32 equal parts, by
 * Athena++ (J. M. Stone and others, Astrophys. J. Suppl. 249, 2020; HLLD, second order) in 8,192 cells. */
enum { BRIO_WU_CELLS = 800, BRIO_WU_POINTS = 32 };
static const double BRIO_WU_MEANS[BRIO_WU_POINTS][2] = {
    {1.00000, 1.00000}, {1.00000, 1.00000}, {1.00000, 1.00000}, {1.00000, 1.00000}, {1.00000, 1.00000}, {1.00000, 1.00000},
    {1.00000, 1.00000}, {1.00000, 1.00000}, {1.00000, 1.00000}, {1.00000, 1.00000}, {0.96884, 0.96198}, {0.86190, 0.82942},
    {0.75748, 0.69486}, {0.68124, 0.59184}, {0.67637, 0.58507}, {0.72029, -0.44019}, {0.69675, -0.53409}, {0.65629, -0.53408},
    {0.23529, -0.53407}, {0.23535, -0.53407}, {0.18487, -0.69139}, {0.11699, -0.90246}, {0.11699, -0.90246}, {0.11699, -0.90247},
    {0.11699, -0.90248}, {0.11700, -0.90254}, {0.11752, -0.90895}, {0.12284, -0.97392}, {0.12500, -1.00000}, {0.12500, -1.00000},
    {0.12500, -1.00000}, {0.12500, -1.00000}};

/* Orszag and Tang's vortices at time 0.5: means of the density over 8 x 8 squares, y first, by Athena++ (HLLD, second order) in 512 x 512
 * cells. */
enum { VORTEX_SQUARES = 8 };
static const double VORTEX_MEANS[VORTEX_SQUARES * VORTEX_SQUARES] = {
    0.22577, 0.23162, 0.18376, 0.32393, 0.24176, 0.27933, 0.26563, 0.22485,
    0.22923, 0.19844, 0.17144, 0.18355, 0.25324, 0.29633, 0.14570, 0.17754,
    0.25028, 0.24678, 0.18705, 0.18729, 0.29377, 0.21311, 0.12099, 0.15444,
    0.17189, 0.21608, 0.25541, 0.29254, 0.31304, 0.20001, 0.19581, 0.14292,
    0.14292, 0.19581, 0.20001, 0.31304, 0.29254, 0.25541, 0.21608, 0.17189,
    0.15444, 0.12099, 0.21311, 0.29377, 0.18729, 0.18705, 0.24678, 0.25028,
    0.17754, 0.14570, 0.29633, 0.25324, 0.18355, 0.17144, 0.19844, 0.22923,
    0.22485, 0.26563, 0.27933, 0.24176, 0.32393, 0.18376, 0.23162, 0.22577};

#endif
