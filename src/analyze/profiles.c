/* SPDX-License-Identifier: MIT */
/* Profiles are made record by record and measured while they are made; nothing of them is kept. */
#include "analyze/profiles.h"
#include "analyze/sequitur.h"
#include "base/err.h"
#include "wire/wire.h"

#include <stdlib.h>

/* What is compressed by itself. CF_bit's bits and targets are two streams: mixed they would compress worse. */
enum stream {
    STREAM_pc4,
    STREAM_pc8,
    STREAM_tags,
    STREAM_pc_tags,
    STREAM_bits,
    STREAM_targets4,
    STREAM_targets8,
    STREAM_addr4,
    STREAM_addr8,
    STREAM_slots,
    STREAM_records,
    STREAM_columns,
    STREAM_LIMIT,
};

/* Sequences that Sequitur gets. */
enum sequence { SEQUENCE_blocks, SEQUENCE_tags, SEQUENCE_pc_tags, SEQUENCE_LIMIT };

struct grammars {
    struct sequitur *sequitur;
    u64 n;     /* symbols in this one */
    u64 bytes; /* of those before it, stored */
    u32 parts;
};

/* What a thread's past means for its next record. */
struct past {
    bool open;         /* the last block goes on */
    bool has_target;   /* where it goes on follows from what was put */
    u8 bits, n_bits;   /* not put yet */
    u16 changed;       /* registers that changed since they were recorded */
    u32 high, pc_high; /* the last tags of both kinds that were put for high halves */
};

struct profiles_work {
    const struct trace *trace;
    u32 with;
    u64 sequitur_limit;
    struct flow *flows; /* one for each process's memory; its table is NULL until it is needed */
    struct squeeze *streams;
    struct grammars grammars[SEQUENCE_LIMIT];
    VEC(struct past) pasts;
};

enum { ALL_REGISTERS = 0xffff, NO_HIGH = -1 };

const char *profile_name(enum profile f)
{
    static const char *const names[] = {
#define PROFILE(name, what) #name,
#include "analyze/profiles.def"
#undef PROFILE
    };
    return names[f];
}

const char *profile_text(enum profile f)
{
    static const char *const texts[] = {
#define PROFILE(name, what) what,
#include "analyze/profiles.def"
#undef PROFILE
    };
    return texts[f];
}

/* -- Beginning --------------------------------------------------------------------------------- */

void profiles_begin(struct profiles *p, const struct trace *t, u32 with, u64 sequitur_limit)
{
    *p = (struct profiles){0};
    struct profiles_work *k = p->work = calloc(1, sizeof *k);
    check(k != NULL);
    k->trace = t;
    k->with = with;
    k->sequitur_limit = sequitur_limit;
    k->flows = calloc(MAX(t->units.n, 1ul), sizeof *k->flows);
    k->streams = malloc(STREAM_LIMIT * sizeof *k->streams);
    check(k->flows && k->streams);
    for (u32 i = 0; i < STREAM_LIMIT; i++)
        squeeze_begin(&k->streams[i], i == STREAM_columns ? with & SQUEEZE_bzip2 : with);
}

static struct past *past_of(struct profiles_work *k, u32 thread)
{
    while (k->pasts.n <= thread)
        vec_push(&k->pasts,
                 ((struct past){
                     .changed = ALL_REGISTERS, .high = (u32)NO_HIGH, .pc_high = (u32)NO_HIGH}));
    return &k->pasts.v[thread];
}

static struct flow *flow_of_batch(struct profiles *p, const struct walk *w)
{
    u32 memory = p->work->trace->processes.v[walk_process(w)].memory;
    struct flow *f = &p->work->flows[memory];
    if (!f->table)
        flow_init(f, w->table, &p->different_blocks);
    return f;
}

/* -- Sequitur ---------------------------------------------------------------------------------- */

