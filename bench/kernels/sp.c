/* SPDX-License-Identifier: MIT */
/* SP: alternating directions with scalar penta-diagonal systems along every line of a 3-D grid.
 *
 * The system is one implicit time step of small waves (density, three velocities, pressure) on a
 * wind V with sound of speed 1, zero around the grid:
 *
 *   (1 + Lx + Ly + Lz) u = f,   L = STEP (A D1 - smooth D2 + damp D4)
 *
 * with central differences D1, D2, D4 along the axis; wind, smooth and damp vary. A, five by five,
 * is diagonal in the characteristic variables of the axis, with speeds V, V, V, V + 1 and V - 1. So
 * each factor of (1 + Lx)(1 + Ly)(1 + Lz) du = f - (1 + Lx + Ly + Lz) u is five scalar systems a
 * line, and adding du to u over and over leads to the solution. */
#include "grid.h"

enum { STEPS = 16, MAX_WIDTH = 128, SMOOTH = 3, DAMP = 4 }; /* 0, 1, 2 is the wind along an axis */
static const int widths[] = {24, 50, 88};

#define STEP 0.3

/* -- The residual ---------------------------------------------------------------------------- */

/* r -= L u along one axis. */
static void subtract_axis(struct grid *g, int axis)
{
    ptrdiff_t next = g->next[axis];
    for (int z = 0; z < g->n; z++)
        for (int y = 0; y < g->n; y++)
            for (int x = 0; x < g->n; x++) {
                ptrdiff_t at = grid_place(g, z, y, x);
                const point *u = &g->u[at];
                const double *given = g->given[at];
                double *r = g->r[at], slope[5];
                for (int m = 0; m < 5; m++) {
                    double near = u[next][m] + u[-next][m], far = u[2 * next][m] + u[-2 * next][m];
                    slope[m] = (u[next][m] - u[-next][m]) / 2;
                    r[m] -= STEP * (given[axis] * slope[m] - given[SMOOTH] * (near - 2 * u[0][m]) +
                                    given[DAMP] * (far - 4 * near + 6 * u[0][m]));
                }
                r[0] -= STEP * slope[1 + axis];
                r[1 + axis] -= STEP * slope[4];
                r[4] -= STEP * slope[1 + axis];
            }
}

/* r = f - (1 + Lx + Ly + Lz) u. */
static void residual(struct grid *g)
{
    for (ptrdiff_t i = 0; i < g->points; i++)
        for (int m = 0; m < 5; m++)
            g->r[i][m] = g->f[i][m] - g->u[i][m];
    for (int axis = 0; axis < 3; axis++)
        subtract_axis(g, axis);
}

/* -- The sweeps ------------------------------------------------------------------------------ */

/* Characteristic variables of an axis: pressure plus and minus the velocity along it take the places
 * of that velocity and of the pressure, density minus pressure that of density. */
static void to_characteristic(struct grid *g, int axis)
{
    for (int z = 0; z < g->n; z++)
        for (int y = 0; y < g->n; y++)
            for (int x = 0; x < g->n; x++) {
                double *r = g->r[grid_place(g, z, y, x)], velocity = r[1 + axis], pressure = r[4];
                r[0] -= pressure;
                r[1 + axis] = pressure + velocity;
                r[4] = pressure - velocity;
            }
}

static void from_characteristic(struct grid *g, int axis)
{
    for (int z = 0; z < g->n; z++)
        for (int y = 0; y < g->n; y++)
            for (int x = 0; x < g->n; x++) {
                double *r = g->r[grid_place(g, z, y, x)], plus = r[1 + axis], minus = r[4];
                r[4] = (plus + minus) / 2;
                r[1 + axis] = (plus - minus) / 2;
                r[0] += r[4];
            }
}

struct row { /* one row of a penta-diagonal matrix */
    double a, b, c, d, e;
};

/* Fill in 1 + L for a line and three speeds: the wind's less the sound's, the wind's, and both together. */
static void make_rows(const struct grid *g, ptrdiff_t at, int axis,
                      struct row rows[3][MAX_WIDTH + 2])
{
    for (int i = 0; i < g->n; i++, at += g->next[axis]) {
        double smooth = STEP * g->given[at][SMOOTH], damp = STEP * g->given[at][DAMP];
        double side = -smooth - 4 * damp, centre = 1 + 2 * smooth + 6 * damp;
        for (int sound = -1; sound <= 1; sound++) {
            double drift = STEP * (g->given[at][axis] + sound) / 2;
            rows[sound + 1][i] = (struct row){damp, side - drift, centre, side + drift, damp};
        }
    }
    for (int sound = 0; sound < 3; sound++) /* the elimination goes two rows beyond the last */
        memset(&rows[sound][g->n], 0, 2 * sizeof(struct row));
}

/* Take a row out of the two below it. Its c becomes 1/c; b and a below stay as the factors. */
static void eliminate_row(struct row *row)
{
    double inverse = 1 / row[0].c;
    row[0].c = inverse;
    row[0].d *= inverse;
    row[0].e *= inverse;
    row[1].c -= row[1].b * row[0].d;
    row[1].d -= row[1].b * row[0].e;
    row[2].b -= row[2].a * row[0].d;
    row[2].c -= row[2].a * row[0].e;
}

