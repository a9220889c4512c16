/* SPDX-License-Identifier: MIT */
/* gait dump: a trace's events as lines, for eyes (text) or for comparison (lackey; docs/events.md).
 */
#include "cmd/cmd.h"
#include "decode/walk.h"
#include "wire/wire.h"

#include <stdlib.h>
#include <string.h>

static const struct option options[] = {
    {"limit", required_argument, NULL, 'n'},
    {"format", required_argument, NULL, 'f'},
    {"process", required_argument, NULL, 'p'},
    {0},
};

enum { LINE_LIMIT = 256, OUT_SIZE = 1 << 20 };

/* Lines on their way to standard output. A trace has billions of them: no stdio, no formats. */
struct out {
    char *buf;
    size_t n;
    u64 lines, limit;
    u64 process; /* the only one wanted, or UINT64_MAX */
    bool lackey;
};

/* -- Characters ------------------------------------------------------------------------------ */

static char *put_text(char *p, const char *s)
{
    size_t n = strlen(s);
    memcpy(p, s, n);
    return p + n;
}

static char *put_dec(char *p, u64 x)
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

/* At least `least` hexadecimal digits. */
static char *put_hex(char *p, u64 x, int least)
{
    static const char digit[] = "0123456789abcdef";
    int n = x ? (67 - __builtin_clzll(x)) / 4 : 1;
    n = MAX(n, least);
    for (int i = n - 1; i >= 0; i--, x >>= 4)
        p[i] = digit[x & 15];
    return p + n;
}

/* Move what stands from `from` to p to the right end of a column. */
static char *align_right(char *from, char *p, int width)
{
    int n = (int)(p - from);
    if (n >= width)
        return p;
    memmove(from + width - n, from, (size_t)n);
    memset(from, ' ', (size_t)(width - n));
    return from + width;
}

/* -- Lines ----------------------------------------------------------------------------------- */

static void out_flush(struct out *o)
{
    stdout_write(o->buf, o->n);
    o->n = 0;
}

static char *line_begin(struct out *o)
{
    if (o->n + LINE_LIMIT > OUT_SIZE)
        out_flush(o);
    return o->buf + o->n;
}

/* End a line; false when it was the last one wanted. */
static bool line_end(struct out *o, char *p)
{
    *p++ = '\n';
    o->n = (size_t)(p - o->buf);
    return ++o->lines != o->limit;
}

static bool lackey_line(struct out *o, const char *what, u64 address, u32 size)
{
    char *p = line_begin(o);
    memcpy(p, what, 3);
    p = put_hex(p + 3, address, 8);
    *p++ = ',';
    return line_end(o, put_dec(p, size));
}

static char *put_thread(char *p, u32 thread)
{
    return put_text(align_right(p, put_dec(p, thread), 6), "  ");
}

static bool text_line(struct out *o, u32 thread, u64 pc, const char *what, u64 address, u32 size)
{
    char *p = put_thread(line_begin(o), thread);
    p = put_text(align_right(p, put_hex(p, pc, 1), 16), "  ");
    p = put_text(p, what);
    p = align_right(p, put_hex(p, address, 1), 18);
    return line_end(o, align_right(p, put_dec(p, size), 6));
}

/* -- Events ---------------------------------------------------------------------------------- */

static bool show_insn(struct out *o, u32 thread, const struct unit_insn *in)
{
    if (o->lackey)
        return lackey_line(o, "I  ", in->pc, in->len);
    return text_line(o, thread, in->pc, "exec  ", in->pc, in->len);
}

static bool show_ref(struct out *o, u32 thread, u64 pc, u8 kind, u64 address, u32 size)
{
    static const char *const lackey[] = {" L ", " S ", " M "};
    static const char *const text[] = {"load  ", "store ", "modify"};
    if (o->lackey)
        return lackey_line(o, lackey[kind], address, size);
    return text_line(o, thread, pc, text[kind], address, size);
}

