/* SPDX-License-Identifier: MIT */
/* MG: Poisson's equation on a periodic 3-D grid by multigrid V-cycles.
 *
 * As NAS defines it: twenty charges of +1 and -1 at the places of the ten largest and smallest of
 * random numbers; operator, smoother, restriction and prolongation have 27 points, weighted by how
 * many axes they are off centre. A grid of n^3 is stored with one more layer around it, which
 * repeats the opposite side. */
#include "kernel.h"

enum { CHARGES = 10, MAX_LEVEL = 8, MAX_SIDE = (1 << MAX_LEVEL) + 2, NAS_CYCLES = 4 };

static const struct shape {
    int levels; /* the finest grid is 2^levels wide */
    int cycles;
    double norm; /* what NAS published for four cycles; 0 if it has no such grid */
} shapes[] = {{6, 16, 0}, {7, 14, 0.6467329375339e-5}, {8, 9, 0.2433365309069e-5}};

/* Weights by the number of axes off centre. */
static const double laplace[4] = {-8.0 / 3, 0, 1.0 / 6, 1.0 / 12};
static const double minus_laplace[4] = {8.0 / 3, 0, -1.0 / 6, -1.0 / 12};
static const double smoother[4] = {-3.0 / 8, 1.0 / 32, -1.0 / 64, 0};
static const double averaging[4] = {1.0 / 2, 1.0 / 4, 1.0 / 8, 1.0 / 16};

struct grid {
    int n;     /* points along an axis */
    double *v; /* (n + 2)^3 values */
};

static struct grid new_grid(int level)
{
    struct grid g = {1 << level, NULL};
    size_t side = g.n + 2;
    g.v = kernel_alloc(side * side * side, sizeof *g.v);
    return g;
}

static double *row(const struct grid *g, int z, int y)
{
    size_t side = g->n + 2;
    return g->v + (z * side + y) * side;
}

/* -- The four operators ---------------------------------------------------------------------- */

/* Let the outer layer repeat the opposite side, one axis after the other. */
static void wrap(struct grid *g)
{
    int n = g->n;
    size_t side = n + 2;
    for (int z = 1; z <= n; z++) {
        for (int y = 1; y <= n; y++) {
            double *x = row(g, z, y);
            x[0] = x[n];
            x[n + 1] = x[1];
        }
        memcpy(row(g, z, 0), row(g, z, n), side * sizeof(double));
        memcpy(row(g, z, n + 1), row(g, z, 1), side * sizeof(double));
    }
    memcpy(row(g, 0, 0), row(g, n, 0), side * side * sizeof(double));
    memcpy(row(g, n + 1, 0), row(g, 1, 0), side * side * sizeof(double));
}

/* For each x of a line the sums over the neighbouring lines: four beside it, four diagonal to it. */
static void sum_lines(const struct grid *g, int z, int y, double *restrict beside,
                      double *restrict diagonal)
{
    const double *n = row(g, z - 1, y), *s = row(g, z + 1, y);
    const double *w = row(g, z, y - 1), *e = row(g, z, y + 1);
    const double *nw = row(g, z - 1, y - 1), *ne = row(g, z - 1, y + 1);
    const double *sw = row(g, z + 1, y - 1), *se = row(g, z + 1, y + 1);
    for (int x = 0; x < g->n + 2; x++) {
        beside[x] = n[x] + s[x] + w[x] + e[x];
        diagonal[x] = nw[x] + ne[x] + sw[x] + se[x];
    }
}

/* The 27 points around x, with a weight for the centre and for each number of axes off it. */
static inline double weigh(const double c[4], const double *in, const double *beside,
                           const double *diagonal, int x)
{
    return c[0] * in[x] + c[1] * (in[x - 1] + in[x + 1] + beside[x]) +
           c[2] * (beside[x - 1] + beside[x + 1] + diagonal[x]) +
           c[3] * (diagonal[x - 1] + diagonal[x + 1]);
}

