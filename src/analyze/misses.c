/* SPDX-License-Identifier: MIT */
/* Many lists of touches, one hierarchy of caches; then what each instruction missed. */
#include "analyze/misses.h"
#include "base/err.h"

#include <stdlib.h>
#include <string.h>

static void *zeros(size_t n, size_t size)
{
    void *p = calloc(MAX(n, 1ul), size);
    check(p != NULL);
    return p;
}

struct misses *misses_new(const struct cache_shape shape[CACHE_LEVELS])
{
    struct misses *m = zeros(1, sizeof *m);
    cache_init(&m->cache, shape);
    check(pthread_mutex_init(&m->lock, NULL) == 0);
    return m;
}

void misses_free(struct misses *m)
{
    cache_fini(&m->cache);
    pthread_mutex_destroy(&m->lock);
    vec_fini(&m->rows);
    free(m);
}

struct misses_memory *misses_begin(struct misses *m, u32 number, const struct unit_table *t)
{
    struct misses_memory *x = zeros(1, sizeof *x);
    x->misses = m;
    x->table = t;
    x->missed.number = number;
    check(pthread_mutex_init(&x->lock, NULL) == 0);
    return x;
}

static struct touch_sets sets_of(const struct cache *c, enum cache_level level)
{
    return (struct touch_sets){c->level[level].sets, c->shape[level].line};
}

struct touches *misses_open(struct misses_memory *x)
{
    struct misses *m = x->misses;
    struct touches *t;
    pthread_mutex_lock(&x->lock);
    if (x->free.n) {
        t = x->free.v[--x->free.n];
        touches_reset(t);
    } else {
        t = zeros(1, sizeof *t);
        touches_init(t, x->table, sets_of(&m->cache, CACHE_I1), sets_of(&m->cache, CACHE_D1));
        vec_push(&x->all, t);
    }
    pthread_mutex_unlock(&x->lock);
    return t;
}

void misses_take(struct misses_memory *x, struct touches *t)
{
    struct misses *m = x->misses;
    pthread_mutex_lock(&m->lock);
    cache_take(&m->cache, &x->missed, t->list.v, t->list.n);
    pthread_mutex_unlock(&m->lock);
    t->list.n = 0;
    pthread_mutex_lock(&x->lock);
    vec_push(&x->free, t);
    pthread_mutex_unlock(&x->lock);
}

/* -- Rows -------------------------------------------------------------------------------------- */

static struct cache_misses missed(const struct cache_misses *v, size_t n, u32 i)
{
    return i < n ? v[i] : (struct cache_misses){0};
}

static void add_ref(struct misses_row *row, const struct misses_memory *x, u32 j, u64 made)
{
    struct cache_misses n = missed(x->missed.refs.v, x->missed.refs.n, j);
    bool writes = x->table->refs.v[j].kind == REF_STORE;
    row->count[writes ? MISSES_writes : MISSES_reads] += made;
    row->count[writes ? MISSES_write_first : MISSES_read_first] += n.first;
    row->count[writes ? MISSES_write_last : MISSES_read_last] += n.last;
}

static void add_unit(struct misses_memory *x, const struct unit *u, const u64 *ran, const u64 *made)
{
    const struct unit_table *t = x->table;
    u32 j = u->ref0;
    for (u32 i = u->insn0; i < u->insn0 + u->n_insns; i++) {
        struct cache_misses n = missed(x->missed.insns.v, x->missed.insns.n, i);
        struct misses_row row = {.process = (u32)x->missed.number, .pc = t->insns.v[i].pc};
        row.count[MISSES_insns] = ran[i];
        row.count[MISSES_insn_first] = n.first;
        row.count[MISSES_insn_last] = n.last;
        for (; j < u->ref0 + u->n_refs && t->refs.v[j].insn == i - u->insn0; j++)
            add_ref(&row, x, j, made[j]);
        if (ran[i])
            vec_push(&x->misses->rows, row);
    }
}

void misses_end(struct misses_memory *x)
{
    const struct unit_table *t = x->table;
    u64 *ran = zeros(t->insns.n, sizeof *ran), *made = zeros(t->refs.n, sizeof *made);
    for (size_t i = 0; i < x->all.n; i++)
        touches_counts(x->all.v[i], ran, made);
    pthread_mutex_lock(&x->misses->lock);
    for (size_t u = 0; u < t->units.n; u++)
        add_unit(x, &t->units.v[u], ran, made);
    pthread_mutex_unlock(&x->misses->lock);
    for (size_t i = 0; i < x->all.n; i++) {
        touches_fini(x->all.v[i]);
        free(x->all.v[i]);
    }
    vec_fini(&x->all);
    vec_fini(&x->free);
    cache_memory_fini(&x->missed);
    pthread_mutex_destroy(&x->lock);
    free(ran);
    free(made);
    free(x);
}

static int by_pc(const void *a, const void *b)
{
    const struct misses_row *x = a, *y = b;
    if (x->process != y->process)
        return x->process < y->process ? -1 : 1;
    return x->pc < y->pc ? -1 : x->pc > y->pc;
}

/* An instruction is in as many units as paths lead through it. */
void misses_sort(struct misses *m)
{
    size_t kept = 0;
    if (m->rows.n)
        qsort(m->rows.v, m->rows.n, sizeof *m->rows.v, by_pc);
    for (size_t i = 0; i < m->rows.n; i++) {
        struct misses_row *last = kept ? &m->rows.v[kept - 1] : NULL;
        if (!last || by_pc(last, &m->rows.v[i])) {
            m->rows.v[kept++] = m->rows.v[i];
            continue;
        }
        for (u32 c = 0; c < MISSES_COUNTS; c++)
            last->count[c] += m->rows.v[i].count[c];
    }
    m->rows.n = kept;
}