static void end_grammar(struct grammars *s)
{
    struct grammar g;
    struct grammar_bytes bytes = {0};
    sequitur_grammar(s->sequitur, &g);
    sequitur_free(s->sequitur);
    grammar_store(&g, &bytes);
    s->bytes += bytes.n;
    s->parts++;
    s->sequitur = NULL;
    vec_fini(&bytes);
    grammar_fini(&g);
}

static void put_symbol(struct profiles_work *k, enum sequence which, u32 symbol)
{
    struct grammars *s = &k->grammars[which];
    if (!(k->with & PROFILES_sequitur))
        return;
    if (s->sequitur && s->n == k->sequitur_limit)
        end_grammar(s);
    if (!s->sequitur) {
        s->sequitur = sequitur_new();
        s->n = 0;
    }
    sequitur_put(s->sequitur, symbol);
    s->n++;
}

/* -- Control flow ------------------------------------------------------------------------------ */

static void put(struct profiles_work *k, enum stream s, u64 x, u32 bytes)
{
    squeeze_number(&k->streams[s], x, bytes);
}

static void put_tag(struct profiles_work *k, enum stream s, enum sequence which, u32 tag)
{
    put(k, s, tag, 2);
    put_symbol(k, which, tag);
}

/* A name of 4 bytes as tags: its low half; before it, if the high half is another than the last one's, 0 and that; and
 * a 0 before a low half of 0. */
static void put_tags(struct profiles_work *k, enum stream s, enum sequence which, u32 *high,
                     u32 name)
{
    if (*high != name >> 16) {
        *high = name >> 16;
        put_tag(k, s, which, 0);
        put_tag(k, s, which, *high);
    }
    if (!(name & 0xffff))
        put_tag(k, s, which, 0);
    put_tag(k, s, which, name & 0xffff);
}

/* Numbers of blocks begin at 0x10000, so that no high half is 0. */
static void put_block(struct profiles *p, struct past *t, struct flow *f, u32 insn)
{
    struct profiles_work *k = p->work;
    u64 pc = f->table->insns.v[insn].pc;
    u32 number = flow_block(f, insn);
    p->blocks++;
    put(k, STREAM_pc4, pc, 4);
    put(k, STREAM_pc8, pc, 8);
    put_symbol(k, SEQUENCE_blocks, number);
    put_tags(k, STREAM_tags, SEQUENCE_tags, &t->high, 0x10000 + number);
    put_tags(k, STREAM_pc_tags, SEQUENCE_pc_tags, &t->pc_high, (u32)pc);
}

static void put_bit(struct profiles *p, struct past *t, bool bit)
{
    p->conditional++;
    t->bits |= (u8)(bit << t->n_bits);
    if (++t->n_bits == 8) {
        put(p->work, STREAM_bits, t->bits, 1);
        t->bits = t->n_bits = 0;
    }
}

static void put_target(struct profiles *p, u64 pc)
{
    p->targets++;
    put(p->work, STREAM_targets4, pc, 4);
    put(p->work, STREAM_targets8, pc, 8);
}

static void count_registers(struct profiles *p, struct past *t, const struct flow_path *x)
{
    p->values += x->values + (u32)__builtin_popcount(x->needs & t->changed);
    t->changed = (u16)((t->changed & ~x->recorded) | x->updated);
}

/* Instructions ran. */
static void take_run(struct profiles *p, struct flow *f, const struct walk *w, u32 i)
{
    struct past *t = past_of(p->work, walk_thread(w));
    struct flow_path x = flow_of(f, w, i);
    if (!x.n_starts)
        return;
    if (!t->has_target)
        put_target(p, f->table->insns.v[f->starts.v[x.starts]].pc);
    for (u32 s = t->open; s < x.n_starts; s++) {
        u32 insn = f->starts.v[x.starts + s];
        if (s && f->insns[insn - 1].end == FLOW_INDIRECT)
            put_target(p, f->table->insns.v[insn].pc);
        put_block(p, t, f, insn);
    }
    for (u32 b = 0; b < x.n_outcomes; b++)
        put_bit(p, t, f->outcomes.v[x.outcomes + b]);
    if (x.end == FLOW_COND)
        put_bit(p, t, x.taken);
    t->open = x.end == FLOW_ON;
    t->has_target = x.end != FLOW_INDIRECT;
    count_registers(p, t, &x);
}

