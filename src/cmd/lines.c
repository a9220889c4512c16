/* SPDX-License-Identifier: MIT */
/* Events on their way out: the buffer, the characters, the walk; and lackey's lines, which two
 * commands print. */
#include "cmd/lines.h"
#include "cmd/cmd.h"
#include "decode/contents.h"
#include "wire/wire.h"

#include <stdlib.h>
#include <string.h>

enum { BUFFER_SIZE = 1 << 20 };

/* -- Characters ------------------------------------------------------------------------------ */

char *put_text(char *p, const char *s)
{
    size_t n = strlen(s);
    memcpy(p, s, n);
    return p + n;
}

char *put_dec(char *p, u64 x)
{
    char digits[20];
    int n = 0;
    do
        digits[n++] = (char)('0' + x % 10);
    while (x /= 10);
    while (n)
        *p++ = digits[--n];
    return p;
}

char *put_hex(char *p, u64 x, int least)
{
    static const char digit[] = "0123456789abcdef";
    int n = x ? (67 - __builtin_clzll(x)) / 4 : 1;
    n = MAX(n, least);
    for (int i = n - 1; i >= 0; i--, x >>= 4)
        p[i] = digit[x & 15];
    return p + n;
}

static char *put_contents(char *p, const struct contents *c, const char *prefix, const char *nothing)
{
    if (c->state != CONTENTS_known)
        return put_text(p, c->state == CONTENTS_unknown ? "?" : nothing);
    p = put_text(p, prefix);
    for (u32 i = c->size; i-- > 0;)
        p = put_hex(p, c->bytes[i], 2);
    return p;
}

char *put_values(char *p, const struct place *at, const char *separator, const char *prefix, const char *nothing)
{
    struct contents c;
    contents_read(&at->walk->events, at->record, at->j, &c);
    p = put_contents(p, &c, prefix, nothing);
    contents_written(&at->walk->events, at->record, at->j, &c);
    return put_contents(put_text(p, separator), &c, prefix, nothing);
}

/* -- Lines ----------------------------------------------------------------------------------- */

void lines_init(struct lines *l, int fd, const char *where)
{
    *l = (struct lines){.buf = malloc(BUFFER_SIZE), .limit = UINT64_MAX, .fd = fd, .where = where};
    if (!l->buf)
        die("there is not enough memory for the output");
}

void lines_fini(struct lines *l)
{
    free(l->buf);
}

static void flush(struct lines *l)
{
    write_all(l->fd, l->where, l->buf, l->n);
    l->n = 0;
}

char *line_begin(struct lines *l)
{
    if (l->n + LINE_LIMIT > BUFFER_SIZE)
        flush(l);
    return l->buf + l->n;
}

bool line_commit(struct lines *l, char *p)
{
    l->n = (size_t)(p - l->buf);
    return ++l->count != l->limit;
}

bool line_end(struct lines *l, char *p)
{
    *p++ = '\n';
    return line_commit(l, p);
}

void lines_head(struct lines *l, const char *s)
{
    l->n = (size_t)(put_text(line_begin(l), s) - l->buf);
}

/* -- Lackey ---------------------------------------------------------------------------------- */

static bool lackey_line(struct lines *l, const char *what, u64 address, u32 size)
{
    char *p = line_begin(l);
    memcpy(p, what, 3);
    p = put_hex(p + 3, address, 8);
    *p++ = ',';
    return line_end(l, put_dec(p, size));
}

static bool lackey_insn(struct lines *l, const struct place *at)
{
    return lackey_line(l, "I  ", at->insn->pc, at->insn->len);
}

static bool lackey_ref(struct lines *l, const struct place *at, u8 kind, u64 address, u32 size)
{
    static const char *const words[] = {" L ", " S ", " M "};
    (void)at;
    return lackey_line(l, words[kind], address, size);
}

const struct form lackey_form = {.insn = lackey_insn, .ref = lackey_ref};

/* -- The walk -------------------------------------------------------------------------------- */

/* Which chunks are walked, and what is left out of the first of them. */
struct visit {
    struct trace *trace;
    struct wanted what;
    bool arrived; /* at a chunk that has what comes first */
    bool begun;   /* ... and at that itself */
    u64 passed;   /* records or instructions before the chunk, and before the current record */
};

