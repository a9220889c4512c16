/* SPDX-License-Identifier: MIT */
/* What LU and SP share: a cube of points with five values each, and a linear system whose solution is known.
 *
 * The kernel poses f = A u for a chosen u, forgets u and must find it again. */
#ifndef GRID_H
#define GRID_H
#include "kernel.h"
#include <stddef.h>

typedef double point[5];

struct grid {
    int n;             /* points along an axis */
    int layers;        /* around them that stay zero, so that all points have neighbours */
    ptrdiff_t next[3]; /* how far the neighbour along x, y and z is */
    ptrdiff_t points;  /* with the layers */
    point *given;      /* what the coefficients of A are made from */
    point *u, *f;
    point *r; /* the residual, and what the sweeps make of it */
};

static inline struct grid grid_new(int n, int layers)
{
    ptrdiff_t side = n + 2 * layers;
    struct grid g = {.n = n, .layers = layers, .next = {1, side, side * side}};
    g.points = side * side * side;
    g.given = kernel_alloc(g.points, sizeof *g.given);
    g.u = kernel_alloc(g.points, sizeof *g.u);
    g.f = kernel_alloc(g.points, sizeof *g.f);
    g.r = kernel_alloc(g.points, sizeof *g.r);
    return g;
}

/* Where a point is; the coordinates are from 0 to n-1. */
static inline ptrdiff_t grid_place(const struct grid *g, int z, int y, int x)
{
    return (z + g->layers) * g->next[2] + (y + g->layers) * g->next[1] + x + g->layers;
}

/* Set all points by a function of where they are in the unit cube. */
static inline void grid_fill(const struct grid *g, point *values,
                             void (*value_at)(double x, double y, double z, point value))
{
    double h = 1.0 / (g->n + 1);
    for (int z = 0; z < g->n; z++)
        for (int y = 0; y < g->n; y++)
            for (int x = 0; x < g->n; x++)
                value_at(h * (x + 1), h * (y + 1), h * (z + 1), values[grid_place(g, z, y, x)]);
}

/* The solution to find. */
static inline void grid_solution(double x, double y, double z, point u)
{
    for (int m = 0; m < 5; m++)
        u[m] = sin((m + 1) * x + 2 * y) * cos(3 * z - m) + 0.5 * x * z;
}

/* Pose the system; `residual` leaves f - A u in r. */
static inline void grid_pose(struct grid *g, void (*residual)(struct grid *g))
{
    grid_fill(g, g->u, grid_solution);
    residual(g);
    for (ptrdiff_t i = 0; i < g->points; i++)
        for (int m = 0; m < 5; m++)
            g->f[i][m] = -g->r[i][m];
    memset(g->u, 0, g->points * sizeof *g->u);
}

/* From a sum of squares over all points, the mean of one. */
static inline double grid_mean(const struct grid *g, double sum)
{
    return sqrt(sum / ((double)g->n * g->n * g->n));
}

/* The verdict, from |f - A u| that the kernel computed afresh. Spends r. */
static inline int grid_verdict(struct grid *g, int steps, double residual)
{
    double given = 0, off = 0;
    memset(g->r, 0, g->points * sizeof *g->r);
    grid_fill(g, g->r, grid_solution);
    for (ptrdiff_t i = 0; i < g->points; i++)
        for (int m = 0; m < 5; m++) {
            given += g->f[i][m] * g->f[i][m];
            off += (g->u[i][m] - g->r[i][m]) * (g->u[i][m] - g->r[i][m]);
        }
    kernel_expect(residual < 1e-9 * grid_mean(g, given), "the residual fell from %g to only %g",
                  grid_mean(g, given), residual);
    kernel_expect(grid_mean(g, off) < 1e-8, "the solution is off by %g", grid_mean(g, off));
    return kernel_verified("n=%d steps=%d u=%.10g", g->n, steps,
                           g->u[grid_place(g, g->n / 2, g->n / 2, g->n / 2)][4]);
}

#endif
