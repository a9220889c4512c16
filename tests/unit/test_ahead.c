/* SPDX-License-Identifier: MIT */
/* Chunks unpacked ahead come out as they are in the file, whoever unpacks them: whole, in order, only those that are wanted; and
 * damage is told where it is reached. */
#include "decode/ahead.h"
#include "wire/wire.h"
#include "test.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { CHUNKS = 40 };

static char dir[] = "/tmp/gait-test-ahead-XXXXXX";
static char path[64];

/* One unit: a load from a slot, and a jump to itself. */
static void make_table(struct unit_table *t)
{
    static const u8 bytes[] = {0x48, 0x8b, 0x03, 0xeb, 0xfb};
    struct ref load = {.size = 8, .b = TERM_NONE, .seg = TERM_NONE, .x = TERM_NONE, .y = TERM_NONE, .z = TERM_NONE};
    memcpy(vec_grow(&t->code, sizeof bytes), bytes, sizeof bytes);
    vec_push(&t->insns, ((struct unit_insn){.pc = 0x1000, .len = 3, .refs = 1}));
    vec_push(&t->insns, ((struct unit_insn){.pc = 0x1003, .len = 2, .bytes = 3}));
    vec_push(&t->refs, load);
    vec_push(&t->exits,
             ((struct unit_exit){.insns = 2, .refs = 1, .slots = 1, .rsp_term = TERM_RSP, .target = 0x1000}));
    vec_push(&t->units, ((struct unit){.pc = 0x1000, .n_insns = 2, .n_refs = 1, .n_exits = 1}));
}

/* Chunk i: a state record, then so many loads at random addresses; many chunks fill several windows, some hardly one. */
static u32 length_of(u32 i)
{
    return i % 7 == 3 ? 200000 + 1000 * i : 50 * i;
}

static void put_u32(struct store_bytes *b, u32 x)
{
    memcpy(vec_grow(b, 4), &x, 4);
}

static void put_u64(struct store_bytes *b, u64 x)
{
    memcpy(vec_grow(b, 8), &x, 8);
}

static void make_records(u32 i, struct store_bytes *to)
{
    u64 seed = i + 1;
    to->n = 0;
    put_u32(to, RECORD_state << RECORD_ID_SHIFT | RECORD_state_slots);
    for (u32 k = 0; k < RECORD_state_slots; k++)
        put_u64(to, 1000 + i);
    for (u32 k = 0; k < length_of(i); k++) {
        seed = seed * 6364136223846793005ull + 1442695040888963407ull;
        put_u32(to, FIRST_EXIT_ID << RECORD_ID_SHIFT | 1);
        put_u64(to, seed >> 40);
    }
}

static bool write_chunk(struct trace_writer *w, const struct unit_table *t, u32 i)
{
    struct store_bytes records = {0};
    struct trace_press x = {0};
    struct pack *p = pack_new(t);
    struct err e;
    bool good = true;
    make_records(i, &records);
    for (size_t at = 0, n; at < records.n && good; at += n) { /* a pack takes buffers, not everything at once */
        n = at ? MIN(records.n - at, 12ul * 10000) : MIN(records.n, 36ul);
        good = pack_records(p, records.v + at, n, &e) == 0;
    }
    trace_press(&x, p);
    good = good && trace_write_records(w, i % 3, &x, &e) == 0;
    trace_press_fini(&x);
    pack_free(p);
    vec_fini(&records);
    return good;
}

static bool write_trace(void)
{
    struct unit_table t = {0};
    struct trace_writer w;
    struct err e;
    struct trace_process root = {.pid = 10, .how = TRACE_BY_command, .path = "/bin/prog"};
    const struct trace_summary summary = {.ending = TRACE_ENDED_exited};
    make_table(&t);
    bool good = trace_writer_open(&w, path, 0, NULL, &e) == 0 && trace_write_process(&w, &root, &e) == 0;
    for (u32 i = 0; i < 3 && good; i++)
        good = trace_write_thread(&w, &(struct trace_thread){.tid = 10 + i, .name = ""}, &e) == 0;
    good = good && trace_write_units(&w, 0, &t, &e) == 0;
    for (u32 i = 0; i < CHUNKS && good; i++)
        good = write_chunk(&w, &t, i);
    unit_table_fini(&t);
    return trace_writer_close(&w, &summary, &e) == 0 && good;
}

