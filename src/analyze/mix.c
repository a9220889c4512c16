/* SPDX-License-Identifier: MIT */
/* The analysis `mix`: how often each kind of instruction ran, which registers it used, how much memory it touched.
 *
 * Nearly all follows from how often each exit was passed, so little is done while events come. Only references of special forms, of
 * which there are as many as it happens, are counted one by one, and so are those of records that were left in their middle. */
#include "analyze/analysis.h"
#include "analyze/mix.h"
#include "analyze/passes.h"
#include "wire/wire.h"

#include <stdlib.h>
#include <string.h>

struct mix_memory {
    struct mix *mix;
    u32 number;
    const struct unit_table *table;
    struct passes passes;
    VEC(u64) refs; /* by number in the table: what passes do not tell */
};

/* What an exit's references are; 0: not yet known. */
enum { EXIT_ONCE = 1, EXIT_SPECIAL };

struct mix_work {
    const struct unit_table *table;
    struct passes passes;
    VEC(u8) exits;
    VEC(u64) refs;
    VEC(struct mix_size) odd; /* by size: references whose size is only known when they are made */
    u64 records;
};

/* -- The study ---------------------------------------------------------------------------------- */

static void *mix_make(void)
{
    struct mix *m = zeros(1, sizeof *m);
    m->spots.n_counts = MIX_COUNTS;
    return m;
}

static int mix_set(void *mix, const char *option, const char *value, struct err *e)
{
    struct mix *m = mix;
    (void)option; /* there is one */
    return spots_by(&m->spots, value, e);
}

static void mix_drop(void *mix)
{
    struct mix *m = mix;
    spots_fini(&m->spots);
    vec_fini(&m->sizes);
    free(m);
}

/* -- Events ------------------------------------------------------------------------------------- */

static void *mix_memory(void *mix, u32 number, const struct unit_table *t)
{
    struct mix_memory *x = zeros(1, sizeof *x);
    *x = (struct mix_memory){.mix = mix, .number = number, .table = t};
    return x;
}

static void *mix_work(void *memory)
{
    const struct mix_memory *x = memory;
    struct mix_work *w = zeros(1, sizeof *w);
    w->table = x->table;
    return w;
}

static void mix_open(void *work, u32 thread)
{
    (void)work, (void)thread;
}

static bool is_special(struct mix_work *w, u32 exit)
{
    vec_reach(&w->exits, exit);
    if (!w->exits.v[exit]) {
        const struct unit_exit *x = &w->table->exits.v[exit];
        const struct ref *r = &w->table->refs.v[w->table->units.v[x->unit].ref0];
        w->exits.v[exit] = EXIT_ONCE;
        for (u32 j = 0; j < x->refs; j++)
            if (!ref_is_made_once(&r[j]))
                w->exits.v[exit] = EXIT_SPECIAL;
    }
    return w->exits.v[exit] == EXIT_SPECIAL;
}

/* The references of record i that passes do not tell of. */
static void count_refs(struct mix_work *w, const struct batch *b, u32 i, bool partial)
{
    for (u32 j = b->first[i]; j < b->first[i + 1]; j++) {
        u32 id = b->ref[j];
        if (id & BATCH_ODD) {
            const u32 size = b->odd[id & ~BATCH_ODD].size;
            id = b->odd[id & ~BATCH_ODD].ref;
            vec_reach(&w->odd, size);
            w->odd.v[size].made[w->table->refs.v[id].kind]++;
        }
        if (!partial && ref_is_made_once(&w->table->refs.v[id]))
            continue;
        vec_reach(&w->refs, id);
        w->refs.v[id]++;
    }
}

static void mix_add(void *work, const struct events *e)
{
    struct mix_work *w = work;
    const struct batch *b = e->batch;
    struct ran r;
    for (u32 i = 0; i < b->n_records; i++) {
        if (!events_ran(e, i, &r))
            continue;
        if (r.partial || is_special(w, b->exit[i] - FIRST_EXIT_ID))
            count_refs(w, b, i, r.partial);
        if (e->unfinished && i + 1 == b->n_records)
            continue;
        passes_count(&w->passes, e, i, &r);
        w->records++;
    }
}

static void mix_merge(void *memory, void *work)
{
    struct mix_memory *x = memory;
    struct mix_work *w = work;
    passes_join(&x->passes, &w->passes);
    for (size_t j = 0; j < w->refs.n; j++)
        if (w->refs.v[j]) {
            vec_reach(&x->refs, j);
            x->refs.v[j] += w->refs.v[j];
        }
    for (size_t size = 0; size < w->odd.n; size++)
        for (u32 kind = 0; kind < ARRAY_LEN(w->odd.v->made); kind++)
            mix_size(x->mix, (u32)size, kind, w->odd.v[size].made[kind]);
    x->mix->records += w->records;
    vec_fini(&w->exits);
    vec_fini(&w->refs);
    vec_fini(&w->odd);
    free(w);
}

