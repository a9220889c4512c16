/* SPDX-License-Identifier: MIT */
/* FT: the heat equation on a periodic 3-D grid, solved in Fourier space.
 *
 * As NAS defines it: random complex values are transformed once; each step multiplies every
 * coefficient by its decay, transforms back and adds up 1024 values of the result. The transforms
 * are radix 2, of sixteen lines at a time copied to a buffer. */
#include "kernel.h"

enum { LINES = 16, MAX_LENGTH = 256, NAS_STEPS = 6, SAMPLES = 1024 };
static const double diffusion = 1e-6;

struct value {
    double re, im;
};

/* What NAS published for the first steps. */
static const struct value sums_s[NAS_STEPS] = {
    {5.546087004964e2, 4.845363331978e2}, {5.546385409189e2, 4.865304269511e2},
    {5.546148406171e2, 4.883910722336e2}, {5.545423607415e2, 4.901273169046e2},
    {5.544255039624e2, 4.917475857993e2}, {5.542683411902e2, 4.932597244941e2},
};
static const struct value sums_w[NAS_STEPS] = {
    {5.673612178944e2, 5.293246849175e2}, {5.631436885271e2, 5.282149986629e2},
    {5.594024089970e2, 5.270996558037e2}, {5.560698047020e2, 5.260027904925e2},
    {5.530898991250e2, 5.249400845633e2}, {5.504159734538e2, 5.239212247086e2},
};
static const struct value sums_a[NAS_STEPS] = {
    {5.046735008193e2, 5.114047905510e2}, {5.059412319734e2, 5.098809666433e2},
    {5.069376896287e2, 5.098144042213e2}, {5.077892868474e2, 5.101336130759e2},
    {5.085233095391e2, 5.104914655194e2}, {5.091487099959e2, 5.107917842803e2},
};

static const struct shape {
    int nx, ny, nz, steps;
    const struct value *sums; /* published */
} shapes[] = {
    {64, 64, 64, 12, sums_s},
    {128, 128, 32, 60, sums_w},
    {256, 256, 128, 12, sums_a},
};

/* -- The transform --------------------------------------------------------------------------- */

/* exp(i pi k / MAX_LENGTH): the angles of every length are among these. */
static struct value roots[MAX_LENGTH];

static void make_roots(void)
{
    for (int k = 0; k < MAX_LENGTH; k++)
        roots[k] = (struct value){cos(M_PI * k / MAX_LENGTH), sin(M_PI * k / MAX_LENGTH)};
}

/* One pass of the autosorting transform: pairs that are n/2 apart go to places that are `span` apart. */
static void butterflies(int n, int span, int sign, const struct value (*restrict from)[LINES],
                        struct value (*restrict to)[LINES])
{
    for (int group = 0; group < n / 2; group += span) {
        struct value root = roots[2 * group * (MAX_LENGTH / n)];
        root.im *= sign;
        for (int i = group; i < group + span; i++)
            for (int l = 0; l < LINES; l++) {
                struct value a = from[i][l], b = from[i + n / 2][l];
                double re = a.re - b.re, im = a.im - b.im;
                to[i + group][l] = (struct value){a.re + b.re, a.im + b.im};
                to[i + group + span][l] =
                    (struct value){root.re * re - root.im * im, root.re * im + root.im * re};
            }
    }
}

typedef struct value line_buffer[MAX_LENGTH][LINES];

/* Transform the lines in `one`; returns where the result is. */
static struct value (*transform_lines(int n, int sign, line_buffer one, line_buffer two))[LINES]
{
    struct value(*from)[LINES] = one, (*to)[LINES] = two, (*swap)[LINES];
    for (int span = 1; span < n; span *= 2) {
        butterflies(n, span, sign, (const struct value(*)[LINES])from, to);
        swap = from, from = to, to = swap;
    }
    return from;
}

struct axis {
    int length, lines, planes; /* elements of a line, lines of a plane (a multiple of LINES) */
    size_t step, next_line, next_plane;
};

/* Transform along one axis, in place, sixteen lines at a time. */
static void transform_axis(struct value *u, int sign, struct axis x)
{
    static line_buffer one, two;
    for (int plane = 0; plane < x.planes; plane++)
        for (int line = 0; line < x.lines; line += LINES) {
            struct value *at = u + plane * x.next_plane + line * x.next_line;
            for (int i = 0; i < x.length; i++)
                for (int l = 0; l < LINES; l++)
                    one[i][l] = at[i * x.step + l * x.next_line];
            struct value(*done)[LINES] = transform_lines(x.length, sign, one, two);
            for (int i = 0; i < x.length; i++)
                for (int l = 0; l < LINES; l++)
                    at[i * x.step + l * x.next_line] = done[i][l];
        }
}

static void transform(const struct shape *s, struct value *u, int sign)
{
    size_t row = s->nx, plane = row * s->ny;
    transform_axis(u, sign, (struct axis){s->nx, s->ny * s->nz, 1, 1, row, 0});
    transform_axis(u, sign, (struct axis){s->ny, s->nx, s->nz, row, 1, plane});
    transform_axis(u, sign, (struct axis){s->nz, s->nx * s->ny, 1, plane, 1, 0});
}

