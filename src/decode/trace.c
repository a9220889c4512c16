/* SPDX-License-Identifier: MIT */
/* Chunk contents: writer and reader side by side, each pair next to each other.
 *
 * The arrays of the unit table are written as the structs of translate/unit.h stand in memory; the
 * assertions below pin them to the format document. A change there is a new format version. */
#include "decode/trace.h"
#include "wire/wire.h"

#include <stdlib.h>
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the structs are the file's bytes");
_Static_assert(sizeof(struct unit) == 32 && offsetof(struct unit, exit0) == 24, "format");
_Static_assert(sizeof(struct unit_insn) == 16 && offsetof(struct unit_insn, bytes) == 12, "format");
_Static_assert(sizeof(struct ref) == 32 && offsetof(struct ref, flags) == 25, "format");
_Static_assert(sizeof(struct unit_exit) == 32 && offsetof(struct unit_exit, target) == 24,
               "format");
_Static_assert(sizeof(struct trace_summary) == 88, "format");

enum {
    SLICE = 1 << 16,        /* elements of each array in one units chunk: at most 7 MB */
    UNITS_LIMIT = 16 << 20, /* raw bytes of one units chunk */
    SMALL_LIMIT = 16 << 20, /* raw bytes of all chunks but units and records together */
    TABLE_FREE = 64 << 20,  /* raw bytes of a unit table that any file may have */
    TABLE_RATIO = 32,       /* beyond that, at most so many times what it takes in the file */
};

/* At the head of a units chunk: where its slices begin and how long they are. The arrays follow in
 * this order. With `more`, the next chunk goes on and only then does the table make sense. */
struct units_head {
    struct trace_lengths first, count;
    u32 more, pad;
};

const char *trace_chunk_name(u32 kind)
{
    switch (kind) {
#define CHUNK(name, id, what) \
    case id:                  \
        return #name;
#include "decode/chunks.def"
#undef CHUNK
    default:
        return NULL;
    }
}

/* -- Bytes ----------------------------------------------------------------------------------- */

static void put(struct store_bytes *b, const void *p, size_t n)
{
    if (n)
        memcpy(vec_grow(b, n), p, n);
}

static void put_u32(struct store_bytes *b, u32 x)
{
    put(b, &x, sizeof x);
}

static void put_text(struct store_bytes *b, const char *s)
{
    size_t n = s ? strlen(s) : 0;
    put_u32(b, (u32)n);
    put(b, s, n);
}

/* Contents being read; once anything was missing, `bad` stays set and everything reads as zero. */
struct cursor {
    const u8 *p;
    size_t left;
    bool bad;
};

static void get(struct cursor *c, void *to, size_t n)
{
    c->bad |= n > c->left;
    if (c->bad) {
        memset(to, 0, n);
        return;
    }
    memcpy(to, c->p, n);
    c->p += n;
    c->left -= n;
}

static u32 get_u32(struct cursor *c)
{
    u32 x;
    get(c, &x, sizeof x);
    return x;
}

/* Text comes back as a string of its own, NULL if it is not there or has a zero in it. */
static char *get_text(struct cursor *c)
{
    u32 n = get_u32(c);
    c->bad |= n > c->left || memchr(c->p, 0, n);
    if (c->bad)
        return NULL;
    char *s = malloc(n + 1ul);
    check(s != NULL);
    get(c, s, n);
    s[n] = 0;
    return s;
}

/* -- The writer ------------------------------------------------------------------------------ */

static int append(struct trace_writer *w, enum chunk_kind kind, struct err *e)
{
    return store_append(&w->store, kind, 0, w->buf.v, w->buf.n, e);
}

int trace_writer_open(struct trace_writer *w, const char *path, int argc, char *const *argv,
                      struct err *e)
{
    *w = (struct trace_writer){0};
    if (store_writer_open(&w->store, path, e))
        return -1;
    put_u32(&w->buf, (u32)argc);
    for (int i = 0; i < argc; i++)
        put_text(&w->buf, argv[i]);
    if (!append(w, CHUNK_command, e))
        return 0;
    vec_fini(&w->buf);
    store_writer_abandon(&w->store);
    return -1;
}

static struct trace_lengths lengths_of(const struct unit_table *t)
{
    return (struct trace_lengths){(u32)t->units.n, (u32)t->insns.n, (u32)t->refs.n, (u32)t->exits.n,
                                  (u32)t->code.n};
}

