/* SPDX-License-Identifier: MIT */
/* LU: symmetric successive over-relaxation for a 3-D system whose elements are 5x5 blocks.
 *
 * The system is one implicit time step of the compressible flow equations, linearised about a
 * smooth flow q (density, three momenta, energy), for a change u of the flow that is zero around
 * the grid:
 *
 *   u + sum over axes of [ COURANT/2 J (WIDENING u + u_next - u_previous)
 *                          - VISCOSITY (1 + N) (u_next - 2 u + u_previous) ] = f
 *
 * J is the Jacobian of the flux along the axis and N that of velocities and inner energy, both at
 * the point; the channel widens, which couples all five values of a point. As in the NAS benchmark,
 * the blocks of a plane are made from q just before the plane is swept: downwards from the first
 * point to the last, then back. */
#include "grid.h"

enum { STEPS = 20 };
static const int widths[] = {16, 38, 66};

#define GAMMA     1.4
#define COURANT   0.6
#define WIDENING  0.3
#define VISCOSITY 0.4
#define OMEGA     1.3

typedef double block[5][5];

/* -- The equations, without matrices --------------------------------------------------------- */

/* out += factor * the change of the flux along an axis when q changes by d. */
static void add_flux_change(const point q, const point d, int axis, double factor, point out)
{
    double v[3], dv[3], square = 0, dp = 0;
    for (int i = 0; i < 3; i++) {
        v[i] = q[i + 1] / q[0];
        dv[i] = (d[i + 1] - v[i] * d[0]) / q[0];
        square += v[i] * v[i];
        dp -= v[i] * d[i + 1];
    }
    dp = (GAMMA - 1) * (dp + d[4] + square * d[0] / 2);
    double p = (GAMMA - 1) * (q[4] - q[0] * square / 2);
    out[0] += factor * d[axis + 1];
    for (int i = 0; i < 3; i++)
        out[i + 1] += factor * (d[i + 1] * v[axis] + q[i + 1] * dv[axis]);
    out[axis + 1] += factor * dp;
    out[4] += factor * ((d[4] + dp) * v[axis] + (q[4] + p) * dv[axis]);
}

/* out += factor * (d + the change of density, velocities and inner energy when q changes by d). */
static void add_viscous_change(const point q, const point d, double factor, point out)
{
    double inner = (d[4] - q[4] / q[0] * d[0]) / q[0];
    out[0] += factor * 2 * d[0];
    for (int i = 1; i < 4; i++) {
        double dv = (d[i] - q[i] / q[0] * d[0]) / q[0];
        out[i] += factor * (d[i] + dv);
        inner -= q[i] / q[0] * dv;
    }
    out[4] += factor * (d[4] + inner);
}

/* r = f - A u. */
static void residual(struct grid *g)
{
    for (int z = 0; z < g->n; z++)
        for (int y = 0; y < g->n; y++)
            for (int x = 0; x < g->n; x++) {
                ptrdiff_t at = grid_place(g, z, y, x);
                const double *u = g->u[at];
                double *r = g->r[at];
                for (int m = 0; m < 5; m++)
                    r[m] = g->f[at][m] - u[m];
                for (int axis = 0; axis < 3; axis++) {
                    const double *after = g->u[at + g->next[axis]];
                    const double *before = g->u[at - g->next[axis]];
                    point slope, bend;
                    for (int m = 0; m < 5; m++) {
                        slope[m] = WIDENING * u[m] + after[m] - before[m];
                        bend[m] = after[m] - 2 * u[m] + before[m];
                    }
                    add_flux_change(g->given[at], slope, axis, -COURANT / 2, r);
                    add_viscous_change(g->given[at], bend, VISCOSITY, r);
                }
            }
}

/* -- The equations as blocks ----------------------------------------------------------------- */

/* b = the Jacobian of the flux along an axis, times a factor. */
static void flux_block(const point q, int axis, double factor, block b)
{
    double v[3] = {q[1] / q[0], q[2] / q[0], q[3] / q[0]};
    double half_square = (v[0] * v[0] + v[1] * v[1] + v[2] * v[2]) / 2;
    double enthalpy = GAMMA * q[4] / q[0] - (GAMMA - 1) * half_square, along = factor * v[axis];
    memset(b, 0, sizeof(block));
    b[0][axis + 1] = factor;
    for (int i = 0; i < 3; i++) {
        b[i + 1][0] = -v[i] * along;
        b[i + 1][i + 1] = along;
        b[4][i + 1] = -(GAMMA - 1) * v[i] * along;
    }
    b[axis + 1][0] += factor * (GAMMA - 1) * half_square;
    for (int i = 0; i < 3; i++) {
        b[i + 1][axis + 1] += factor * v[i];
        b[axis + 1][i + 1] -= factor * (GAMMA - 1) * v[i];
    }
    b[axis + 1][4] = factor * (GAMMA - 1);
    b[4][0] = along * ((GAMMA - 1) * half_square - enthalpy);
    b[4][axis + 1] += factor * enthalpy;
    b[4][4] = along * GAMMA;
}