/* to = base + the 27-point stencil of `from` with these weights; `to` may be `base`. */
static void stencil(struct grid *to, const struct grid *base, const struct grid *from,
                    const double c[4])
{
    double beside[MAX_SIDE], diagonal[MAX_SIDE];
    for (int z = 1; z <= to->n; z++)
        for (int y = 1; y <= to->n; y++) {
            double *out = row(to, z, y);
            const double *in = row(from, z, y), *add = row(base, z, y);
            sum_lines(from, z, y, beside, diagonal);
            for (int x = 1; x <= to->n; x++)
                out[x] = add[x] + weigh(c, in, beside, diagonal, x);
        }
    wrap(to);
}

/* coarse = the weighted means of fine; coarse point i is fine point 2 i. */
static void restrict_to(struct grid *coarse, const struct grid *fine)
{
    double beside[MAX_SIDE], diagonal[MAX_SIDE];
    for (int z = 1; z <= coarse->n; z++)
        for (int y = 1; y <= coarse->n; y++) {
            double *out = row(coarse, z, y);
            const double *in = row(fine, 2 * z, 2 * y);
            sum_lines(fine, 2 * z, 2 * y, beside, diagonal);
            for (int x = 1; x <= coarse->n; x++)
                out[x] = weigh(averaging, in, beside, diagonal, 2 * x);
        }
    wrap(coarse);
}

/* fine += coarse, linear in between. */
static void prolong_to(struct grid *fine, const struct grid *coarse)
{
    for (int z = 1; z <= fine->n; z++)
        for (int y = 1; y <= fine->n; y++) {
            double *out = row(fine, z, y);
            const double *a = row(coarse, z / 2, y / 2), *b = row(coarse, (z + 1) / 2, y / 2);
            const double *c = row(coarse, z / 2, (y + 1) / 2);
            const double *d = row(coarse, (z + 1) / 2, (y + 1) / 2);
            double left = a[0] + b[0] + c[0] + d[0];
            for (int i = 1; i <= coarse->n; i++) {
                double here = a[i] + b[i] + c[i] + d[i];
                out[2 * i - 1] += 0.125 * (left + here);
                out[2 * i] += 0.25 * here;
                left = here;
            }
        }
    wrap(fine);
}

/* -- The solver ------------------------------------------------------------------------------ */

struct solver {
    int top;                      /* the finest level; the coarsest is 1 */
    struct grid charge;           /* the right-hand side */
    struct grid u[MAX_LEVEL + 1]; /* solution, and corrections below */
    struct grid r[MAX_LEVEL + 1]; /* residuals */
};

static void clear(struct grid *g)
{
    size_t side = g->n + 2;
    memset(g->v, 0, side * side * side * sizeof *g->v);
}

/* One V-cycle: the residuals down, the corrections up, then the residual afresh. */
static void cycle(struct solver *s)
{
    for (int level = s->top; level > 1; level--)
        restrict_to(&s->r[level - 1], &s->r[level]);
    clear(&s->u[1]);
    stencil(&s->u[1], &s->u[1], &s->r[1], smoother);
    for (int level = 2; level <= s->top; level++) {
        bool is_top = level == s->top;
        if (!is_top)
            clear(&s->u[level]);
        prolong_to(&s->u[level], &s->u[level - 1]);
        stencil(&s->r[level], is_top ? &s->charge : &s->r[level], &s->u[level], minus_laplace);
        stencil(&s->u[level], &s->u[level], &s->r[level], smoother);
    }
    stencil(&s->r[s->top], &s->charge, &s->u[s->top], minus_laplace);
}

/* Root mean square. */
static double norm(const struct grid *g)
{
    double sum = 0;
    for (int z = 1; z <= g->n; z++)
        for (int y = 1; y <= g->n; y++) {
            const double *x = row(g, z, y);
            for (int i = 1; i <= g->n; i++)
                sum += x[i] * x[i];
        }
    return sqrt(sum / ((double)g->n * g->n * g->n));
}

