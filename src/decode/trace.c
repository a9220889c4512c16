/* SPDX-License-Identifier: MIT */
/* Chunk contents: writer and reader side by side, each pair next to each other.
 *
 * Structs that are written as they stand in memory are pinned to the format document by the assertions
 * below. A change there is a new format version. */
#include "decode/trace.h"
#include "wire/wire.h"

#include <stdlib.h>
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the structs are the file's bytes");
_Static_assert(sizeof(struct trace_summary) == 96, "format");
_Static_assert(sizeof(struct pack_head) == 40, "format");

enum {
    SLICE = 1 << 16, /* elements of each array in one units chunk: at most 7 MB in memory */
    SMALL_LIMIT =
        16 << 20, /* bytes of one chunk that is not records, raw and, of units, in memory */
    INDEX_ENTRY = 48,
    VOLUME_FREE = 128 << 20, /* raw bytes of unit tables, and of all else but records, in any file */
    VOLUME_RATIO = 1024,     /* beyond that, at most so many times what they take in the file */
};

/* At the head of a units chunk: where its slices begin and how long they are; their columns follow. With `more`, the next chunk goes on and only then does the table make sense. */
struct units_head {
    struct units_lengths first, count;
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

const char *trace_how_name(u32 how)
{
    static const char *const names[] = {
#define HOW(name, what) #name,
#include "decode/hows.def"
#undef HOW
    };
    return how < TRACE_HOW_LIMIT ? names[how] : NULL;
}

const char *trace_untraced_text(u32 untraced)
{
    static const char *const texts[] = {
#define UNTRACED(name, why) why,
#include "decode/untraced.def"
#undef UNTRACED
    };
    return untraced < TRACE_UNTRACED_LIMIT ? texts[untraced] : NULL;
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

static int append(struct trace_writer *w, enum chunk_kind kind, u32 owner, struct err *e)
{
    return store_append(&w->store, kind, owner, w->buf.v, w->buf.n, e);
}

static void put_texts(struct store_bytes *b, char *const *v, u32 n)
{
    put_u32(b, n);
    for (u32 i = 0; i < n; i++)
        put_text(b, v[i]);
}

int trace_writer_open(struct trace_writer *w, const char *path, int argc, char *const *argv,
                      struct err *e)
{
    *w = (struct trace_writer){0};
    if (store_writer_open(&w->store, path, e))
        return -1;
    put_texts(&w->buf, argv, (u32)argc);
    if (!append(w, CHUNK_command, 0, e))
        return 0;
    vec_fini(&w->buf);
    store_writer_abandon(&w->store);
    return -1;
}

static u32 count_texts(char *const *v)
{
    u32 n = 0;
    while (v && v[n])
        n++;
    return n;
}

int trace_write_process(struct trace_writer *w, struct trace_process *p, struct err *e)
{
    if (w->written.n == TRACE_NUMBER_LIMIT)
        return err_set(e, "the trace has no room for more than %d processes", TRACE_NUMBER_LIMIT);
    p->number = (u32)w->written.n;
    vec_push(&w->written, (struct units_lengths){0});
    const u32 head[] = {1, p->number, p->pid, p->from, p->how, p->memory, p->untraced};
    w->buf.n = 0;
    put(&w->buf, head, sizeof head);
    put(&w->buf, &p->began, sizeof p->began);
    put_text(&w->buf, p->path);
    put_texts(&w->buf, p->argv, count_texts(p->argv));
    return append(w, CHUNK_processes, 0, e);
}

int trace_write_end(struct trace_writer *w, const struct trace_process *p, struct err *e)
{
    const u32 head[] = {1, p->number, p->ending, p->status};
    w->buf.n = 0;
    put(&w->buf, head, sizeof head);
    put(&w->buf, &p->ended, sizeof p->ended);
    return append(w, CHUNK_ends, 0, e);
}

int trace_write_thread(struct trace_writer *w, struct trace_thread *t, struct err *e)
{
    if (w->threads == TRACE_NUMBER_LIMIT)
        return err_set(e, "the trace has no room for more than %d threads", TRACE_NUMBER_LIMIT);
    t->number = w->threads++;
    const u32 head[] = {1, t->number, t->process, t->tid};
    w->buf.n = 0;
    put(&w->buf, head, sizeof head);
    put_text(&w->buf, t->name);
    return append(w, CHUNK_threads, 0, e);
}

/* The lengths up to the last whole unit. The translator may be adding another one right now: it
 * fills the other arrays first and the units last. */
static struct units_lengths whole_lengths(const struct unit_table *t)
{
    size_t n = load_acquire(&t->units.n);
    if (n == 0)
        return (struct units_lengths){0};
    const struct unit *u = &t->units.v[n - 1];
    const struct unit_insn *last = &t->insns.v[u->insn0 + u->n_insns - 1];
    return (struct units_lengths){(u32)n, u->insn0 + u->n_insns, u->ref0 + u->n_refs,
                                  u->exit0 + u->n_exits, last->bytes + last->len};
}

static u32 slice(u32 from, u32 to)
{
    return MIN(to - from, (u32)SLICE);
}

/* Append the next slice of each array; all of them, usually. */
static int write_slices(struct trace_writer *w, u32 process, const struct unit_table *t,
                        struct units_lengths all, struct err *e)
{
    struct units_lengths f = w->written.v[process];
    struct units_lengths k = {slice(f.units, all.units), slice(f.insns, all.insns),
                              slice(f.refs, all.refs), slice(f.exits, all.exits),
                              slice(f.code, all.code)};
    struct units_lengths to = {f.units + k.units, f.insns + k.insns, f.refs + k.refs,
                               f.exits + k.exits, f.code + k.code};
    struct units_head head = {.first = f, .count = k, .more = !units_equal(to, all)};
    w->buf.n = 0;
    put(&w->buf, &head, sizeof head);
    units_store(t, f, k, &w->buf);
    if (append(w, CHUNK_units, process, e))
        return -1;
    w->written.v[process] = to;
    return 0;
}

int trace_write_units(struct trace_writer *w, u32 process, const struct unit_table *t,
                      struct err *e)
{
    struct units_lengths all = whole_lengths(t);
    while (!units_equal(w->written.v[process], all))
        if (write_slices(w, process, t, all, e))
            return -1;
    return 0;
}

void trace_press(struct trace_press *x, struct pack *p)
{
    x->contents.n = 0;
    pack_store(p, &x->contents);
    x->head = p->head;
    store_press(&x->press, x->contents.v, x->contents.n);
}

void trace_press_fini(struct trace_press *x)
{
    store_press_fini(&x->press);
    vec_fini(&x->contents);
}

int trace_write_records(struct trace_writer *w, u32 thread, struct trace_press *x, struct err *e)
{
    struct trace_entry entry = {w->store.at, x->head};
    if (store_append_pressed(&w->store, CHUNK_records, thread, &x->press, e))
        return -1;
    vec_push(&w->index, entry);
    return 0;
}

static int write_index(struct trace_writer *w, struct err *e)
{
    if (w->index.n * INDEX_ENTRY > SMALL_LIMIT)
        return 0; /* readers look at the chunks themselves */
    w->buf.n = 0;
    put_u32(&w->buf, (u32)w->index.n);
    for (size_t i = 0; i < w->index.n; i++) {
        const struct trace_entry *x = &w->index.v[i];
        put(&w->buf, &x->offset, sizeof x->offset);
        put(&w->buf, &x->head, sizeof x->head);
    }
    return append(w, CHUNK_index, 0, e);
}

int trace_write_modules(struct trace_writer *w, u32 process, const struct trace_module *m, size_t n,
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
    return append(w, CHUNK_modules, process, e);
}

int trace_writer_close(struct trace_writer *w, const struct trace_summary *s, struct err *e)
{
    int bad = 0;
    if (s) {
        bad = write_index(w, e);
        w->buf.n = 0;
        put(&w->buf, s, sizeof *s);
        bad = bad || append(w, CHUNK_summary, 0, e);
    }
    vec_fini(&w->buf);
    vec_fini(&w->written);
    vec_fini(&w->index);
    if (!s || bad)
        store_writer_abandon(&w->store);
    else
        bad = store_writer_close(&w->store, e);
    return bad;
}

/* -- The reader: one function per kind; each returns what is wrong, or NULL ------------------- */

static bool is_too_large(const struct trace_volume *v)
{
    return v->raw > VOLUME_FREE && v->raw > VOLUME_RATIO * v->stored;
}

/* A list of texts, NULL-terminated; of what is not there, nothing. */
static char **get_texts(struct cursor *c)
{
    VEC(char *) v = {0};
    for (u32 n = get_u32(c); n && !c->bad; n--) {
        char *s = get_text(c);
        if (s)
            vec_push(&v, s);
    }
    vec_push(&v, NULL);
    return v.v;
}

static const char *read_command(struct trace *t, struct cursor *c)
{
    t->argv = get_texts(c);
    return NULL;
}

static void process_fini(struct trace_process *p)
{
    for (char **a = p->argv; a && *a; a++)
        free(*a);
    free(p->argv);
    free(p->path);
}

static const char *process_fault(const struct trace *t, const struct trace_process *p)
{
    u32 n = (u32)t->processes.n;
    if (p->number != n || n == TRACE_NUMBER_LIMIT)
        return "has a process whose number does not follow";
    if ((p->how == TRACE_BY_command) != (n == 0) || p->from >= MAX(n, 1u))
        return "has a process that comes from nowhere";
    if (p->memory != n && (p->memory > n || t->processes.v[p->memory].memory != p->memory))
        return "has a process in the memory of one that has none";
    if (p->how >= TRACE_HOW_LIMIT || p->untraced >= TRACE_UNTRACED_LIMIT)
        return "has a process of an unknown kind";
    return NULL;
}

static const char *read_processes(struct trace *t, struct cursor *c)
{
    const char *fault = NULL;
    for (u32 n = get_u32(c); n && !c->bad && !fault; n--) {
        struct trace_process p = {0};
        p.number = get_u32(c);
        p.pid = get_u32(c);
        p.from = get_u32(c);
        p.how = get_u32(c);
        p.memory = get_u32(c);
        p.untraced = get_u32(c);
        get(c, &p.began, sizeof p.began);
        p.path = get_text(c);
        p.argv = get_texts(c);
        if (!c->bad)
            fault = process_fault(t, &p);
        if (c->bad || fault) {
            process_fini(&p);
            break;
        }
        vec_push(&t->processes, p);
        vec_push(&t->units, (struct trace_units){0});
    }
    return fault;
}

static const char *read_ends(struct trace *t, struct cursor *c)
{
    for (u32 n = get_u32(c); n && !c->bad; n--) {
        u32 number = get_u32(c), ending = get_u32(c), status = get_u32(c);
        u64 ended;
        get(c, &ended, sizeof ended);
        if (c->bad)
            break;
        if (number >= t->processes.n || ending >= TRACE_ENDING_LIMIT)
            return "has the end of a process that is not there, or an unknown one";
        t->processes.v[number].ending = ending;
        t->processes.v[number].status = status;
        t->processes.v[number].ended = ended;
    }
    return NULL;
}

static const char *read_units(struct trace *t, u32 process, struct cursor *c)
{
    struct units_head h;
    get(c, &h, sizeof h);
    struct trace_units *u = &t->units.v[process];
    if (c->bad || !units_equal(h.first, units_lengths(&u->table)))
        return "does not continue the unit table";
    u64 size = units_size(h.count);
    if (size == 0)
        return "brings no units";
    t->units_volume.raw += size;
    if (size > SMALL_LIMIT || is_too_large(&t->units_volume))
        return "makes the unit table too large to be true";
    const char *fault = units_read(&u->table, h.count, t->store.version >= STORE_WITH_VALUES, c->p, c->left);
    c->left = 0;
    if (!fault && !h.more)
        u->committed = units_lengths(&u->table);
    return fault;
}

static const char *read_modules(struct trace *t, u32 process, struct cursor *c)
{
    for (u32 n = get_u32(c); n && !c->bad; n--) {
        struct trace_module m = {.process = process};
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
        x.process = get_u32(c);
        x.tid = get_u32(c);
        if (!c->bad && (x.number != t->threads.n || x.number == TRACE_NUMBER_LIMIT))
            return "has a thread whose number does not follow";
        if (!c->bad && x.process >= t->processes.n)
            return "has a thread of a process that is not there";
        x.name = get_text(c);
        if (!c->bad)
            vec_push(&t->threads, x);
    }
    return NULL;
}

/* The index must tell of the records that are there, and of all of them. */
static const char *read_index(struct trace *t, struct cursor *c)
{
    u32 n = get_u32(c);
    if (n != t->pieces.n)
        return "does not list the chunks of records";
    for (u32 i = 0; i < n && !c->bad; i++) {
        struct trace_piece *p = &t->pieces.v[i];
        u64 offset;
        get(c, &offset, sizeof offset);
        get(c, &p->head, sizeof p->head);
        if (!c->bad && offset != p->chunk.offset)
            return "lists a chunk of records that is not there";
        p->has_head = true;
    }
    t->has_index = true;
    return NULL;
}

static const char *read_summary(struct trace *t, struct cursor *c)
{
    get(c, &t->summary, sizeof t->summary);
    t->has_summary = !c->bad;
    return t->summary.ending < TRACE_ENDING_LIMIT ? NULL : "has an unknown ending";
}

static bool has_whole_table(const struct trace *t, u32 process)
{
    const struct trace_units *u = &t->units.v[process];
    return units_equal(u->committed, units_lengths(&u->table));
}

static const char *note_records(struct trace *t, const struct store_chunk *c)
{
    if (c->owner >= t->threads.n)
        return "has records of a thread that is not there";
    u32 process = t->threads.v[c->owner].process, memory = t->processes.v[process].memory;
    if (!has_whole_table(t, memory))
        return "stands in the middle of the unit table";
    vec_push(&t->pieces, ((struct trace_piece){*c, process, memory,
                                               .n_exits = (u32)t->units.v[memory].table.exits.n}));
    return NULL;
}

static const char *read_contents(struct trace *t, const struct store_chunk *chunk,
                                 const struct store_bytes *raw)
{
    struct cursor c = {raw->v, raw->n, false};
    const char *fault = NULL;
    switch (chunk->kind) {
    case CHUNK_command:
        fault = read_command(t, &c);
        break;
    case CHUNK_processes:
        fault = read_processes(t, &c);
        break;
    case CHUNK_ends:
        fault = read_ends(t, &c);
        break;
    case CHUNK_units:
        fault = read_units(t, chunk->owner, &c);
        break;
    case CHUNK_modules:
        fault = read_modules(t, chunk->owner, &c);
        break;
    case CHUNK_threads:
        fault = read_threads(t, &c);
        break;
    case CHUNK_index:
        fault = read_index(t, &c);
        break;
    case CHUNK_summary:
        fault = read_summary(t, &c);
        break;
    default:
        break;
    }
    return fault ? fault : c.bad || c.left ? "does not hold what its kind says" : NULL;
}

/* What is wrong with a chunk's owner: records have a thread, units and modules a process that has a
 * memory of its own. */
static const char *owner_fault(const struct trace *t, const struct store_chunk *c)
{
    if (c->kind == CHUNK_records)
        return NULL; /* when they are noted */
    if (c->kind != CHUNK_units && c->kind != CHUNK_modules)
        return c->owner ? "has an owner, and its kind has none" : NULL;
    if (c->owner >= t->processes.n || t->processes.v[c->owner].memory != c->owner)
        return "is of a process that is not there, or has no memory of its own";
    return NULL;
}

/* What is wrong with a chunk before its contents are looked at, and before memory is spent on it.
 */
static const char *order_fault(struct trace *t, const struct store_chunk *c)
{
    if (!trace_chunk_name(c->kind))
        return "is of no known kind";
    if ((c->kind == CHUNK_command) != (t->n_chunks == 0))
        return "is a command line in the wrong place, or there is none before it";
    if (t->has_summary)
        return "comes after the summary";
    if (t->has_index && c->kind != CHUNK_summary)
        return "comes after the index";
    if (c->kind == CHUNK_records)
        return NULL;
    if (c->kind == CHUNK_units) { /* what it takes in memory is counted when its head is read */
        t->units_volume.stored += c->stored_size;
    } else {
        t->small_volume.raw += c->raw_size;
        t->small_volume.stored += c->stored_size;
    }
    if (c->raw_size > SMALL_LIMIT || is_too_large(&t->small_volume))
        return "is too large for its kind";
    return owner_fault(t, c);
}

static int chunk_fault(const struct trace *t, const struct store_chunk *c, const char *fault,
                       struct err *e)
{
    return err_set(e, "%s is damaged: chunk %lu at offset %lu %s; copy or record it again",
                   t->store.path, (unsigned long)c->sequence, (unsigned long)c->offset, fault);
}

/* Take in one chunk. -1: it is unsound, and nothing behind it counts. */
static int take_chunk(struct trace *t, const struct store_chunk *c, struct store_bytes *raw,
                      struct err *e)
{
    const char *fault = order_fault(t, c);
    if (!fault && c->kind == CHUNK_records)
        fault = note_records(t, c);
    else if (!fault) {
        if (store_load(&t->store, c, raw, e))
            return -1;
        fault = read_contents(t, c, raw);
    }
    return fault ? chunk_fault(t, c, fault, e) : 0;
}

/* Drop the part of a table that had not arrived whole when the file stopped making sense. */
static void drop_uncommitted(struct trace_units *u)
{
    u->table.units.n = u->committed.units;
    u->table.insns.n = u->committed.insns;
    u->table.refs.n = u->committed.refs;
    u->table.exits.n = u->committed.exits;
    u->table.code.n = u->committed.code;
}

static void take_all(struct trace *t)
{
    struct store_bytes raw = {0};
    struct store_chunk c;
    enum store_step step;
    while ((step = store_next(&t->store, &c, &t->trouble)) == STORE_NEXT) {
        if (take_chunk(t, &c, &raw, &t->trouble))
            break;
        t->n_chunks++;
        if (c.kind != CHUNK_units || has_whole_table(t, c.owner)) {
            t->whole_at = t->store.at;
            t->whole_chunks = t->n_chunks;
        }
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
    for (size_t i = 0; i < t->units.n; i++) {
        drop_uncommitted(&t->units.v[i]);
        const char *fault = unit_table_fault(&t->units.v[i].table);
        if (!fault)
            continue;
        err_set(e, "%s is damaged: in the unit table of process %zu, %s; record it again", path, i,
                fault);
        trace_close(t);
        return -1;
    }
    return 0;
}

bool trace_has_values(const struct trace *t)
{
    for (size_t i = 0; i < t->units.n; i++)
        for (size_t k = 0; k < t->units.v[i].table.refs.n; k++)
            if (t->units.v[i].table.refs.v[k].before || t->units.v[i].table.refs.v[k].after)
                return true;
    return false;
}

const struct unit_table *trace_table(const struct trace *t, size_t piece)
{
    return &t->units.v[t->pieces.v[piece].memory].table;
}

int trace_load(struct trace *t, size_t i, struct store_bytes *into, struct err *e)
{
    return store_load(&t->store, &t->pieces.v[i].chunk, into, e);
}

int trace_head(struct trace *t, size_t i, struct pack_head *head, struct err *e)
{
    const struct trace_piece *p = &t->pieces.v[i];
    struct store_bytes raw = {0};
    *head = p->head;
    if (p->has_head)
        return 0;
    int bad = trace_load(t, i, &raw, e);
    const char *fault = bad ? NULL : unpack_head(raw.v, raw.n, head);
    vec_fini(&raw);
    return fault ? trace_fault(t, i, fault, e) : bad;
}

int trace_repair(struct trace *t, struct err *e)
{
    struct trace_writer w = {0};
    const struct trace_summary unknown = {.ending = TRACE_ENDED_unknown};
    for (size_t i = 0; i < t->pieces.n; i++) {
        struct trace_entry x = {.offset = t->pieces.v[i].chunk.offset};
        if (x.offset >= t->whole_at)
            break;
        if (trace_head(t, i, &x.head, e)) {
            vec_fini(&w.index);
            return -1;
        }
        vec_push(&w.index, x);
    }
    if (store_writer_reopen(&w.store, t->store.path, t->whole_at, t->whole_chunks, e)) {
        vec_fini(&w.index);
        return -1;
    }
    return trace_writer_close(&w, &unknown, e);
}

int trace_fault(const struct trace *t, size_t i, const char *fault, struct err *e)
{
    return chunk_fault(t, &t->pieces.v[i].chunk, fault, e);
}

void trace_close(struct trace *t)
{
    for (size_t i = 0; i < t->modules.n; i++) {
        free(t->modules.v[i].build_id);
        free(t->modules.v[i].path);
    }
    for (size_t i = 0; i < t->threads.n; i++)
        free(t->threads.v[i].name);
    for (size_t i = 0; i < t->processes.n; i++) {
        process_fini(&t->processes.v[i]);
        unit_table_fini(&t->units.v[i].table);
    }
    for (char **a = t->argv; a && *a; a++)
        free(*a);
    free(t->argv);
    vec_fini(&t->processes);
    vec_fini(&t->units);
    vec_fini(&t->modules);
    vec_fini(&t->threads);
    vec_fini(&t->pieces);
    store_reader_close(&t->store);
}