/* b += factor * a. */
static void add_block(double factor, const block a, block b)
{
    for (int i = 0; i < 5; i++)
        for (int j = 0; j < 5; j++)
            b[i][j] += factor * a[i][j];
}

/* b += (1 + N) times a factor. */
static void add_viscous_block(const point q, double factor, block b)
{
    double share = factor / q[0], square = 0;
    for (int i = 1; i < 4; i++) {
        double v = q[i] / q[0];
        square += v * v;
        b[i][0] -= share * v;
        b[i][i] += factor + share;
        b[4][i] -= share * v;
    }
    b[0][0] += 2 * factor;
    b[4][0] += share * (square - q[4] / q[0]);
    b[4][4] += factor + share;
}

struct blocks { /* of one point, in the direction of a sweep */
    block centre, side[3];
};

/* Make the blocks of a plane; direction is -1 for the neighbours before a point, 1 for those after it. */
static void make_blocks(const struct grid *g, int z, int direction, struct blocks *plane)
{
    for (int y = 0; y < g->n; y++)
        for (int x = 0; x < g->n; x++) {
            const double *q = g->given[grid_place(g, z, y, x)];
            struct blocks *b = &plane[y * g->n + x];
            memset(b->centre, 0, sizeof b->centre);
            add_viscous_block(q, 6 * VISCOSITY, b->centre);
            for (int m = 0; m < 5; m++)
                b->centre[m][m] += 1;
            for (int axis = 0; axis < 3; axis++) {
                flux_block(q, axis, direction * COURANT / 2, b->side[axis]);
                add_block(direction * WIDENING, b->side[axis], b->centre);
                add_viscous_block(q, -VISCOSITY, b->side[axis]);
            }
        }
}

/* -- The sweeps ------------------------------------------------------------------------------ */

/* out += factor * b d. */
static void add_product(double factor, const block b, const point d, point out)
{
    for (int i = 0; i < 5; i++)
        out[i] += factor * (b[i][0] * d[0] + b[i][1] * d[1] + b[i][2] * d[2] + b[i][3] * d[3] +
                            b[i][4] * d[4]);
}

/* Solve b x = x by elimination; b is spent. The diagonal is strong enough to do without pivots. */
static void solve(block b, point x)
{
    for (int k = 0; k < 5; k++) {
        double inverse = 1 / b[k][k];
        for (int i = k + 1; i < 5; i++) {
            double factor = b[i][k] * inverse;
            for (int j = k + 1; j < 5; j++)
                b[i][j] -= factor * b[k][j];
            x[i] -= factor * x[k];
        }
    }
    for (int k = 4; k >= 0; k--) {
        for (int j = k + 1; j < 5; j++)
            x[k] -= b[k][j] * x[j];
        x[k] /= b[k][k];
    }
}

/* r = (D + OMEGA L)^-1 r: each point needs those before it. */
static void sweep_down(struct grid *g, struct blocks *plane)
{
    for (int z = 0; z < g->n; z++) {
        make_blocks(g, z, -1, plane);
        for (int y = 0; y < g->n; y++)
            for (int x = 0; x < g->n; x++) {
                struct blocks *b = &plane[y * g->n + x];
                point *r = &g->r[grid_place(g, z, y, x)];
                for (int axis = 0; axis < 3; axis++)
                    add_product(-OMEGA, b->side[axis], *(r - g->next[axis]), *r);
                solve(b->centre, *r);
            }
    }
}

/* r = (1 + OMEGA D^-1 U)^-1 r: each point needs those after it. */
static void sweep_up(struct grid *g, struct blocks *plane)
{
    for (int z = g->n - 1; z >= 0; z--) {
        make_blocks(g, z, 1, plane);
        for (int y = g->n - 1; y >= 0; y--)
            for (int x = g->n - 1; x >= 0; x--) {
                struct blocks *b = &plane[y * g->n + x];
                point *r = &g->r[grid_place(g, z, y, x)], sum = {0};
                for (int axis = 0; axis < 3; axis++)
                    add_product(OMEGA, b->side[axis], *(r + g->next[axis]), sum);
                solve(b->centre, sum);
                for (int m = 0; m < 5; m++)
                    (*r)[m] -= sum[m];
            }
    }
}