/* Solve one component of a line, in place. Outside the grid r is zero and stays so. */
static void solve_component(int n, const struct row *row, double *r, ptrdiff_t next)
{
    for (int i = 0; i < n; i++, r += next) {
        r[0] *= row[i].c;
        r[next] -= row[i + 1].b * r[0];
        r[2 * next] -= row[i + 2].a * r[0];
    }
    for (int i = n - 1; i >= 0; i--) {
        r -= next;
        r[0] -= row[i].d * r[next] + row[i].e * r[2 * next];
    }
}

static void solve_line(struct grid *g, ptrdiff_t at, int axis)
{
    struct row rows[3][MAX_WIDTH + 2];
    make_rows(g, at, axis, rows);
    for (int i = 0; i < g->n; i++)
        for (int sound = 0; sound < 3; sound++)
            eliminate_row(&rows[sound][i]);
    for (int m = 0; m < 5; m++) {
        int sound = m == 1 + axis ? 2 : m == 4 ? 0 : 1;
        solve_component(g->n, rows[sound], &g->r[at][m], 5 * g->next[axis]);
    }
}

/* r = (1 + L)^-1 r along one axis. */
static void sweep(struct grid *g, int axis)
{
    ptrdiff_t one = g->next[(axis + 1) % 3], other = g->next[(axis + 2) % 3];
    to_characteristic(g, axis);
    for (int j = 0; j < g->n; j++)
        for (int i = 0; i < g->n; i++)
            solve_line(g, grid_place(g, 0, 0, 0) + j * other + i * one, axis);
    from_characteristic(g, axis);
}

static void correct(struct grid *g)
{
    for (ptrdiff_t i = 0; i < g->points; i++)
        for (int m = 0; m < 5; m++)
            g->u[i][m] += g->r[i][m];
}

/* -- The problem and its check --------------------------------------------------------------- */

static void given_at(double x, double y, double z, point given)
{
    given[0] = 0.3 + 0.2 * sin(4 * y + z);
    given[1] = 0.4 * cos(3 * z - x);
    given[2] = 0.2 * sin(5 * x * y) - 0.1;
    given[SMOOTH] = 0.5 + 0.1 * cos(3 * x + 2 * z);
    given[DAMP] = 0.05 + 0.01 * sin(x - 4 * y);
}

/* rest -= L times these values, from the definition: A is a matrix, a difference five weights. */
static void subtract_plainly(const struct grid *g, const point *values, ptrdiff_t at, int axis,
                             point rest)
{
    static const double d1[5] = {0, -0.5, 0, 0.5, 0}, d2[5] = {0, 1, -2, 1, 0};
    static const double d4[5] = {1, -4, 6, -4, 1};
    const double *given = g->given[at];
    double a[5][5] = {{0}};
    for (int m = 0; m < 5; m++)
        a[m][m] = given[axis];
    a[0][1 + axis] = a[1 + axis][4] = a[4][1 + axis] = 1;
    for (int o = 0; o < 5; o++) {
        const double *u = values[at + (o - 2) * g->next[axis]];
        for (int m = 0; m < 5; m++) {
            rest[m] -= STEP * (given[DAMP] * d4[o] - given[SMOOTH] * d2[o]) * u[m];
            for (int k = 0; k < 5 && d1[o] != 0; k++)
                rest[m] -= STEP * d1[o] * a[m][k] * u[k];
        }
    }
}

/* |f - (1 + L...) times these values|, for the sum of L over the given axes, in the mean. */
static double norm_afresh(const struct grid *g, const point *values, int first_axis, int last_axis)
{
    double sum = 0;
    for (int z = 0; z < g->n; z++)
        for (int y = 0; y < g->n; y++)
            for (int x = 0; x < g->n; x++) {
                ptrdiff_t at = grid_place(g, z, y, x);
                point rest;
                for (int m = 0; m < 5; m++)
                    rest[m] = g->f[at][m] - values[at][m];
                for (int axis = first_axis; axis <= last_axis; axis++)
                    subtract_plainly(g, values, at, axis, rest);
                for (int m = 0; m < 5; m++)
                    sum += rest[m] * rest[m];
            }
    return grid_mean(g, sum);
}

/* A sweep that is a little wrong still leads to the solution, only later: look at each by itself. */
static void check_sweeps(struct grid *g)
{
    for (int axis = 0; axis < 3; axis++) {
        memcpy(g->r, g->f, g->points * sizeof *g->r);
        sweep(g, axis);
        double off = norm_afresh(g, g->r, axis, axis);
        kernel_expect(off < 1e-13, "the sweep along axis %d is off by %g", axis, off);
    }
}

int main(int argc, char **argv)
{
    struct grid g = grid_new(widths[kernel_begin("sp", argc, argv)], 2);
    grid_fill(&g, g.given, given_at);
    grid_pose(&g, residual);
    check_sweeps(&g);
    for (int step = 0; step < STEPS; step++) {
        residual(&g);
        for (int axis = 0; axis < 3; axis++)
            sweep(&g, axis);
        correct(&g);
    }
    return grid_verdict(&g, STEPS, norm_afresh(&g, g.u, 0, 2));
}
