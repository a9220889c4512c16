/* SPDX-License-Identifier: MIT */
/* What storing a trace costs, one core, step by step: read the records of a trace back, pack them again as a drain would,
 * seal them as a sealer would, and decode the trace. Nanoseconds per record, bytes after each step.
 *
 *     build/bench/store TRACE... */
#include "decode/trace.h"
#include "decode/walk.h"
#include "wire/wire.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BUFFER = 256 << 10, RAW_LIMIT = 1 << 30 };

struct ends {
    size_t *v, n, cap;
};

struct cost {
    double pack, store, press, unpack, walk;
    u64 records, slots, raw, packed, pressed, refs, instructions;
};

static double seconds_of(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Of this thread alone: others on the machine hardly matter. */
static double seconds(void)
{
    return seconds_of(CLOCK_THREAD_CPUTIME_ID);
}

static void die_of(const char *what)
{
    fprintf(stderr, "store: %s\n", what);
    exit(1);
}

/* All records of one chunk, in buffers as the program fills them: each begins with a state record in life, here only the
 * first does; what a state record costs is too little to matter. */
static void unpack_piece(struct trace *t, size_t i, struct store_bytes *raw, struct ends *ends, struct cost *c)
{
    struct store_bytes packed = {0};
    struct unpack u;
    struct err e;
    s64 n;
    if (trace_load(t, i, &packed, &e))
        die_of(e.text);
    double began = seconds();
    const char *fault = unpack_begin(&u, trace_table(t, i), t->pieces.v[i].n_exits, packed.v, packed.n);
    while (!fault) {
        u8 *to = vec_grow(raw, BUFFER);
        n = unpack_some(&u, to, BUFFER, &fault);
        raw->n -= BUFFER - (n > 0 ? (size_t)n : 0);
        if (n <= 0)
            break;
        vec_push(ends, raw->n);
    }
    if (fault)
        die_of(fault);
    c->unpack += seconds() - began;
    c->records += u.done;
    unpack_end(&u);
    vec_fini(&packed);
}

static void seal(struct pack *p, struct trace_press *x, struct cost *c)
{
    double began = seconds();
    x->contents.n = 0;
    pack_store(p, &x->contents);
    double stored = seconds();
    store_press(&x->press, x->contents.v, x->contents.n);
    c->store += stored - began;
    c->press += seconds() - stored;
    c->packed += x->contents.n;
    c->pressed += x->press.stored_size;
    pack_clear(p);
}

static void pack_piece(const struct unit_table *table, const struct store_bytes *raw, const size_t *ends, size_t n, struct cost *c)
{
    struct trace_press x = {0};
    struct err e;
    struct pack *p = NULL;
    static struct pack *spare; /* as a drain keeps it */
    if (spare && spare->table != table) {
        pack_free(spare);
        spare = NULL;
    }
    for (size_t i = 0, at = 0; i < n; at = ends[i++]) {
        double began = seconds();
        if (!p)
            p = spare ? spare : pack_new(table);
        if (pack_records(p, raw->v + at, ends[i] - at, &e))
            die_of(e.text);
        c->pack += seconds() - began;
    }
    if (p)
        seal(p, &x, c);
    spare = p;
    trace_press_fini(&x);
    c->raw += raw->n;
}

static void walk_all(struct trace *t, struct cost *c)
{
    struct walk w;
    struct err e;
    struct trace_counts n = {0};
    int more;
    double began = seconds_of(CLOCK_PROCESS_CPUTIME_ID); /* chunks are unpacked by other threads */
    walk_init(&w, t);
    while ((more = walk_next(&w, &e)) > 0)
        walk_count(&w, &n);
    walk_fini(&w);
    if (more < 0)
        die_of(e.text);
    c->walk = seconds_of(CLOCK_PROCESS_CPUTIME_ID) - began;
    c->refs = n.loads + n.stores + n.modifies;
    c->instructions = n.instructions;
}

static void measure(const char *path)
{
    struct trace t;
    struct err e;
    struct cost c = {0};
    if (trace_open(&t, path, &e))
        die_of(e.text);
    static struct store_bytes raw; /* kept: what the kernel takes to give memory is not the question */
    static struct ends ends;
    for (size_t i = 0; i < t.pieces.n && c.raw < RAW_LIMIT; i++) {
        raw.n = ends.n = 0;
        unpack_piece(&t, i, &raw, &ends, &c);
        pack_piece(trace_table(&t, i), &raw, ends.v, ends.n, &c);
    }
    walk_all(&t, &c);
    double r = (double)c.records / 1e9, sealing = c.pack + c.store + c.press;
    printf("%-24s %6.1f M rec %5.1f B/rec | ns/rec: pack %5.1f store %5.1f zstd %5.1f unpack %5.1f | B/rec: %6.3f %6.3f | %5.0f MB/s, "
           "decode %5.0f M refs/s\n",
           strrchr(path, '/') ? strrchr(path, '/') + 1 : path, r * 1e3, (double)c.raw / (double)c.records, c.pack / r, c.store / r,
           c.press / r, c.unpack / r, (double)c.packed / (double)c.records, (double)c.pressed / (double)c.records,
           (double)c.raw / sealing / 1e6, (double)c.refs / c.walk / 1e6);
    trace_close(&t);
}

int main(int argc, char **argv)
{
    mallopt(M_MMAP_THRESHOLD, 1 << 30);
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
    for (int i = 1; i < argc; i++)
        measure(argv[i]);
    return argc > 1 ? 0 : 2;
}
