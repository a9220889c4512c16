/* SPDX-License-Identifier: MIT */
/* CG: the eigenvalue of a random sparse matrix that is nearest to a shift, by conjugate gradients.
 *
 * As NAS defines it, the matrix is A = sum_k w_k v_k v_k^T + (1/10 - shift) I, where each v_k has a
 * few random elements and w_k falls from 1 to 1/10. Each step of the inverse power method solves
 * A z = x by 25 iterations. The loads of p[column[k]] are the irregular ones. */
#include "kernel.h"

enum { ITERATIONS = 25, NAS_STEPS = 15, MAX_NONZERO = 12 };
static const double condition = 0.1;

static const struct shape {
    int n, nonzero, steps;
    double shift;
    double zeta; /* what NAS published for 15 steps */
} shapes[] = {
    {1400, 7, 50, 10, 8.5971775078648},
    {7000, 8, 70, 12, 10.362595087124},
    {14000, 11, 60, 20, 17.130235054029},
};

struct vector { /* one of the v_k */
    int length, place[MAX_NONZERO];
    double value[MAX_NONZERO], weight;
};

struct matrix { /* compressed rows */
    int n, *start, *column;
    double *value;
};

/* -- The matrix ------------------------------------------------------------------------------ */

static int find(const struct vector *v, int place)
{
    int i = 0;
    while (i < v->length && v->place[i] != place)
        i++;
    return i;
}

/* Random elements at random places; a place outside or taken is drawn again, its value too. Element k is 1/2. */
static void make_vector(struct vector *v, int k, const struct shape *s, uint64_t *seed)
{
    int range = 1;
    while (range < s->n)
        range *= 2;
    v->weight = pow(condition, (double)k / s->n);
    v->length = 0;
    while (v->length < s->nonzero) {
        double value = nas_next(seed);
        int place = (int)nas_below(seed, range);
        if (place >= s->n || find(v, place) < v->length)
            continue;
        v->place[v->length] = place;
        v->value[v->length++] = value;
    }
    int at = find(v, k);
    v->place[at] = k;
    v->value[at] = 0.5;
    v->length += at == v->length;
}

static struct vector *make_vectors(const struct shape *s)
{
    uint64_t seed = NAS_SEED;
    struct vector *v = kernel_alloc(s->n, sizeof *v);
    nas_next(&seed); /* NAS spends one number before */
    for (int k = 0; k < s->n; k++)
        make_vector(&v[k], k, s, &seed);
    return v;
}

/* For each place the vectors that have an element there, as lists through one array: head, then next. */
struct uses {
    int *head, *next; /* a use is vector * MAX_NONZERO + element, or -1 */
};

static struct uses list_uses(const struct vector *v, int n)
{
    struct uses u;
    u.head = kernel_alloc(n, sizeof *u.head);
    u.next = kernel_alloc((size_t)n * MAX_NONZERO, sizeof *u.next);
    for (int i = 0; i < n; i++)
        u.head[i] = -1;
    for (int k = n - 1; k >= 0; k--)
        for (int e = 0; e < v[k].length; e++) {
            u.next[k * MAX_NONZERO + e] = u.head[v[k].place[e]];
            u.head[v[k].place[e]] = k * MAX_NONZERO + e;
        }
    return u;
}

/* Add up row i in the dense array sum; returns how many columns it has, listed in touched. */
static int sum_row(const struct vector *v, const struct uses *u, int i, double *sum, int *touched)
{
    int count = 0;
    for (int use = u->head[i]; use >= 0; use = u->next[use]) {
        const struct vector *w = &v[use / MAX_NONZERO];
        double factor = w->weight * w->value[use % MAX_NONZERO];
        for (int e = 0; e < w->length; e++) {
            if (sum[w->place[e]] == 0)
                touched[count++] = w->place[e];
            sum[w->place[e]] += factor * w->value[e];
        }
    }
    return count;
}

static struct matrix new_matrix(int n, size_t entries)
{
    struct matrix a = {.n = n};
    a.start = kernel_alloc(n + 1, sizeof *a.start);
    a.column = kernel_alloc(entries, sizeof *a.column);
    a.value = kernel_alloc(entries, sizeof *a.value);
    return a;
}

static void free_matrix(struct matrix *a)
{
    free(a->start);
    free(a->column);
    free(a->value);
}

/* The matrix row by row, the columns of a row in any order. */
static struct matrix sum_rows(const struct vector *v, const struct shape *s)
{
    int n = s->n, end = 0;
    struct uses u = list_uses(v, n);
    struct matrix a = new_matrix(n, (size_t)n * MAX_NONZERO * MAX_NONZERO);
    double *sum = kernel_alloc(n, sizeof *sum);
    int *touched = kernel_alloc(n, sizeof *touched);
    for (int i = 0; i < n; i++) {
        int count = sum_row(v, &u, i, sum, touched);
        sum[i] += condition - s->shift;
        for (int t = 0; t < count; t++) {
            a.column[end] = touched[t];
            a.value[end++] = sum[touched[t]];
            sum[touched[t]] = 0;
        }
        a.start[i + 1] = end;
    }
    free(u.head);
    free(u.next);
    free(sum);
    free(touched);
    return a;
}