/* -- Counts ------------------------------------------------------------------------------------- */

/* One process's code: how often each instruction ran, and each reference was made. */
struct counts {
    u64 *ran, *made;
    u8 *goes; /* enum goes of each instruction that ran */
};

static bool has_run_time_size(const struct ref *r)
{
    return r->op == REF_XSAVE || r->op == REF_XSAVEC || r->op == REF_XRSTOR;
}

static void count_ref(struct mix *m, const struct ref *r, u64 made, u64 *count)
{
    static const u8 column[] = {
        [REF_LOAD] = MIX_loads, [REF_STORE] = MIX_stores, [REF_MODIFY] = MIX_modifies};
    count[column[r->kind]] += made;
    if (!has_run_time_size(r))
        mix_size(m, r->size, r->kind, made);
}

static void count_unit(struct mix_memory *x, struct counts *c, const struct unit *u)
{
    const struct unit_table *t = x->table;
    u32 j = u->ref0;
    for (u32 i = u->insn0; i < u->insn0 + u->n_insns; i++) {
        u64 count[MIX_COUNTS] = {[MIX_insns] = c->ran[i]};
        for (; j < u->ref0 + u->n_refs && t->refs.v[j].insn == i - u->insn0; j++)
            count_ref(x->mix, &t->refs.v[j], c->made[j], count);
        if (!c->ran[i])
            continue;
        const struct nature n = nature_of(t, i);
        c->goes[i] = n.goes;
        mix_insn(x->mix, &n, t->insns.v[i].len, c->ran[i]);
        count[MIX_branches] = n.goes == GOES_cond ? c->ran[i] : 0;
        count[MIX_vectors] = n.vector != VECTOR_none ? c->ran[i] : 0;
        spots_add(&x->mix->spots, x->number, t->insns.v[i].pc, count);
    }
}

/* How many of the first n instructions of a unit were conditional branches that were taken; the last of them led to `target`. */
static u64 taken_in(const struct mix_memory *x, const struct counts *c, u32 insn0, u32 n,
                    u64 target)
{
    const struct unit_insn *in = &x->table->insns.v[insn0];
    u64 taken = 0;
    for (u32 i = 0; i < n; i++) {
        u64 to = i + 1 < n ? in[i + 1].pc : target;
        taken += c->goes[insn0 + i] == GOES_cond && to != in[i].pc + in[i].len;
    }
    return taken;
}

/* A unit that was left in its middle went on along its path up to there. */
static u64 taken_in_parts(const struct mix_memory *x, const struct counts *c, const struct unit *u)
{
    u64 taken = 0;
    for (u32 i = u->insn0; i + 1 < u->insn0 + u->n_insns && i < x->passes.insns.n; i++)
        if (x->passes.insns.v[i])
            taken += x->passes.insns.v[i] * taken_in(x, c, i, 1, x->table->insns.v[i + 1].pc);
    return taken;
}

static u64 count_taken(const struct mix_memory *x, const struct counts *c)
{
    const struct unit_table *t = x->table;
    u64 taken = 0;
    for (size_t k = 0; k < x->passes.exits.n && k < t->exits.n; k++)
        if (x->passes.exits.v[k]) {
            const struct unit_exit *e = &t->exits.v[k];
            taken += x->passes.exits.v[k] *
                     taken_in(x, c, t->units.v[e->unit].insn0, e->insns, e->target);
        }
    for (size_t u = 0; u < t->units.n; u++)
        taken += taken_in_parts(x, c, &t->units.v[u]);
    return taken;
}

static void mix_end(void *memory)
{
    struct mix_memory *x = memory;
    const struct unit_table *t = x->table;
    struct counts c = {.ran = zeros(t->insns.n, sizeof *c.ran),
                       .made = zeros(t->refs.n, sizeof *c.made),
                       .goes = zeros(t->insns.n, sizeof *c.goes)};
    passes_insns(&x->passes, t, c.ran);
    passes_refs(&x->passes, t, c.made);
    for (size_t j = 0; j < x->refs.n && j < t->refs.n; j++)
        c.made[j] += x->refs.v[j];
    for (size_t u = 0; u < t->units.n; u++)
        count_unit(x, &c, &t->units.v[u]);
    x->mix->taken += count_taken(x, &c);
    free(c.ran);
    free(c.made);
    free(c.goes);
    passes_fini(&x->passes);
    vec_fini(&x->refs);
    free(x);
}

static const struct analysis_option options[] = {
    {"by", "function|line|instruction", "what a row stands for"},
    {0},
};

const struct analysis analysis_mix = {
    .name = "mix",
    .options = options,
    .wants_memory = true,
    .make = mix_make,
    .set = mix_set,
    .finish = mix_finish,
    .drop = mix_drop,
    .memory = mix_memory,
    .end = mix_end,
    .work = mix_work,
    .open = mix_open,
    .add = mix_add,
    .merge = mix_merge,
};