/* A guest's record: its name and its slots. */
static char *put_guest_record(char *p, const struct walk *w, u32 i)
{
    static const struct {
        const char *name;
        u32 slots;
    } records[FIRST_EXIT_ID] = {
#define RECORD(name, id, slots, what) [id] = {#name, slots},
#include "wire/records.def"
#undef RECORD
    };
    u32 id = w->batch->exit[i];
    p = put_text(p, records[id].name ? records[id].name : "?");
    for (u32 s = 0; s < records[id].slots; s++)
        p = put_hex(put_text(p, " "), walk_slot(w, i, s), 1);
    return p;
}

/* Guest records are lines of the text form only. */
static bool show_guest_record(struct out *o, const struct walk *w, u32 i)
{
    if (o->lackey)
        return true;
    char *p = put_thread(line_begin(o), walk_thread(w));
    p = align_right(p, put_text(p, "-"), 16);
    return line_end(o, put_guest_record(put_text(p, "  "), w, i));
}

/* Show one execution of a unit: each instruction, then its references. */
static bool show_record(struct out *o, const struct walk *w, u32 i)
{
    const struct batch *b = w->batch;
    const struct unit_table *t = w->table;
    const struct unit *u = &t->units.v[walk_run(w, i).unit];
    const struct unit_insn *insns = &t->insns.v[u->insn0];
    struct share share = walk_share(w, i);
    u32 thread = walk_thread(w), j = b->first[i], end = b->first[i + 1], size;
    for (u32 k = share.from;; k++) {
        for (; j < end; j++) {
            const struct ref *r = walk_ref(w, j, &size);
            if (r->insn >= k)
                break;
            if (!show_ref(o, thread, insns[r->insn].pc, r->kind, b->addr[j], size))
                return false;
        }
        if (k >= share.to)
            return true;
        if (!show_insn(o, thread, &insns[k]))
            return false;
    }
}

static bool show_batch(struct out *o, const struct walk *w)
{
    for (u32 i = 0; i < w->batch->n_records; i++) {
        if (!(walk_ran(w, i) ? show_record(o, w, i) : show_guest_record(o, w, i)))
            return false;
    }
    return true;
}

/* -- The command ----------------------------------------------------------------------------- */

static bool read_format(const char *s)
{
    if (strcmp(s, "text") && strcmp(s, "lackey"))
        die_usage("dump: --format is text or lackey, not %s", s);
    return s[0] == 'l';
}

static void show_trace(struct out *o, struct trace *t)
{
    struct walk w;
    struct err e;
    int more;
    walk_init(&w, t);
    while ((more = walk_next(&w, &e)) > 0)
        if ((o->process == UINT64_MAX || walk_process(&w) == o->process) && !show_batch(o, &w))
            break;
    out_flush(o);
    walk_fini(&w);
    if (more < 0)
        die("%s", e.text);
    if (!more)
        report_trouble(t);
}

int cmd_dump(int argc, char **argv)
{
    struct out o = {.limit = UINT64_MAX, .process = UINT64_MAX};
    struct trace t;
    struct err e;
    for (int c; (c = next_option(argc, argv, "n:", options)) != -1;) {
        if (c == 'n')
            o.limit = option_number(argv, "limit", "a number of lines", optarg);
        else if (c == 'p')
            o.process = option_number(argv, "process", "the number of a process", optarg);
        else
            o.lackey = read_format(optarg);
    }
    if (trace_open(&t, only_argument(argc, argv, "TRACE"), &e))
        die("%s", e.text);
    if (o.process != UINT64_MAX && o.process >= t.processes.n)
        die("%s has no process %lu; gait info shows those it has", t.store.path,
            (unsigned long)o.process);
    o.buf = malloc(OUT_SIZE);
    if (!o.buf)
        die("there is not enough memory for the output");
    if (!o.lackey)
        o.n =
            (size_t)(put_text(o.buf, "thread                pc  event            address  size\n") -
                     o.buf);
    if (o.limit)
        show_trace(&o, &t);
    free(o.buf);
    trace_close(&t);
    return 0;
}