static void correct(struct grid *g)
{
    for (ptrdiff_t i = 0; i < g->points; i++)
        for (int m = 0; m < 5; m++)
            g->u[i][m] += OMEGA * (2 - OMEGA) * g->r[i][m];
}

/* -- The problem and its check --------------------------------------------------------------- */

/* Density, momenta and energy of a subsonic flow with waves in it. */
static void flow_at(double x, double y, double z, point q)
{
    double density = 1 + 0.1 * sin(3 * x + y), square = 0;
    double v[3] = {0.4 + 0.1 * cos(2 * y + z), 0.2 * sin(3 * z + x), 0.1 + 0.2 * cos(4 * x * y)};
    q[0] = density;
    for (int i = 0; i < 3; i++) {
        q[i + 1] = density * v[i];
        square += v[i] * v[i];
    }
    q[4] = (1 + 0.1 * sin(x + 2 * y + 3 * z)) / (GAMMA * (GAMMA - 1)) + density * square / 2;
}

/* The square root of the mean of |f - A u|^2, point by point from the blocks. */
static double norm_from_blocks(const struct grid *g, struct blocks *plane)
{
    struct blocks *after = plane + (size_t)g->n * g->n;
    double sum = 0;
    for (int z = 0; z < g->n; z++) {
        make_blocks(g, z, -1, plane);
        make_blocks(g, z, 1, after);
        for (int i = 0; i < g->n * g->n; i++) {
            ptrdiff_t at = grid_place(g, z, i / g->n, i % g->n);
            point rest;
            memcpy(rest, g->f[at], sizeof rest);
            add_product(-1, plane[i].centre, g->u[at], rest);
            for (int axis = 0; axis < 3; axis++) {
                add_product(-1, plane[i].side[axis], g->u[at - g->next[axis]], rest);
                add_product(-1, after[i].side[axis], g->u[at + g->next[axis]], rest);
            }
            for (int m = 0; m < 5; m++)
                sum += rest[m] * rest[m];
        }
    }
    return grid_mean(g, sum);
}

/* |(D + OMEGA L) r - f| in the mean, or with U for L and D f for f: what a sweep of f must make zero. */
static double sweep_error(const struct grid *g, int direction, struct blocks *plane)
{
    double sum = 0;
    for (int z = 0; z < g->n; z++) {
        make_blocks(g, z, direction, plane);
        for (int i = 0; i < g->n * g->n; i++) {
            ptrdiff_t at = grid_place(g, z, i / g->n, i % g->n);
            point rest = {0};
            if (direction < 0)
                memcpy(rest, g->f[at], sizeof rest);
            else
                add_product(1, plane[i].centre, g->f[at], rest);
            add_product(-1, plane[i].centre, g->r[at], rest);
            for (int axis = 0; axis < 3; axis++)
                add_product(-OMEGA, plane[i].side[axis], g->r[at + direction * g->next[axis]],
                            rest);
            for (int m = 0; m < 5; m++)
                sum += rest[m] * rest[m];
        }
    }
    return grid_mean(g, sum);
}

/* A sweep that is a little wrong still leads to the solution, only later: look at each by itself. */
static void check_sweeps(struct grid *g, struct blocks *plane)
{
    for (int direction = -1; direction <= 1; direction += 2) {
        memcpy(g->r, g->f, g->points * sizeof *g->r);
        if (direction < 0)
            sweep_down(g, plane);
        else
            sweep_up(g, plane);
        double off = sweep_error(g, direction, plane);
        kernel_expect(off < 1e-13, "the sweep %s is off by %g", direction < 0 ? "down" : "up", off);
    }
}

int main(int argc, char **argv)
{
    struct grid g = grid_new(widths[kernel_begin("lu", argc, argv)], 1);
    struct blocks *planes = kernel_alloc((size_t)g.n * g.n * 2, sizeof *planes);
    grid_fill(&g, g.given, flow_at);
    grid_pose(&g, residual);
    check_sweeps(&g, planes);
    for (int step = 0; step < STEPS; step++) {
        residual(&g);
        sweep_down(&g, planes);
        sweep_up(&g, planes);
        correct(&g);
    }
    return grid_verdict(&g, STEPS, norm_from_blocks(&g, planes));
}