/* The lengths up to the last whole unit. The translator may be adding another one right now: it
 * fills the other arrays first and the units last. */
static struct trace_lengths whole_lengths_of(const struct unit_table *t)
{
    size_t n = load_acquire(&t->units.n);
    if (n == 0)
        return (struct trace_lengths){0};
    const struct unit *u = &t->units.v[n - 1];
    const struct unit_insn *last = &t->insns.v[u->insn0 + u->n_insns - 1];
    return (struct trace_lengths){(u32)n, u->insn0 + u->n_insns, u->ref0 + u->n_refs,
                                  u->exit0 + u->n_exits, last->bytes + last->len};
}

static bool lengths_equal(struct trace_lengths a, struct trace_lengths b)
{
    return a.units == b.units && a.insns == b.insns && a.refs == b.refs && a.exits == b.exits &&
           a.code == b.code;
}

static u32 slice(u32 from, u32 to)
{
    return MIN(to - from, (u32)SLICE);
}

/* Append n elements of one array; an empty array has no address to count from. */
#define PUT_ARRAY(b, vec, from, n)                           \
    do {                                                     \
        if (n)                                               \
            put(b, &(vec)->v[from], (n) * sizeof *(vec)->v); \
    } while (0)

/* Append the next slice of each array; all of them, usually. */
static int write_slices(struct trace_writer *w, const struct unit_table *t,
                        struct trace_lengths all, struct err *e)
{
    struct trace_lengths f = w->written;
    struct trace_lengths k = {slice(f.units, all.units), slice(f.insns, all.insns),
                              slice(f.refs, all.refs), slice(f.exits, all.exits),
                              slice(f.code, all.code)};
    struct trace_lengths to = {f.units + k.units, f.insns + k.insns, f.refs + k.refs,
                               f.exits + k.exits, f.code + k.code};
    struct units_head head = {.first = f, .count = k, .more = !lengths_equal(to, all)};
    w->buf.n = 0;
    put(&w->buf, &head, sizeof head);
    PUT_ARRAY(&w->buf, &t->units, f.units, k.units);
    PUT_ARRAY(&w->buf, &t->insns, f.insns, k.insns);
    PUT_ARRAY(&w->buf, &t->refs, f.refs, k.refs);
    PUT_ARRAY(&w->buf, &t->exits, f.exits, k.exits);
    PUT_ARRAY(&w->buf, &t->code, f.code, k.code);
    if (append(w, CHUNK_units, e))
        return -1;
    w->written = to;
    return 0;
}

int trace_write_units(struct trace_writer *w, const struct unit_table *t, struct err *e)
{
    struct trace_lengths all = whole_lengths_of(t);
    while (!lengths_equal(w->written, all))
        if (write_slices(w, t, all, e))
            return -1;
    return 0;
}

int trace_write_records(struct trace_writer *w, u32 thread, const void *data, size_t size,
                        struct err *e)
{
    /* The number comes out of pages that the program can write. */
    if (thread >= TRACE_THREAD_LIMIT)
        return err_set(e, "the program says that it has a thread number %u", thread);
    /* And the program may still write to these: what is compressed and sealed must stand still. */
    w->buf.n = 0;
    put(&w->buf, data, size);
    return store_append(&w->store, CHUNK_records, thread, w->buf.v, w->buf.n, e);
}

int trace_write_modules(struct trace_writer *w, const struct trace_module *m, size_t n,
                        struct err *e)
{
    w->buf.n = 0;
    put_u32(&w->buf, (u32)n);
    for (size_t i = 0; i < n; i++) {
        put(&w->buf, &m[i].start, 8);
        put(&w->buf, &m[i].end, 8);
        put(&w->buf, &m[i].offset, 8);
        put_text(&w->buf, m[i].build_id);
        put_text(&w->buf, m[i].path);
    }
    return append(w, CHUNK_modules, e);
}

int trace_write_threads(struct trace_writer *w, const struct trace_thread *t, size_t n,
                        struct err *e)
{
    w->buf.n = 0;
    put_u32(&w->buf, (u32)n);
    for (size_t i = 0; i < n; i++) {
        put_u32(&w->buf, t[i].number);
        put_u32(&w->buf, t[i].tid);
        put_text(&w->buf, t[i].name);
    }
    return append(w, CHUNK_threads, e);
}

