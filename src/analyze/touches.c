/* SPDX-License-Identifier: MIT */
/* From batches to touches. The instructions at which a unit comes to another line are looked for once; a record then is a merge of
 * these with its references. */
#include "analyze/touches.h"
#include "base/err.h"
#include "wire/wire.h"

#include <stdlib.h>
#include <string.h>

enum { NO_LINE = -1 };

void touches_init(struct touches *t, const struct unit_table *table, u32 code_line, u32 data_line)
{
    *t = (struct touches){.table = table,
                          .code_log2 = (u32)__builtin_ctz(code_line),
                          .data_log2 = (u32)__builtin_ctz(data_line)};
    touches_reset(t);
}

void touches_fini(struct touches *t)
{
    vec_fini(&t->list);
    vec_fini(&t->lines);
    vec_fini(&t->executed);
    vec_fini(&t->insns);
    vec_fini(&t->refs);
    free(t->units);
}

void touches_reset(struct touches *t)
{
    t->code_line = t->data_line = (u64)NO_LINE;
    t->shown = 0;
}

/* -- Units ------------------------------------------------------------------------------------- */

static void add_lines(struct touches *t, struct touch_lines *to, const struct unit *u)
{
    u64 line = (u64)NO_LINE;
    to->first = (u32)t->lines.n;
    for (u32 i = 0; i < u->n_insns; i++) {
        const struct unit_insn *in = &t->table->insns.v[u->insn0 + i];
        u64 first = in->pc >> t->code_log2, last = (in->pc + in->len - 1) >> t->code_log2;
        if (first != line || last != line)
            vec_push(&t->lines, ((struct touch_insn){in->pc, (u->insn0 + i) | TOUCH_CODE, (u16)i, in->len}));
        line = last;
    }
    to->n = (u32)t->lines.n - to->first;
}

static struct touch_lines lines_of(struct touches *t, u32 unit)
{
    if (unit >= t->n_units) {
        size_t n = MAX(2 * t->n_units, (size_t)unit + 1024);
        t->units = realloc(t->units, n * sizeof *t->units);
        check(t->units != NULL);
        memset(t->units + t->n_units, 0, (n - t->n_units) * sizeof *t->units);
        t->n_units = n;
    }
    struct touch_lines *x = &t->units[unit];
    if (!x->n)
        add_lines(t, x, &t->table->units.v[unit]);
    return *x;
}

/* -- Counts ------------------------------------------------------------------------------------ */

/* v[i] of an array that grows with the table. */
#define COUNT(vec, i)                                                          \
    do {                                                                       \
        if ((i) >= (vec)->n) {                                                 \
            size_t more_ = (size_t)(i) + 4096 - (vec)->n;                      \
            memset(vec_grow(vec, more_), 0, more_ * sizeof *(vec)->v);         \
        }                                                                      \
        (vec)->v[i]++;                                                         \
    } while (0)

static bool counted_by_exit(const struct ref *r)
{
    return r->op == REF_PLAIN;
}

void touches_counts(const struct touches *t, u64 *insns, u64 *refs)
{
    const struct unit_table *x = t->table;
    for (size_t k = 0; k < t->executed.n && k < x->exits.n; k++) {
        const struct unit_exit *e = &x->exits.v[k];
        const struct unit *u = &x->units.v[e->unit];
        for (u32 i = 0; t->executed.v[k] && i < e->insns; i++)
            insns[u->insn0 + i] += t->executed.v[k];
        for (u32 j = 0; t->executed.v[k] && j < e->refs; j++)
            if (counted_by_exit(&x->refs.v[u->ref0 + j]))
                refs[u->ref0 + j] += t->executed.v[k];
    }
    for (size_t i = 0; i < t->insns.n && i < x->insns.n; i++)
        insns[i] += t->insns.v[i];
    for (size_t j = 0; j < t->refs.n && j < x->refs.n; j++)
        refs[j] += t->refs.v[j];
}

/* -- Records ----------------------------------------------------------------------------------- */

