/* SPDX-License-Identifier: MIT */
/* Code that is recorded only while it is new.
 *
 * Each head of a unit that is selected has a count in the shared pages: how often it is yet to be recorded. The recording unit counts down, and when
 * nothing is left goes on in its quiet version; the quiet one goes to the recording one only while there is something left. So nobody has to be asked, and
 * nothing is recorded more often than it should because somebody was late. What is only reached behind a branch in a unit that is
 * familiar is new: a quiet path ends before it. When a count is found at 0, the quiet unit is made anew, without the question, and its path
 * goes on through all that is familiar.
 *
 * Behind what is new, some familiar units are recorded, too: which function was called is known then, and where it returned to; and going from one
 * version to the other takes longer than recording some.
 *
 * A flush forgets units, but not what is familiar, unless it may change with nobody looking; code that goes or changes is new when it comes back. */
#include "translate/state.h"

#include <stdlib.h>

static struct novel *probe(struct novel *v, u32 cap, u64 pc)
{
    u32 i = (u32)((pc * 0x9e3779b97f4a7c15ull) >> 32) & (cap - 1);
    while (v[i].pc && v[i].pc != pc)
        i = (i + 1) & (cap - 1);
    return &v[i];
}

static void grow(struct novelty *x)
{
    u32 cap = x->cap ? x->cap * 2 : 4096;
    struct novel *v = calloc(cap, sizeof *v);
    struct counted *counted = realloc(x->counted, cap / 2 * sizeof *counted);
    check(v != NULL && counted != NULL);
    for (u32 i = 0; i < x->cap; i++)
        if (x->v[i].pc)
            *probe(v, cap, x->v[i].pc) = x->v[i];
    free(x->v);
    x->v = v;
    x->cap = cap;
    x->counted = counted;
}

static u8 *count_at(const struct translator *t, u32 i)
{
    return t->config.wire + WIRE_NOVEL_OFF + i;
}

u32 novel_count(struct translator *t, u64 pc)
{
    struct novelty *x = &t->novelty;
    if (x->n * 2 >= x->cap)
        grow(x);
    struct novel *at = probe(x->v, x->cap, pc);
    if (!at->pc && x->n == WIRE_NOVEL_SIZE)
        return 0;
    if (!at->pc) {
        x->counted[x->n] = (struct counted){.pc = pc};
        store_relaxed(count_at(t, x->n), (u8)t->config.novel);
        *at = (struct novel){pc, x->n++};
    }
    return WIRE_NOVEL_OFF + at->i;
}

bool novel_is_familiar(const struct translator *t, u64 pc)
{
    const struct novelty *x = &t->novelty;
    const struct novel *at = x->cap ? probe(x->v, x->cap, pc) : NULL;
    return at && at->pc && !load_relaxed(count_at(t, at->i));
}

static void begin_anew(struct translator *t, u32 i)
{
    t->novelty.counted[i].settled = false;
    store_relaxed(count_at(t, i), (u8)t->config.novel);
}

void novel_forget(struct translator *t, u32 unit)
{
    const struct novelty *x = &t->novelty;
    const struct unit *u = &t->table.units.v[unit];
    for (u32 i = u->insn0; x->n && i < u->insn0 + u->n_insns; i++) {
        const struct novel *at = probe(x->v, x->cap, t->table.insns.v[i].pc);
        if (at->pc)
            begin_anew(t, at->i);
    }
}

void novel_forget_range(struct translator *t, u64 start, u64 end)
{
    for (u32 i = 0; i < t->novelty.n; i++)
        if (t->novelty.counted[i].pc >= start && t->novelty.counted[i].pc < end)
            begin_anew(t, i);
}

void novel_forget_volatile(struct translator *t)
{
    for (u32 i = 0; i < t->novelty.n; i++)
        if (volatile_at(t, t->novelty.counted[i].pc))
            begin_anew(t, i);
}

u64 novel_next(struct translator *t)
{
    struct novelty *x = &t->novelty;
    while (x->next < x->n) {
        struct counted *c = &x->counted[x->next];
        if (load_relaxed(count_at(t, x->next++)) || c->settled)
            continue;
        c->settled = true;
        return c->pc;
    }
    return 0;
}

void novel_fini(struct translator *t)
{
    free(t->novelty.v);
    free(t->novelty.counted);
    t->novelty = (struct novelty){0};
}