static bool is_third(void *asked, size_t piece)
{
    ++*(u32 *)asked;
    return piece % 3 == 2;
}

/* Read everything and compare it; how many chunks came. */
static u32 read_all(struct trace *t, u32 threads, bool thirds, int *end, struct err *e)
{
    struct store_bytes wanted = {0};
    struct ahead_window w;
    u32 chunks = 0, asked = 0;
    size_t at = 0;
    struct ahead *a = ahead_new(t, threads, thirds ? is_third : NULL, &asked);
    while ((*end = ahead_next(a, &w, e)) > 0) {
        u32 piece = thirds ? 3 * chunks + 2 : chunks;
        if (w.begins) {
            CHECK_CASE(at == wanted.n, "chunk before %zu is not whole", w.piece);
            CHECK_CASE(w.piece == piece, "chunk %zu comes instead of %u", w.piece, piece);
            make_records(piece, &wanted);
            CHECK(w.head->records == length_of(piece) + 1);
            at = 0;
            chunks++;
        }
        CHECK_CASE(at + w.size <= wanted.n && !memcmp(w.records, wanted.v + at, w.size), "chunk %zu", w.piece);
        at += w.size;
    }
    CHECK(*end < 0 || at == wanted.n);
    CHECK(!thirds || *end < 0 || asked == CHUNKS);
    ahead_free(a);
    vec_fini(&wanted);
    return chunks;
}

static void everything_comes_in_order(void)
{
    struct trace t;
    struct err e;
    int end;
    CHECK(trace_open(&t, path, &e) == 0 && t.pieces.n == CHUNKS && t.complete);
    for (u32 threads = 0; threads <= 9; threads++) {
        CHECK_CASE(read_all(&t, threads, false, &end, &e) == CHUNKS && end == 0, "%u threads", threads);
        CHECK_CASE(read_all(&t, threads, true, &end, &e) == CHUNKS / 3 && end == 0, "%u threads", threads);
    }
    trace_close(&t);
}

static void whoever_has_seen_enough_may_stop(void)
{
    struct trace t;
    struct err e;
    struct ahead_window w;
    CHECK(trace_open(&t, path, &e) == 0);
    for (u32 i = 0; i < 60; i++) {
        struct ahead *a = ahead_new(&t, i % 4, NULL, NULL);
        for (u32 n = 0; n < i / 4; n++)
            CHECK(ahead_next(a, &w, &e) == 1);
        ahead_free(a);
    }
    trace_close(&t);
}

/* A byte of chunk 20 is another one: what stands before it comes, then a sentence. */
static void damage_is_told_where_it_is_reached(void)
{
    struct trace t;
    struct err e;
    int end;
    u8 byte;
    CHECK(trace_open(&t, path, &e) == 0);
    off_t at = (off_t)t.pieces.v[20].chunk.offset + 60;
    int fd = open(path, O_RDWR);
    CHECK(pread(fd, &byte, 1, at) == 1);
    byte ^= 0x10;
    CHECK(pwrite(fd, &byte, 1, at) == 1);
    for (u32 threads = 0; threads <= 4; threads++) {
        CHECK_CASE(read_all(&t, threads, false, &end, &e) == 20 && end == -1, "%u threads", threads);
        CHECK(strstr(e.text, "checksum"));
    }
    CHECK(read_all(&t, 2, true, &end, &e) == 6 && end == -1); /* 20 is one of those */
    close(fd);
    trace_close(&t);
}

int main(void)
{
    CHECK(mkdtemp(dir) != NULL);
    snprintf(path, sizeof path, "%s/x.gait", dir);
    CHECK(write_trace());
    everything_comes_in_order();
    whoever_has_seen_enough_may_stop();
    damage_is_told_where_it_is_reached();
    unlink(path);
    rmdir(dir);
    return test_end("ahead");
}