/* Each is written, and stays if it comes to another line: a branch would be mispredicted half of the time. */
static inline struct touch *touch(struct touch *to, struct touch t, u32 log2, u64 *line)
{
    u64 first = t.address >> log2, last = (t.address + t.size - 1) >> log2;
    bool stays = (first ^ *line) | (last ^ *line);
    *to = t;
    *line = last;
    return to + stays;
}

/* What a record ran: the first instructions of a unit, those excepted that an earlier batch has shown. */
struct ran {
    u32 unit, insns, from;
    bool partial;
};

static bool what_ran(const struct touches *t, const struct batch *b, const u8 *records, u32 i,
                     struct ran *r)
{
    u32 id = b->exit[i];
    if (id >= FIRST_EXIT_ID) {
        const struct unit_exit *x = &t->table->exits.v[id - FIRST_EXIT_ID];
        *r = (struct ran){.unit = x->unit, .insns = x->insns};
        return true;
    }
    if (id != RECORD_partial)
        return false;
    u64 slot;
    memcpy(&slot, records + b->record_at[i] + RECORD_SLOTS_AT, 8);
    struct partial p = partial_of(slot);
    *r = (struct ran){.unit = p.unit, .insns = p.insns, .partial = true};
    return true;
}

/* The references of record i, each behind the lines of code up to its instruction; how many instructions were shown. */
static u32 touch_record(struct touches *t, const struct batch *b, u32 i, const struct ran *r,
                        bool unfinished)
{
    const struct touch_lines x = lines_of(t, r->unit);
    const struct touch_insn *in = t->lines.v + x.first, *end = in + x.n;
    const struct ref *refs = t->table->refs.v;
    const u32 most = b->first[i + 1] - b->first[i] + x.n;
    struct touch *to = vec_grow(&t->list, most);
    u64 code_line = t->code_line, data_line = t->data_line;
    u32 shown = r->from;
    while (in < end && in->insn < r->from)
        in++;
    for (u32 j = b->first[i]; j < b->first[i + 1]; j++) {
        u32 id = b->ref[j], size = 0;
        if (id & BATCH_ODD) {
            size = b->odd[id & ~BATCH_ODD].size;
            id = b->odd[id & ~BATCH_ODD].ref;
        }
        const struct ref *s = &refs[id];
        for (; in < end && in->insn <= s->insn; in++)
            to = touch(to, (struct touch){in->pc, in->id, in->len}, t->code_log2, &code_line);
        if (!counted_by_exit(s) || r->partial)
            COUNT(&t->refs, id);
        to = touch(to, (struct touch){b->addr[j], id, size ? size : s->size}, t->data_log2,
                   &data_line);
        shown = s->insn + 1u;
    }
    for (; !unfinished && in < end && in->insn < r->insns; in++)
        to = touch(to, (struct touch){in->pc, in->id, in->len}, t->code_log2, &code_line);
    t->list.n = (size_t)(to - t->list.v);
    t->code_line = code_line;
    t->data_line = data_line;
    return unfinished ? shown : r->insns;
}

static void count_record(struct touches *t, u32 id, const struct ran *r)
{
    if (!r->partial) {
        COUNT(&t->executed, id - FIRST_EXIT_ID);
        return;
    }
    u32 insn0 = t->table->units.v[r->unit].insn0;
    for (u32 k = 0; k < r->insns; k++)
        COUNT(&t->insns, insn0 + k);
}

void touches_add(struct touches *t, const struct batch *b, const u8 *records, bool continues,
                 bool unfinished)
{
    for (u32 i = 0; i < b->n_records; i++) {
        struct ran r;
        bool goes_on = unfinished && i + 1 == b->n_records;
        if (!what_ran(t, b, records, i, &r))
            continue;
        r.from = i == 0 && continues ? t->shown : 0;
        u32 shown = touch_record(t, b, i, &r, goes_on);
        t->shown = goes_on ? shown : 0;
        if (!goes_on)
            count_record(t, b->exit[i], &r);
    }
    t->instructions += b->insns;
    t->loads += b->loads;
    t->stores += b->stores;
    t->modifies += b->modifies;
}