/* A thread goes on at another place, `to`, than the instruction before, which led to `from`, says. */
static void take_jump(struct profiles *p, struct past *t, u64 from, u64 to)
{
    if (!t->has_target)
        put_target(p, from);
    put_target(p, to);
    t->has_target = true;
    t->open = false;
    t->changed = ALL_REGISTERS;
}

static void take_guest_record(struct profiles *p, const struct walk *w, u32 i)
{
    struct past *t = past_of(p->work, walk_thread(w));
    switch (w->batch->exit[i]) {
    case RECORD_signal:
        take_jump(p, t, walk_slot(w, i, 2), walk_slot(w, i, 1));
        return;
    case RECORD_sigreturn:
        take_jump(p, t, 0, walk_slot(w, i, 0));
        return;
    case RECORD_stepped:
        take_jump(p, t, walk_slot(w, i, 0), walk_slot(w, i, 1));
        return;
    case RECORD_lost:
    case RECORD_resumed:
    case RECORD_entered:
        t->has_target = t->open = false;
        t->changed = ALL_REGISTERS;
        return;
    default:
        return;
    }
}

/* -- Values and references --------------------------------------------------------------------- */

/* Time stamps, system calls and the like are no part of DEP_M; the first slot of a partial record says which it is. */
static void take_slots(struct profiles *p, const struct walk *w, u32 i)
{
    size_t size;
    const u8 *record = walk_record(w, i, &size);
    u32 id = w->batch->exit[i], from = id == RECORD_partial, n = record[0];
    if (record_is_state(id))
        n = 3;
    else if (!walk_ran(w, i))
        return;
    p->slots += n - from;
    squeeze_put(&p->work->streams[STREAM_slots], record + RECORD_SLOTS_AT + 8 * from,
                8ul * (n - from));
}

static void take_record(struct profiles *p, struct flow *f, const struct walk *w, u32 i)
{
    size_t size;
    const u8 *record = walk_record(w, i, &size);
    squeeze_put(&p->work->streams[STREAM_records], record, size);
    take_slots(p, w, i);
    if (walk_ran(w, i))
        take_run(p, f, w, i);
    else
        take_guest_record(p, w, i);
}

static void take_references(struct profiles *p, const struct batch *b)
{
    p->references += b->n_refs;
    squeeze_put(&p->work->streams[STREAM_addr8], b->addr, b->n_refs * sizeof *b->addr);
    for (u32 j = 0; j < b->n_refs; j++)
        put(p->work, STREAM_addr4, b->addr[j], 4);
}

void profiles_batch(struct profiles *p, const struct walk *w)
{
    struct flow *f = flow_of_batch(p, w);
    for (u32 i = w->events.continues; i < w->batch->n_records; i++)
        take_record(p, f, w, i);
    take_references(p, w->batch);
    walk_count(w, &p->counts);
    if (w->before + w->at == 0 && !w->events.continues)
        squeeze_put(&p->work->streams[STREAM_columns], w->window.packed->v, w->window.packed->n);
}

/* -- Sizes ------------------------------------------------------------------------------------- */

static struct profile_size size_of(const struct profiles_work *k, enum stream s)
{
    const struct squeeze *q = &k->streams[s];
    return (struct profile_size){q->raw, k->with & SQUEEZE_bzip2 ? q->bzip2 : PROFILES_NO_SIZE,
                                 k->with & SQUEEZE_zstd ? q->zstd : PROFILES_NO_SIZE,
                                 PROFILES_NO_SIZE};
}