int trace_writer_close(struct trace_writer *w, const struct trace_summary *s, struct err *e)
{
    int bad = 0;
    w->buf.n = 0;
    if (s) {
        put(&w->buf, s, sizeof *s);
        bad = append(w, CHUNK_summary, e);
    }
    vec_fini(&w->buf);
    if (!s || bad)
        store_writer_abandon(&w->store);
    else
        bad = store_writer_close(&w->store, e);
    return bad;
}

/* -- The reader: one function per kind; each returns what is wrong, or NULL ------------------- */

static const char *read_command(struct trace *t, struct cursor *c)
{
    for (u32 n = get_u32(c); n && !c->bad; n--) {
        char *s = get_text(c);
        if (s)
            vec_push(&t->argv, s);
    }
    return NULL;
}

static bool table_is_too_large(const struct trace *t)
{
    u64 size = t->table.units.n * sizeof(struct unit) +
               t->table.insns.n * sizeof(struct unit_insn) + t->table.refs.n * sizeof(struct ref) +
               t->table.exits.n * sizeof(struct unit_exit) + t->table.code.n;
    return size > TABLE_FREE && size > TABLE_RATIO * t->table_stored;
}

/* Append n elements to one array of the table; the caller has checked that they are there. */
#define GET_ARRAY(c, vec, n)                                  \
    do {                                                      \
        if (n)                                                \
            get(c, vec_grow(vec, n), (n) * sizeof *(vec)->v); \
    } while (0)

static const char *read_units(struct trace *t, struct cursor *c)
{
    struct units_head h;
    get(c, &h, sizeof h);
    u64 size = h.count.units * sizeof(struct unit) + h.count.insns * sizeof(struct unit_insn) +
               h.count.refs * sizeof(struct ref) + h.count.exits * sizeof(struct unit_exit) +
               h.count.code;
    if (c->bad || size != c->left)
        return "does not have the size its head says";
    if (!lengths_equal(h.first, lengths_of(&t->table)))
        return "does not continue the unit table";
    if (size == 0)
        return "brings no units";
    GET_ARRAY(c, &t->table.units, h.count.units);
    GET_ARRAY(c, &t->table.insns, h.count.insns);
    GET_ARRAY(c, &t->table.refs, h.count.refs);
    GET_ARRAY(c, &t->table.exits, h.count.exits);
    GET_ARRAY(c, &t->table.code, h.count.code);
    if (table_is_too_large(t))
        return "makes the unit table too large to be true";
    if (!h.more)
        t->committed = lengths_of(&t->table);
    return NULL;
}

static const char *read_modules(struct trace *t, struct cursor *c)
{
    for (u32 n = get_u32(c); n && !c->bad; n--) {
        struct trace_module m = {0};
        get(c, &m.start, 8);
        get(c, &m.end, 8);
        get(c, &m.offset, 8);
        m.build_id = get_text(c);
        m.path = get_text(c);
        if (!c->bad)
            vec_push(&t->modules, m);
        else
            free(m.build_id);
    }
    return NULL;
}

static const char *read_threads(struct trace *t, struct cursor *c)
{
    for (u32 n = get_u32(c); n && !c->bad; n--) {
        struct trace_thread x;
        x.number = get_u32(c);
        x.tid = get_u32(c);
        x.name = get_text(c);
        if (!c->bad)
            vec_push(&t->threads, x);
    }
    return NULL;
}

static const char *read_summary(struct trace *t, struct cursor *c)
{
    get(c, &t->summary, sizeof t->summary);
    t->has_summary = !c->bad;
    return t->summary.ending < TRACE_ENDING_LIMIT ? NULL : "has an unknown ending";
}

static const char *note_records(struct trace *t, const struct store_chunk *c)
{
    if (!lengths_equal(t->committed, lengths_of(&t->table)))
        return "stands in the middle of the unit table";
    vec_push(&t->pieces, ((struct trace_piece){*c, (u32)t->table.exits.n}));
    return NULL;
}

