/* SPDX-License-Identifier: MIT */
/* STREAM: copy, scale, add and triad over three long arrays.
 *
 * One round turns a into (2s + s^2) a, whatever else is in b and c; that is the closed form. */
#include "kernel.h"

static const struct shape {
    size_t n; /* elements of an array */
    int rounds;
} shapes[] = {{300000, 120}, {2000000, 100}, {16000000, 55}};

static const double scalar = 3.0 / 7.0;

static void copy(double *restrict c, const double *restrict a, size_t n)
{
    for (size_t i = 0; i < n; i++)
        c[i] = a[i];
}

static void scale(double *restrict b, const double *restrict c, size_t n)
{
    for (size_t i = 0; i < n; i++)
        b[i] = scalar * c[i];
}

static void add(double *restrict c, const double *restrict a, const double *restrict b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        c[i] = a[i] + b[i];
}

static void triad(double *restrict a, const double *restrict b, const double *restrict c, size_t n)
{
    for (size_t i = 0; i < n; i++)
        a[i] = b[i] + scalar * c[i];
}

/* What a holds at first: not the same everywhere, so that a shifted index shows. */
static double first_value(size_t i)
{
    return 1 + (double)(i % 1021) / 1021;
}

static void check(const char *name, const double *array, size_t n, double factor)
{
    for (size_t i = 0; i < n; i++)
        kernel_expect(is_near(array[i], first_value(i) * factor, 1e-12),
                      "%s[%zu] is %.17g and must be %.17g", name, i, array[i],
                      first_value(i) * factor);
}

int main(int argc, char **argv)
{
    const struct shape *s = &shapes[kernel_begin("stream", argc, argv)];
    double *a = kernel_alloc(s->n, sizeof *a);
    double *b = kernel_alloc(s->n, sizeof *b);
    double *c = kernel_alloc(s->n, sizeof *c);
    for (size_t i = 0; i < s->n; i++)
        a[i] = first_value(i);
    for (int round = 0; round < s->rounds; round++) {
        copy(c, a, s->n);
        scale(b, c, s->n);
        add(c, a, b, s->n);
        triad(a, b, c, s->n);
    }
    double before = pow(2 * scalar + scalar * scalar, s->rounds - 1);
    check("a", a, s->n, before * (2 * scalar + scalar * scalar));
    check("b", b, s->n, before * scalar);
    check("c", c, s->n, before * (1 + scalar));
    return kernel_verified("n=%zu rounds=%d a=%.10g b=%.10g c=%.10g", s->n, s->rounds, a[s->n - 1],
                           b[s->n - 1], c[s->n - 1]);
}