/* -- The equation ---------------------------------------------------------------------------- */

/* How much coefficient k of n fades along one axis in so many steps. */
static double fading(int k, int n, int steps)
{
    double frequency = k < n / 2 ? k : k - n;
    return exp(-4 * diffusion * M_PI * M_PI * frequency * frequency * steps);
}

static size_t grid_points(const struct shape *s)
{
    return (size_t)s->nx * s->ny * s->nz;
}

static double *make_decay(const struct shape *s)
{
    double *decay = kernel_alloc(grid_points(s), sizeof *decay), *at = decay;
    double along_x[MAX_LENGTH];
    for (int x = 0; x < s->nx; x++)
        along_x[x] = fading(x, s->nx, 1);
    for (int z = 0; z < s->nz; z++)
        for (int y = 0; y < s->ny; y++) {
            double along_yz = fading(y, s->ny, 1) * fading(z, s->nz, 1);
            for (int x = 0; x < s->nx; x++)
                *at++ = along_x[x] * along_yz;
        }
    return decay;
}

static void evolve(size_t n, struct value *restrict u, const double *restrict decay,
                   struct value *restrict copy)
{
    for (size_t i = 0; i < n; i++) {
        u[i].re *= decay[i];
        u[i].im *= decay[i];
        copy[i] = u[i];
    }
}

static struct value sum_samples(const struct shape *s, const struct value *u)
{
    struct value sum = {0, 0};
    for (int j = 1; j <= SAMPLES; j++) {
        size_t x = j % s->nx, y = 3 * j % s->ny, z = 5 * j % s->nz;
        const struct value *at = &u[(z * s->ny + y) * s->nx + x];
        sum.re += at->re;
        sum.im += at->im;
    }
    sum.re /= (double)grid_points(s);
    sum.im /= (double)grid_points(s);
    return sum;
}

/* -- The checks ------------------------------------------------------------------------------ */

static double energy(size_t n, const struct value *u)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += u[i].re * u[i].re + u[i].im * u[i].im;
    return sum;
}

/* Undo all fading, without the table of decays. */
static void turn_back(const struct shape *s, struct value *u)
{
    for (int z = 0; z < s->nz; z++)
        for (int y = 0; y < s->ny; y++) {
            double along_yz = fading(y, s->ny, s->steps) * fading(z, s->nz, s->steps);
            for (int x = 0; x < s->nx; x++, u++) {
                double faded = fading(x, s->nx, s->steps) * along_yz;
                u->re /= faded;
                u->im /= faded;
            }
        }
}

/* Are these the random values that it began with? */
static void check_start(size_t n, const struct value *u)
{
    uint64_t seed = NAS_SEED;
    for (size_t i = 0; i < n; i++) {
        double re = nas_next(&seed), im = nas_next(&seed);
        kernel_expect(fabs(u[i].re / n - re) < 1e-10 && fabs(u[i].im / n - im) < 1e-10,
                      "point %zu comes back as %.12g %.12g, it was %.12g %.12g", i, u[i].re / n,
                      u[i].im / n, re, im);
    }
}

static void check_sum(const struct shape *s, int step, struct value sum)
{
    if (step >= NAS_STEPS)
        return;
    struct value wanted = s->sums[step];
    kernel_expect(is_near(sum.re, wanted.re, 1e-11) && is_near(sum.im, wanted.im, 1e-11),
                  "the sum of step %d is %.12e %.12e, published is %.12e %.12e", step + 1, sum.re,
                  sum.im, wanted.re, wanted.im);
}

int main(int argc, char **argv)
{
    const struct shape *s = &shapes[kernel_begin("ft", argc, argv)];
    size_t n = grid_points(s);
    struct value *u = kernel_alloc(n, sizeof *u), *grid = kernel_alloc(n, sizeof *grid);
    struct value sum = {0, 0};
    double *decay = make_decay(s);
    uint64_t seed = NAS_SEED;
    make_roots();
    for (size_t i = 0; i < n; i++) {
        u[i].re = nas_next(&seed);
        u[i].im = nas_next(&seed);
    }
    transform(s, u, -1);
    for (int step = 0; step < s->steps; step++) {
        evolve(n, u, decay, grid);
        transform(s, grid, 1);
        sum = sum_samples(s, grid);
        check_sum(s, step, sum);
    }
    double inside = energy(n, u) * (double)n, outside = energy(n, grid);
    kernel_expect(is_near(outside, inside, 1e-10),
                  "the energy is %.12g in space, %.12g in frequency", outside, inside);
    turn_back(s, u);
    transform(s, u, 1);
    check_start(n, u);
    return kernel_verified("grid=%dx%dx%d steps=%d sum=%.10g,%.10g", s->nx, s->ny, s->nz, s->steps,
                           sum.re, sum.im);
}