static const char *read_contents(struct trace *t, u32 kind, const struct store_bytes *raw)
{
    struct cursor c = {raw->v, raw->n, false};
    const char *fault = NULL;
    switch (kind) {
    case CHUNK_command:
        fault = read_command(t, &c);
        break;
    case CHUNK_units:
        fault = read_units(t, &c);
        break;
    case CHUNK_modules:
        fault = read_modules(t, &c);
        break;
    case CHUNK_threads:
        fault = read_threads(t, &c);
        break;
    case CHUNK_summary:
        fault = read_summary(t, &c);
        break;
    default:
        break;
    }
    return fault ? fault : c.bad || c.left ? "does not hold what its kind says" : NULL;
}

/* What is wrong with a chunk before its contents are looked at, and before memory is spent on it.
 */
static const char *order_fault(const struct trace *t, const struct store_chunk *c, u64 *small)
{
    if (!trace_chunk_name(c->kind))
        return "is of no known kind";
    if ((c->kind == CHUNK_command) != (t->n_chunks == 0))
        return "is a command line in the wrong place, or there is none before it";
    if (t->has_summary)
        return "comes after the summary";
    if (c->thread >= TRACE_THREAD_LIMIT)
        return "has an impossible thread number";
    if (c->kind == CHUNK_records)
        return NULL;
    if (c->kind != CHUNK_units)
        *small += c->raw_size;
    if (c->raw_size > UNITS_LIMIT || *small > SMALL_LIMIT)
        return "is too large for its kind";
    return NULL;
}

/* Take in one chunk. -1: it is unsound, and nothing behind it counts. */
static int take_chunk(struct trace *t, const struct store_chunk *c, struct store_bytes *raw,
                      u64 *small, struct err *e)
{
    const char *fault = order_fault(t, c, small);
    if (!fault && c->kind == CHUNK_records)
        fault = note_records(t, c);
    else if (!fault) {
        if (store_load(&t->store, c, raw, e))
            return -1;
        t->table_stored += c->kind == CHUNK_units ? c->stored_size : 0;
        fault = read_contents(t, c->kind, raw);
    }
    if (!fault)
        return 0;
    return err_set(e, "%s is damaged: chunk %lu at offset %lu %s; copy or record it again",
                   t->store.path, (unsigned long)c->sequence, (unsigned long)c->offset, fault);
}

/* Drop the part of the table that had not arrived whole when the file stopped making sense. */
static void drop_uncommitted(struct trace *t)
{
    t->table.units.n = t->committed.units;
    t->table.insns.n = t->committed.insns;
    t->table.refs.n = t->committed.refs;
    t->table.exits.n = t->committed.exits;
    t->table.code.n = t->committed.code;
}

static void take_all(struct trace *t)
{
    struct store_bytes raw = {0};
    struct store_chunk c;
    u64 small = 0;
    enum store_step step;
    while ((step = store_next(&t->store, &c, &t->trouble)) == STORE_NEXT) {
        if (take_chunk(t, &c, &raw, &small, &t->trouble))
            break;
        t->n_chunks++;
    }
    vec_fini(&raw);
    t->complete = step == STORE_END && t->has_summary;
    t->damaged = !t->complete && step != STORE_CUT;
    if (step == STORE_END && !t->has_summary)
        err_set(&t->trouble, "%s is damaged: it has no summary; record it again", t->store.path);
}

int trace_open(struct trace *t, const char *path, struct err *e)
{
    *t = (struct trace){0};
    if (store_reader_open(&t->store, path, e))
        return -1;
    take_all(t);
    drop_uncommitted(t);
    const char *fault = unit_table_fault(&t->table);
    if (!fault)
        return 0;
    err_set(e, "%s is damaged: in its unit table, %s; record it again", path, fault);
    trace_close(t);
    return -1;
}

int trace_load(struct trace *t, size_t i, struct store_bytes *into, struct err *e)
{
    return store_load(&t->store, &t->pieces.v[i].chunk, into, e);
}

void trace_close(struct trace *t)
{
    for (size_t i = 0; i < t->modules.n; i++) {
        free(t->modules.v[i].build_id);
        free(t->modules.v[i].path);
    }
    for (size_t i = 0; i < t->threads.n; i++)
        free(t->threads.v[i].name);
    for (size_t i = 0; i < t->argv.n; i++)
        free(t->argv.v[i]);
    vec_fini(&t->modules);
    vec_fini(&t->threads);
    vec_fini(&t->argv);
    vec_fini(&t->pieces);
    unit_table_fini(&t->table);
    store_reader_close(&t->store);
}