/* Visit one execution of a unit, from its instruction `first` on: each instruction, then its references. */
static bool visit_record(struct lines *l, const struct walk *w, u32 i, u32 first,
                         const struct form *f)
{
    const struct batch *b = w->batch;
    const struct unit_table *t = w->table;
    const struct unit_insn *insns = &t->insns.v[t->units.v[walk_run(w, i).unit].insn0];
    struct share share = walk_share(w, i);
    struct place at = {.walk = w, .record = i, .thread = walk_thread(w)};
    u32 j = b->first[i], end = b->first[i + 1], size;
    for (; j < end && walk_ref(w, j, &size)->insn < first; j++)
        ;
    for (u32 k = MAX(share.from, first);; k++) {
        for (; j < end; j++) {
            const struct ref *r = walk_ref(w, j, &size);
            if (r->insn >= k)
                break;
            at.j = j;
            at.k = r->insn;
            at.insn = &insns[r->insn];
            if (!f->ref(l, &at, r->kind, b->addr[j], size))
                return false;
        }
        if (k >= share.to)
            return true;
        at.k = k;
        at.insn = &insns[k];
        if (!f->insn(l, &at))
            return false;
    }
}

/* The time stamp of a guest's record: its last slot. Only a partial record has none. */
static bool has_come(const struct walk *w, u32 i, u64 time)
{
    size_t size;
    (void)walk_record(w, i, &size);
    return w->batch->exit[i] != RECORD_partial &&
           walk_slot(w, i, (u32)(size - RECORD_SLOTS_AT) / 8 - 1) >= time;
}

/* Does record i come before what is wanted? If not, *first is the instruction to begin with. */
static bool comes_before(struct visit *v, const struct walk *w, u32 i, u32 *first)
{
    bool ran = walk_ran(w, i);
    struct share s = ran ? walk_share(w, i) : (struct share){0};
    u64 from = v->what.from, here = v->passed;
    *first = 0;
    if (v->begun)
        return false;
    switch (v->what.by) {
    case FROM_record:
        v->passed += !(w->events.continues && i == 0);
        v->begun = here >= from;
        break;
    case FROM_instruction:
        v->passed += s.to - s.from;
        v->begun = v->passed > from;
        *first = v->begun ? s.from + (u32)(from - here) : 0;
        break;
    case FROM_time:
        v->begun = !ran && has_come(w, i, from);
    }
    return !v->begun;
}

static bool visit_batch(struct lines *l, struct visit *v, const struct walk *w,
                        const struct form *f)
{
    for (u32 i = 0; i < w->batch->n_records; i++) {
        u32 first;
        if (comes_before(v, w, i, &first))
            continue;
        if (walk_ran(w, i) ? !visit_record(l, w, i, first, f) : f->guest && !f->guest(l, w, i))
            return false;
    }
    return true;
}

static bool is_wanted(const struct trace_piece *p, struct wanted what)
{
    return (what.process == UINT64_MAX || p->process == what.process) &&
           (what.thread == UINT64_MAX || p->chunk.owner == what.thread);
}

/* Whole chunks are left out by what their heads say. */
static bool wants(void *visit, size_t piece)
{
    struct visit *v = visit;
    struct pack_head head;
    struct err ignored; /* whoever loads it will say so */
    if (!is_wanted(&v->trace->pieces.v[piece], v->what))
        return false;
    if (v->arrived || trace_head(v->trace, piece, &head, &ignored))
        return true;
    u64 n = v->what.by == FROM_record ? head.records : head.instructions, from = v->what.from;
    if (v->what.by == FROM_time ? head.last < from : from - v->passed >= n) {
        v->passed += n;
        return false;
    }
    v->begun = v->what.by == FROM_time && head.began >= from;
    return v->arrived = true;
}

void require_wanted(const struct trace *t, struct wanted what)
{
    if (what.process != UINT64_MAX && what.process >= t->processes.n)
        die("%s has no process %lu; gait info shows those it has", t->store.path,
            (unsigned long)what.process);
    if (what.thread != UINT64_MAX && what.thread >= t->threads.n)
        die("%s has no thread %lu; gait info says how many it has", t->store.path,
            (unsigned long)what.thread);
}

void lines_of_trace(struct lines *l, struct trace *t, const struct form *f, struct wanted what)
{
    struct visit v = {.trace = t, .what = what, .arrived = !what.from, .begun = !what.from};
    struct walk w;
    struct err e;
    int more;
    walk_init(&w, t);
    walk_where(&w, wants, &v);
    while ((more = walk_next(&w, &e)) > 0)
        if (!visit_batch(l, &v, &w, f))
            break;
    if (f->end)
        f->end(l);
    flush(l);
    walk_fini(&w);
    if (more < 0)
        die("%s", e.text);
    if (!more)
        report_trouble(t);
    if (!more && !v.begun)
        die("%s ends before what --from says; gait info counts what it has", t->store.path);
}
