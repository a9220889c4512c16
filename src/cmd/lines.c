/* SPDX-License-Identifier: MIT */
/* Events on their way out: the buffer, the characters, the walk; and lackey's lines, which two
 * commands print. */
#include "cmd/lines.h"
#include "cmd/cmd.h"

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

/* Visit one execution of a unit: each instruction, then its references. */
static bool visit_record(struct lines *l, const struct walk *w, u32 i, const struct form *f)
{
    const struct batch *b = w->batch;
    const struct unit_table *t = w->table;
    const struct unit_insn *insns = &t->insns.v[t->units.v[walk_run(w, i).unit].insn0];
    struct share share = walk_share(w, i);
    struct place at = {.walk = w, .record = i, .thread = walk_thread(w)};
    u32 j = b->first[i], end = b->first[i + 1], size;
    for (u32 k = share.from;; k++) {
        for (; j < end; j++) {
            const struct ref *r = walk_ref(w, j, &size);
            if (r->insn >= k)
                break;
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

static bool visit_batch(struct lines *l, const struct walk *w, const struct form *f)
{
    for (u32 i = 0; i < w->batch->n_records; i++) {
        if (walk_ran(w, i) ? !visit_record(l, w, i, f) : f->guest && !f->guest(l, w, i))
            return false;
    }
    return true;
}

static bool is_wanted(const struct walk *w, struct wanted what)
{
    return (what.process == UINT64_MAX || walk_process(w) == what.process) &&
           (what.thread == UINT64_MAX || walk_thread(w) == what.thread);
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
    struct walk w;
    struct err e;
    int more;
    walk_init(&w, t);
    while ((more = walk_next(&w, &e)) > 0)
        if (is_wanted(&w, what) && !visit_batch(l, &w, f))
            break;
    if (f->end)
        f->end(l);
    flush(l);
    walk_fini(&w);
    if (more < 0)
        die("%s", e.text);
    if (!more)
        report_trouble(t);
}