/* The same symmetric matrix with sorted rows: row i is handed out as column i. */
static struct matrix sort_rows(const struct matrix *from)
{
    struct matrix a = new_matrix(from->n, from->start[from->n]);
    int *fill = kernel_alloc(a.n, sizeof *fill);
    memcpy(a.start, from->start, (a.n + 1) * sizeof *a.start);
    memcpy(fill, from->start, a.n * sizeof *fill);
    for (int i = 0; i < a.n; i++)
        for (int k = from->start[i]; k < from->start[i + 1]; k++) {
            int at = fill[from->column[k]]++;
            a.column[at] = i;
            a.value[at] = from->value[k];
        }
    free(fill);
    return a;
}

/* -- The solver ------------------------------------------------------------------------------ */

static void multiply(const struct matrix *a, const double *restrict p, double *restrict q)
{
    for (int i = 0; i < a->n; i++) {
        double sum = 0;
        for (int k = a->start[i]; k < a->start[i + 1]; k++)
            sum += a->value[k] * p[a->column[k]];
        q[i] = sum;
    }
}

static double dot(int n, const double *x, const double *y)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += x[i] * y[i];
    return sum;
}

struct work {
    double *x, *z, *r, *p, *q;
};

/* The first right-hand side is all ones. */
static struct work new_work(int n)
{
    double *m = kernel_alloc((size_t)n * 5, sizeof *m);
    for (int i = 0; i < n; i++)
        m[i] = 1;
    return (struct work){m, m + n, m + 2 * n, m + 3 * n, m + 4 * n};
}

/* Solve A z = x by so many iterations from z = 0. */
static void solve(const struct matrix *a, struct work *w)
{
    int n = a->n;
    memset(w->z, 0, n * sizeof *w->z);
    memcpy(w->r, w->x, n * sizeof *w->r);
    memcpy(w->p, w->x, n * sizeof *w->p);
    double rho = dot(n, w->r, w->r);
    for (int iteration = 0; iteration < ITERATIONS; iteration++) {
        multiply(a, w->p, w->q);
        double alpha = rho / dot(n, w->p, w->q);
        for (int i = 0; i < n; i++) {
            w->z[i] += alpha * w->p[i];
            w->r[i] -= alpha * w->q[i];
        }
        double rho_before = rho;
        rho = dot(n, w->r, w->r);
        double beta = rho / rho_before;
        for (int i = 0; i < n; i++)
            w->p[i] = w->r[i] + beta * w->p[i];
    }
}

/* Make the solution the next right-hand side. */
static void normalise(int n, const double *z, double *x)
{
    double scale = 1 / sqrt(dot(n, z, z));
    for (int i = 0; i < n; i++)
        x[i] = scale * z[i];
}

/* -- The check ------------------------------------------------------------------------------- */

/* Compute x - A z afresh, with A never put together: from the vectors it is made of. */
static void check_solution(const struct vector *v, const struct shape *s, struct work *w)
{
    for (int i = 0; i < s->n; i++)
        w->r[i] = w->x[i] - (condition - s->shift) * w->z[i];
    for (int k = 0; k < s->n; k++) {
        double product = 0;
        for (int e = 0; e < v[k].length; e++)
            product += v[k].value[e] * w->z[v[k].place[e]];
        for (int e = 0; e < v[k].length; e++)
            w->r[v[k].place[e]] -= v[k].weight * product * v[k].value[e];
    }
    double rest = sqrt(dot(s->n, w->r, w->r));
    kernel_expect(rest < 1e-12, "the residual is %g", rest);
}

int main(int argc, char **argv)
{
    const struct shape *s = &shapes[kernel_begin("cg", argc, argv)];
    struct vector *v = make_vectors(s);
    struct matrix rows = sum_rows(v, s), a = sort_rows(&rows);
    struct work w = new_work(s->n);
    double zeta = 0;
    free_matrix(&rows);
    for (int step = 1; step <= s->steps; step++) {
        if (step > 1)
            normalise(s->n, w.z, w.x);
        solve(&a, &w);
        if (step == 1 || step == s->steps)
            check_solution(v, s, &w);
        zeta = s->shift + 1 / dot(s->n, w.x, w.z);
        kernel_expect(step != NAS_STEPS || is_near(zeta, s->zeta, 1e-11),
                      "zeta is %.13g after 15 steps, published is %.13g", zeta, s->zeta);
    }
    return kernel_verified("n=%d entries=%d steps=%d zeta=%.11g", s->n, a.start[s->n], s->steps,
                           zeta);
}
