/* SPDX-License-Identifier: MIT */
/* Units that come back. What was dropped and is translated again, unchanged, gets the numbers it had: an exit's
 * number says what ran, not where in the cache. Otherwise a full cache, or a program that changes its code back and
 * forth, would use up the numbers, and fill the trace with the same units. */
#include "translate/state.h"

#include <stdlib.h>
#include <string.h>

static u64 mix(u64 h, u64 pc, const u8 *bytes, u32 len)
{
    h = (h ^ pc) * 0x9e3779b97f4a7c15ull;
    for (u32 i = 0; i < len; i++)
        h = (h ^ bytes[i]) * 0x100000001b3ull;
    return h ^ h >> 29;
}

static u32 hash_of_unit(const struct translator *t, u32 unit)
{
    const struct unit_table *x = &t->table;
    const struct unit *u = &x->units.v[unit];
    u64 h = t->quiet[unit];
    for (u32 i = u->insn0; i < u->insn0 + u->n_insns; i++)
        h = mix(h, x->insns.v[i].pc, &x->code.v[x->insns.v[i].bytes], x->insns.v[i].len);
    return (u32)h;
}

static u32 hash_of_builder(const struct builder *b)
{
    u64 h = b->quiet;
    for (u32 i = 0; i < b->n_insns; i++)
        h = mix(h, b->insn[i].pc, b->insn[i].bytes, b->insn[i].len);
    return (u32)h;
}

/* Of two with the same hash the later one stays. */
static struct number *probe(struct number *v, u32 cap, u32 hash)
{
    u32 i = hash & (cap - 1);
    while (v[i].unit && v[i].hash != hash)
        i = (i + 1) & (cap - 1);
    return &v[i];
}

static void grow(struct numbers *x)
{
    u32 cap = x->cap ? x->cap * 2 : 4096;
    struct number *v = calloc(cap, sizeof *v);
    check(v != NULL);
    for (u32 i = 0; i < x->cap; i++)
        if (x->v[i].unit)
            *probe(v, cap, x->v[i].hash) = x->v[i];
    free(x->v);
    x->v = v;
    x->cap = cap;
}

/* Take in the units that were made since the last time. Most programs never come here. */
static void catch_up(struct translator *t)
{
    struct numbers *x = &t->numbers;
    for (; x->n < t->table.units.n; x->n++) {
        if (x->n * 2 >= x->cap)
            grow(x);
        u32 hash = hash_of_unit(t, x->n);
        *probe(x->v, x->cap, hash) = (struct number){.hash = hash, .unit = x->n + 1};
    }
}

u32 numbers_find(struct builder *b)
{
    struct translator *t = b->t;
    if (!t->stats.flushes && !t->stats.dropped)
        return 0;
    catch_up(t);
    return t->numbers.cap ? probe(t->numbers.v, t->numbers.cap, hash_of_builder(b))->unit : 0;
}

static bool has_insns(const struct builder *b, const struct unit *u)
{
    const struct unit_table *x = &b->t->table;
    const struct unit_insn *in = &x->insns.v[u->insn0];
    for (u32 i = 0; i < u->n_insns; i++)
        if (in[i].pc != b->insn[i].pc || in[i].len != b->insn[i].len ||
            in[i].refs != b->insn_refs[i] || in[i].watch != b->insn_watch[i] ||
            in[i].slot != b->insn_slot[i] ||
            memcmp(&x->code.v[in[i].bytes], b->insn[i].bytes, in[i].len))
            return false;
    return true;
}

bool numbers_hold(struct builder *b, u32 unit)
{
    const struct unit_table *x = &b->t->table;
    const struct unit *u = &x->units.v[unit];
    for (u32 k = 0; k < b->n_exits; k++)
        b->exit[k].unit = unit;
    return u->pc == b->pc && b->t->quiet[unit] == b->quiet && u->n_insns == b->n_insns && u->n_refs == b->n_refs &&
           u->n_exits == b->n_exits && has_insns(b, u) &&
           !memcmp(&x->refs.v[u->ref0], b->ref, b->n_refs * sizeof b->ref[0]) &&
           !memcmp(&x->exits.v[u->exit0], b->exit, b->n_exits * sizeof b->exit[0]);
}