struct extreme {
    double value;
    double *place;
};

/* Keep the ten largest values, the smallest of them last. */
static void keep(struct extreme best[CHARGES], double value, double *place)
{
    int i = CHARGES - 1;
    if (value <= best[i].value)
        return;
    for (; i > 0 && best[i - 1].value < value; i--)
        best[i] = best[i - 1];
    best[i] = (struct extreme){value, place};
}

static void put_charges(struct grid *g)
{
    struct extreme high[CHARGES] = {{0, NULL}}, low[CHARGES] = {{0, NULL}};
    uint64_t seed = NAS_SEED;
    for (int z = 1; z <= g->n; z++)
        for (int y = 1; y <= g->n; y++)
            for (int x = 1; x <= g->n; x++) {
                double value = nas_next(&seed);
                keep(high, value, row(g, z, y) + x);
                keep(low, 1 - value, row(g, z, y) + x);
            }
    for (int i = 0; i < CHARGES; i++) {
        *high[i].place = 1;
        *low[i].place = -1;
    }
    wrap(g);
}

/* -- The checks ------------------------------------------------------------------------------ */

/* A cycle makes the residual smaller by at least this, whatever the grid: that is the point of multigrid. */
#define GAIN 3.0

/* One point of the Laplacian from its definition, without the outer layer; n is a power of two. */
static double laplace_at(const struct grid *u, int z, int y, int x)
{
    int mask = u->n - 1;
    double sum = 0;
    for (int k = -1; k <= 1; k++)
        for (int j = -1; j <= 1; j++) {
            const double *line = row(u, ((z + k) & mask) + 1, ((y + j) & mask) + 1);
            for (int i = -1; i <= 1; i++)
                sum += laplace[abs(i) + abs(j) + abs(k)] * line[((x + i) & mask) + 1];
        }
    return sum;
}

/* The norm of charge - laplace(u), computed afresh. */
static double fresh_norm(const struct grid *charge, const struct grid *u)
{
    int n = u->n;
    double sum = 0;
    for (int z = 0; z < n; z++)
        for (int y = 0; y < n; y++)
            for (int x = 0; x < n; x++) {
                double rest = row(charge, z + 1, y + 1)[x + 1] - laplace_at(u, z, y, x);
                sum += rest * rest;
            }
    return sqrt(sum / ((double)n * n * n));
}

static void check_published(double norm_now, double wanted)
{
    kernel_expect(is_near(norm_now, wanted, 1e-9),
                  "the norm after %d cycles is %.12e, published is %.12e", NAS_CYCLES, norm_now,
                  wanted);
}

static struct solver new_solver(int top)
{
    struct solver s = {.top = top, .charge = new_grid(top)};
    for (int level = 1; level <= top; level++) {
        s.u[level] = new_grid(level);
        s.r[level] = new_grid(level);
    }
    put_charges(&s.charge);
    stencil(&s.r[top], &s.charge, &s.u[top], minus_laplace);
    return s;
}

int main(int argc, char **argv)
{
    const struct shape *shape = &shapes[kernel_begin("mg", argc, argv)];
    struct solver s = new_solver(shape->levels);
    struct grid *r = &s.r[s.top];
    double first = norm(r);
    for (int i = 1; i <= shape->cycles; i++) {
        cycle(&s);
        if (i == NAS_CYCLES && shape->norm != 0)
            check_published(norm(r), shape->norm);
    }
    double last = norm(r), fresh = fresh_norm(&s.charge, &s.u[s.top]);
    kernel_expect(is_near(last, fresh, 1e-5), "the norm is %.9e, computed afresh %.9e", last,
                  fresh);
    kernel_expect(fresh < first / pow(GAIN, shape->cycles),
                  "%d cycles took the norm from %g to only %g", shape->cycles, first, fresh);
    return kernel_verified("n=%d cycles=%d norm=%.8e", 1 << shape->levels, shape->cycles, last);
}