static struct profile_size size_of_two(const struct profiles_work *k, enum stream s, enum stream t)
{
    struct profile_size a = size_of(k, s), b = size_of(k, t);
    a.bytes += b.bytes;
    a.bzip2 = a.bzip2 == PROFILES_NO_SIZE ? a.bzip2 : a.bzip2 + b.bzip2;
    a.zstd = a.zstd == PROFILES_NO_SIZE ? a.zstd : a.zstd + b.zstd;
    return a;
}

static struct profile_size with_grammar(struct profile_size size, const struct profiles_work *k,
                                        enum sequence which)
{
    if (k->with & PROFILES_sequitur)
        size.sequitur = k->grammars[which].bytes;
    return size;
}

static struct profile_size stored_size(u64 bytes, u64 stored)
{
    return (struct profile_size){bytes, PROFILES_NO_SIZE, stored, PROFILES_NO_SIZE};
}

/* What the file has; it is compressed already. */
static void find_file_sizes(struct profiles *p)
{
    const struct trace *t = p->work->trace;
    struct profile_size *records = &p->size[PROFILE_records];
    *records = size_of(p->work, STREAM_columns);
    records->zstd = 0;
    for (size_t i = 0; i < t->pieces.n; i++)
        records->zstd += t->pieces.v[i].chunk.stored_size;
    p->size[PROFILE_units] = stored_size(t->units_volume.raw, t->units_volume.stored);
    p->size[PROFILE_file] = stored_size(t->store.size, PROFILES_NO_SIZE);
}

static void find_sizes(struct profiles *p)
{
    const struct profiles_work *k = p->work;
    struct profile_size *size = p->size;
    size[PROFILE_BB_pc4] = with_grammar(size_of(k, STREAM_pc4), k, SEQUENCE_blocks);
    size[PROFILE_BB_pc8] = with_grammar(size_of(k, STREAM_pc8), k, SEQUENCE_blocks);
    size[PROFILE_DEP_C] = with_grammar(size_of(k, STREAM_tags), k, SEQUENCE_tags);
    size[PROFILE_DEP_C_pc] = with_grammar(size_of(k, STREAM_pc_tags), k, SEQUENCE_pc_tags);
    size[PROFILE_CF_bit4] = size_of_two(k, STREAM_bits, STREAM_targets4);
    size[PROFILE_CF_bit8] = size_of_two(k, STREAM_bits, STREAM_targets8);
    size[PROFILE_Mem_addr4] = size_of(k, STREAM_addr4);
    size[PROFILE_Mem_addr8] = size_of(k, STREAM_addr8);
    size[PROFILE_DEP_M_regs] = stored_size(8 * p->values, PROFILES_NO_SIZE);
    size[PROFILE_DEP_M] = size_of(k, STREAM_slots);
    size[PROFILE_REP] = size_of(k, STREAM_records);
    find_file_sizes(p);
}

static void end_streams(struct profiles *p)
{
    struct profiles_work *k = p->work;
    for (size_t i = 0; i < k->pasts.n; i++)
        if (k->pasts.v[i].n_bits)
            put(k, STREAM_bits, k->pasts.v[i].bits, 1);
    for (u32 i = 0; i < STREAM_LIMIT; i++)
        squeeze_end(&k->streams[i]);
    for (u32 i = 0; i < SEQUENCE_LIMIT; i++) {
        if (k->grammars[i].sequitur)
            end_grammar(&k->grammars[i]);
        p->sequitur_parts = MAX(p->sequitur_parts, k->grammars[i].parts);
    }
}

void profiles_end(struct profiles *p)
{
    struct profiles_work *k = p->work;
    end_streams(p);
    find_sizes(p);
    for (size_t i = 0; i < k->trace->units.n; i++)
        if (k->flows[i].table)
            flow_fini(&k->flows[i]);
    free(k->flows);
    free(k->streams);
    vec_fini(&k->pasts);
    free(k);
    p->work = NULL;
}
