/* SPDX-License-Identifier: MIT */
/* A hash table of static references, filled unit by unit as the table of units grows. */
#include "analyze/statics.h"
#include "base/err.h"

#include <stdlib.h>

void statics_init(struct statics *s, const struct unit_table *table)
{
    *s = (struct statics){.table = table};
    check(pthread_mutex_init(&s->lock, NULL) == 0);
}

void statics_fini(struct statics *s)
{
    pthread_mutex_destroy(&s->lock);
    vec_fini(&s->uses);
    vec_fini(&s->refs);
    vec_fini(&s->slots);
}

static bool equal(const struct static_ref *a, const struct static_ref *b)
{
    return a->pc == b->pc && a->operand == b->operand && a->type == b->type;
}

static u32 *slot_of(struct statics *s, const struct static_ref *r)
{
    u64 x = (r->pc * 0x9e3779b97f4a7c15) ^ ((u64)r->operand << 32 | r->type) * 0xbf58476d1ce4e5b9;
    for (u64 i = x ^ x >> 29;; i++) {
        u32 *slot = &s->slots.v[i & (s->slots.n - 1)];
        if (!*slot || equal(&s->refs.v[*slot - 1], r))
            return slot;
    }
}

/* Twice as many slots, at least. */
static void rehash(struct statics *s)
{
    size_t n = MAX(2 * s->slots.n, 1024ul);
    s->slots.n = 0;
    memset(vec_grow(&s->slots, n), 0, n * sizeof *s->slots.v);
    for (u32 i = 0; i < s->refs.n; i++)
        *slot_of(s, &s->refs.v[i]) = i + 1;
}

static struct static_use number_of(struct statics *s, struct static_ref r)
{
    if (2 * s->refs.n >= s->slots.n)
        rehash(s);
    u32 *slot = slot_of(s, &r);
    if (!*slot) {
        vec_push(&s->refs, r);
        *slot = (u32)s->refs.n;
    }
    return (struct static_use){*slot - 1, r.type};
}

static void add_unit(struct statics *s, const struct unit *u)
{
    const struct unit_table *t = s->table;
    u32 operand = 0;
    while (s->uses.n < u->ref0) /* a table from a file may have some that no unit has */
        vec_push(&s->uses, ((struct static_use){0}));
    for (u32 i = 0; i < u->n_refs; i++) {
        const struct ref *r = &t->refs.v[u->ref0 + i];
        operand = i && r[-1].insn == r->insn ? operand + 1 : 0;
        struct static_ref x = {t->insns.v[u->insn0 + r->insn].pc, operand,
                               static_type(r->size, r->kind)};
        vec_push(&s->uses, number_of(s, x));
    }
}

void statics_copy(struct statics *s, struct static_uses *to)
{
    pthread_mutex_lock(&s->lock);
    for (size_t n = load_acquire(&s->table->units.n); s->n_units < n; s->n_units++)
        add_unit(s, &s->table->units.v[s->n_units]);
    size_t more = s->uses.n - to->of.n;
    struct static_use *at = vec_grow(&to->of, more);
    if (more)
        memcpy(at, s->uses.v + s->uses.n - more, more * sizeof *at);
    pthread_mutex_unlock(&s->lock);
}

struct static_use statics_sized(struct statics *s, u32 ref, u32 size)
{
    pthread_mutex_lock(&s->lock);
    struct static_ref r = s->refs.v[s->uses.v[ref].number];
    r.type = static_type(size, type_kind(r.type));
    struct static_use u = number_of(s, r);
    pthread_mutex_unlock(&s->lock);
    return u;
}
