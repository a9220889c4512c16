/* SPDX-License-Identifier: MIT */
/* A trace gives back what was written into it, and says what is missing; cut and flipped
 * everywhere. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memfd_create */
#endif
#include "decode/trace.h"
#include "wire/wire.h"
#include "test.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static char dir[] = "/tmp/gait-test-trace-XXXXXX";
static char path[64];

/* Append a unit of two instructions, a load from a slot and a jump to itself. */
static void add_unit(struct unit_table *t, u64 pc)
{
    struct unit u = {.pc = pc,
                     .insn0 = (u32)t->insns.n,
                     .n_insns = 2,
                     .ref0 = (u32)t->refs.n,
                     .n_refs = 1,
                     .exit0 = (u32)t->exits.n,
                     .n_exits = 1};
    struct ref load = {.size = 8,
                       .a = 0,
                       .b = TERM_NONE,
                       .seg = TERM_NONE,
                       .x = TERM_NONE,
                       .y = TERM_NONE,
                       .z = TERM_NONE};
    u32 code = (u32)t->code.n;
    static const u8 bytes[] = {0x48, 0x8b, 0x03, 0xeb, 0xfb};
    memcpy(vec_grow(&t->code, sizeof bytes), bytes, sizeof bytes);
    vec_push(&t->insns, ((struct unit_insn){.pc = pc, .len = 3, .refs = 1, .bytes = code}));
    vec_push(&t->insns, ((struct unit_insn){.pc = pc + 3, .len = 2, .bytes = code + 3}));
    vec_push(&t->refs, load);
    vec_push(&t->exits, ((struct unit_exit){.unit = (u32)t->units.n,
                                            .insns = 2,
                                            .refs = 1,
                                            .slots = 1,
                                            .rsp_term = TERM_RSP,
                                            .target = pc}));
    vec_push(&t->units, u);
}

/* What the three threads record: a state, then a loop with another step. */
enum { RECORDS = 5, RECORDS_SIZE = 4 + 8 * RECORD_state_slots + RECORDS * 12 };
static void put_records(u8 *to, u32 thread)
{
    u32 header = RECORD_state << RECORD_ID_SHIFT | RECORD_state_slots;
    const u64 state[] = {0x7ffff000, 0, 0, 1000 + thread};
    memcpy(to, &header, 4);
    memcpy(to + 4, state, sizeof state);
    for (u32 i = 0; i < RECORDS; i++) {
        u8 *r = to + 4 + sizeof state + i * 12ul;
        u64 slot = 0x500000 + (u64)i * (thread + 1) * 8;
        header = FIRST_EXIT_ID << RECORD_ID_SHIFT | 1;
        memcpy(r, &header, 4);
        memcpy(r + 4, &slot, 8);
    }
}

static int write_records(struct trace_writer *w, u32 thread, const struct unit_table *t,
                         struct err *e)
{
    u8 data[RECORDS_SIZE];
    struct pack *p = pack_new(t);
    struct trace_press x = {0};
    put_records(data, thread);
    int bad = pack_records(p, data, sizeof data, e);
    trace_press(&x, p);
    bad = bad || trace_write_records(w, thread, &x, e);
    trace_press_fini(&x);
    pack_free(p);
    return bad;
}

static const char *const args[] = {"prog", "an argument", ""};
static const struct trace_module module = {1, 0x1000, 0x3000, 0x2000, "00ff", "/bin/prog"};
static const struct trace_summary summary = {
    .ending = TRACE_ENDED_exited, .status = 7, .counted = 1, .counts = {.instructions = 4}};

static int write_trace(struct unit_table *t, bool with_end)
{
    struct trace_writer w;
    struct err e;
    char *const argv[] = {"prog", "x", NULL};
    struct trace_process root = {.pid = 10, .how = TRACE_BY_command, .path = "/bin/prog"};
    struct trace_process fork = {.pid = 11, .how = TRACE_BY_fork, .memory = 1, .path = ""};
    struct trace_process gone = {.pid = 12, .how = TRACE_BY_exec, .from = 1, .memory = 2};
    struct trace_thread main = {.tid = 10, .name = "prog"},
                        worker = {.tid = 4711, .name = "worker"};
    struct trace_thread other = {.process = 1, .tid = 11, .name = ""};
    if (trace_writer_open(&w, path, 3, (char *const *)args, &e))
        return -1;
    root.argv = (char **)argv;
    add_unit(t, 0x1000);
    int bad = trace_write_process(&w, &root, &e) || trace_write_thread(&w, &main, &e) ||
              trace_write_units(&w, 0, t, &e) || trace_write_units(&w, 0, t, &e) ||
              write_records(&w, 0, t, &e) || trace_write_process(&w, &fork, &e) ||
              trace_write_modules(&w, 1, &module, 1, &e);
    add_unit(t, 0x2000);
    add_unit(t, 0x2100);
    bad = bad || trace_write_units(&w, 0, t, &e) || trace_write_units(&w, 1, t, &e) ||
          trace_write_thread(&w, &worker, &e) || write_records(&w, 1, t, &e) ||
          trace_write_thread(&w, &other, &e) || write_records(&w, 2, t, &e);
    gone.untraced = TRACE_UNTRACED_bits;
    bad = bad || trace_write_process(&w, &gone, &e);
    fork.ending = TRACE_ENDED_signal, fork.status = 9, fork.ended = 77;
    bad = bad || trace_write_end(&w, &fork, &e);
    return trace_writer_close(&w, with_end ? &summary : NULL, &e) || bad ? -1 : 0;
}

#define SAME(a, b)       (sizeof(a) == sizeof(b) && !memcmp(&(a), &(b), sizeof(a)))
#define SAME_ARRAY(a, b) ((a).n == (b).n && !memcmp((a).v, (b).v, (a).n * sizeof *(a).v))

static bool same_table(const struct unit_table *a, const struct unit_table *b)
{
    return SAME_ARRAY(a->units, b->units) && SAME_ARRAY(a->insns, b->insns) &&
           SAME_ARRAY(a->refs, b->refs) && SAME_ARRAY(a->exits, b->exits) &&
           SAME_ARRAY(a->code, b->code);
}

static bool same_processes(const struct trace *t)
{
    const struct trace_process *p = t->processes.v;
    return t->processes.n == 3 && p[0].pid == 10 && p[0].how == TRACE_BY_command &&
           !strcmp(p[0].path, "/bin/prog") && !strcmp(p[0].argv[1], "x") && !p[0].argv[2] &&
           !p[0].ending && p[1].from == 0 && p[1].how == TRACE_BY_fork && p[1].memory == 1 &&
           p[1].ending == TRACE_ENDED_signal && p[1].status == 9 && p[1].ended == 77 &&
           p[2].from == 1 && p[2].untraced == TRACE_UNTRACED_bits && !p[2].argv[0];
}

static bool same_notes(const struct trace *t)
{
    const struct trace_thread *x = t->threads.v;
    return t->argv && !strcmp(t->argv[1], args[1]) && !strcmp(t->argv[2], "") && !t->argv[3] &&
           t->modules.n == 1 && t->modules.v[0].process == 1 && t->modules.v[0].start == 0x1000 &&
           t->modules.v[0].end == 0x3000 && t->modules.v[0].offset == 0x2000 &&
           !strcmp(t->modules.v[0].build_id, "00ff") &&
           !strcmp(t->modules.v[0].path, "/bin/prog") && t->threads.n == 3 && x[1].number == 1 &&
           x[1].tid == 4711 && x[2].process == 1 && !strcmp(x[1].name, "worker") &&
           same_processes(t) && SAME(t->summary, summary);
}

/* Unpack every piece; false if one is damaged. Those that unpack must be what was written. */
static bool same_records(struct trace *t, struct err *e)
{
    struct store_bytes b = {0};
    bool good = true;
    for (size_t i = 0; i < t->pieces.n && good; i++) {
        u8 was[RECORDS_SIZE], is[4 * RECORD_LIMIT];
        struct unpack u = {0};
        const char *fault = NULL;
        struct pack_head head;
        put_records(was, (u32)i);
        good = !trace_load(t, i, &b, e);
        if (!good)
            break;
        CHECK(!unpack_begin(&u, trace_table(t, i), t->pieces.v[i].n_exits, b.v, b.n));
        CHECK(unpack_some(&u, is, sizeof is, &fault) == sizeof was && !memcmp(is, was, sizeof was));
        CHECK(unpack_some(&u, is, sizeof is, &fault) == 0);
        unpack_end(&u);
        CHECK(!trace_head(t, i, &head, e) && head.records == RECORDS + 1 &&
              head.instructions == 2 * RECORDS && head.bytes == sizeof was &&
              head.began == 1000 + i && head.last == head.began);
    }
    vec_fini(&b);
    return good;
}

static void round_trip(void)
{
    struct unit_table table = {0};
    struct trace t;
    struct err e;
    CHECK(write_trace(&table, true) == 0);
    CHECK_CASE(trace_open(&t, path, &e) == 0, "%s", e.text);
    CHECK(t.complete && !t.damaged && t.n_chunks == 17 && t.has_index);
    CHECK(same_table(&t.units.v[0].table, &table) && same_table(trace_table(&t, 2), &table));
    CHECK(same_notes(&t));
    CHECK(t.pieces.n == 3 && t.pieces.v[0].n_exits == 1 && t.pieces.v[1].n_exits == 3);
    CHECK(t.pieces.v[0].chunk.owner == 0 && t.pieces.v[1].chunk.owner == 1);
    CHECK(t.pieces.v[1].process == 0 && t.pieces.v[2].process == 1 && t.pieces.v[2].memory == 1);
    CHECK(same_records(&t, &e));
    trace_close(&t);
    unit_table_fini(&table);
}

static void an_abandoned_trace_says_interrupted(void)
{
    struct unit_table table = {0};
    struct trace t;
    struct err e;
    CHECK(write_trace(&table, false) == 0);
    CHECK(trace_open(&t, path, &e) == 0);
    CHECK(!t.complete && !t.damaged && strstr(t.trouble.text, "the recording was interrupted"));
    CHECK(same_table(&t.units.v[0].table, &table) && t.pieces.n == 3 && same_records(&t, &e));
    trace_close(&t);
    unit_table_fini(&table);
}

/* -- Damage ---------------------------------------------------------------------------------- */

static size_t slurp(u8 *to, size_t cap)
{
    int fd = open(path, O_RDONLY);
    ssize_t n = read(fd, to, cap);
    close(fd);
    return n < 0 ? 0 : (size_t)n;
}

/* Open and load bytes as if they were a file: is everything there and whole? */
static bool is_whole(const u8 *p, size_t n)
{
    struct trace t;
    struct err e = {{0}};
    char name[64];
    int fd = memfd_create("trace", 0);
    snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    CHECK(write(fd, p, n) == (ssize_t)n);
    bool whole = trace_open(&t, name, &e) == 0;
    if (whole) {
        CHECK(t.complete || t.trouble.text[0]);
        whole = same_records(&t, &e) && t.complete;
        if (whole)
            CHECK(same_notes(&t) && t.units.v[0].table.units.n == 3 && t.pieces.n == 3);
        trace_close(&t);
    }
    CHECK(whole || e.text[0] || t.trouble.text[0]);
    close(fd);
    return whole;
}

static void a_cut_anywhere_is_noticed(const u8 *file, size_t n)
{
    CHECK(is_whole(file, n));
    for (size_t cut = 0; cut < n; cut++)
        CHECK_CASE(!is_whole(file, cut), "cut at %zu", cut);
}

static void a_flipped_bit_is_noticed(u8 *file, size_t n)
{
    for (size_t bit = 0; bit < 8 * n; bit++) {
        file[bit / 8] ^= (u8)(1 << bit % 8);
        CHECK_CASE(!is_whole(file, n), "bit %zu", bit);
        file[bit / 8] ^= (u8)(1 << bit % 8);
    }
}

/* -- Contents that are sealed well and still wrong ----------------------------------------------
 */

/* Open a file with these chunks behind the command line and one process; what the reader says of it. */
static const char *said_of(const struct store_chunk *c, const void *const *data, size_t n)
{
    static struct err e;
    struct store_writer w;
    struct trace t;
    u32 none = 0;
    const u32 process[11] = {1};
    store_writer_open(&w, path, &e);
    store_append(&w, CHUNK_command, 0, &none, sizeof none, &e);
    store_append(&w, CHUNK_processes, 0, process, sizeof process, &e);
    for (size_t i = 0; i < n; i++)
        store_append(&w, c[i].kind, c[i].owner, data[i], c[i].raw_size, &e);
    store_writer_close(&w, &e);
    e.text[0] = 0;
    if (trace_open(&t, path, &e))
        return e.text;
    e = t.trouble;
    trace_close(&t);
    return e.text;
}

static const char *said_of_one(u32 kind, const void *data, size_t size)
{
    struct store_chunk c = {.kind = kind, .raw_size = size};
    return said_of(&c, &data, 1);
}

static void wrong_contents_are_refused(void)
{
    u32 words[64] = {0};
    CHECK(strstr(said_of_one(77, words, 4), "no known kind"));
    CHECK(strstr(said_of_one(CHUNK_command, words, 4), "wrong place"));
    CHECK(strstr(said_of_one(CHUNK_units, words, 40), "does not continue"));
    CHECK(strstr(said_of_one(CHUNK_units, words, 48), "brings no units"));
    words[5] = 1; /* one unit, and no columns */
    CHECK(strstr(said_of_one(CHUNK_units, words, 48), "bad column for pc of its units"));
    u8 zeros[48 + 70] = {0};
    zeros[20] =
        1; /* all its fields are zero: a column of one byte for each of seven, and none for the others */
    for (u32 i = 0; i < 7; i++)
        zeros[48 + 2 * i] = 1;
    CHECK(strstr(said_of_one(CHUNK_units, zeros, 48 + 2 * 7 + 32), "more units than instructions"));
    CHECK(strstr(said_of_one(CHUNK_units, zeros, 48 + 2 * 7 + 33), "does not have the code"));
    words[0] = 1; /* an index of one chunk */
    CHECK(strstr(said_of_one(CHUNK_index, words, 52), "does not list the chunks"));
    words[0] = 9; /* that begins at 9 */
    CHECK(strstr(said_of_one(CHUNK_units, words, 80), "does not continue"));
    words[0] = 5; /* five modules, no bytes for them */
    CHECK(strstr(said_of_one(CHUNK_modules, words, 4), "does not hold what its kind says"));
    words[0] = 1; /* one thread, that ends in the middle */
    CHECK(strstr(said_of_one(CHUNK_threads, words, 6), "does not hold what its kind says"));
    words[0] = 99;
    CHECK(strstr(said_of_one(CHUNK_summary, words, 96), "unknown ending"));
    CHECK(strstr(said_of_one(CHUNK_summary, words, 95), "does not hold what its kind says"));
    CHECK(strstr(said_of_one(CHUNK_records, words, 0), "thread that is not there"));
}

static void wrong_processes_are_refused(void)
{
    /* count, number, pid, from, how, memory, untraced, time stamp, path, arguments */
    u32 words[11] = {1, 1, 0, 0, TRACE_BY_fork, 1};
    CHECK(strstr(said_of_one(CHUNK_processes, words, 44), "no summary"));
    words[1] = 2;
    CHECK(strstr(said_of_one(CHUNK_processes, words, 44), "does not follow"));
    words[1] = 1, words[3] = 1;
    CHECK(strstr(said_of_one(CHUNK_processes, words, 44), "from nowhere"));
    words[3] = 0, words[4] = TRACE_BY_command;
    CHECK(strstr(said_of_one(CHUNK_processes, words, 44), "from nowhere"));
    words[4] = TRACE_HOW_LIMIT;
    CHECK(strstr(said_of_one(CHUNK_processes, words, 44), "unknown kind"));
    words[4] = TRACE_BY_vfork, words[5] = 2;
    CHECK(strstr(said_of_one(CHUNK_processes, words, 44), "in the memory of"));
    words[5] = 0;
    CHECK(strstr(said_of_one(CHUNK_processes, words, 44), "no summary"));
    CHECK(strstr(said_of_one(CHUNK_processes, words, 43), "does not hold"));

    const u32 thread[5] = {1, 0, 1}, later[5] = {1, 1}, end[6] = {1, 1};
    CHECK(strstr(said_of_one(CHUNK_threads, thread, 20), "process that is not there"));
    CHECK(strstr(said_of_one(CHUNK_threads, later, 20), "does not follow"));
    CHECK(strstr(said_of_one(CHUNK_ends, end, 24), "not there"));
    struct store_chunk c = {.kind = CHUNK_modules, .owner = 1, .raw_size = 4};
    const void *data = thread;
    CHECK(strstr(said_of(&c, &data, 1), "is of a process that is not there"));
    c.kind = CHUNK_summary;
    CHECK(strstr(said_of(&c, &data, 1), "has an owner"));
}

/* Zeros compress ten thousand times: a small file must not become a large table. */
static void a_bomb_is_refused(void)
{
    enum { EACH = 15 << 20, CHUNKS = 40 };
    u8 *zeros = calloc(1, EACH);
    struct store_chunk c[CHUNKS];
    const void *data[CHUNKS];
    u32 head[12] = {0};
    head[9] = EACH - 48 - 39; /* code bytes, behind 39 empty columns */
    for (size_t i = 0; i < CHUNKS; i++) {
        c[i] = (struct store_chunk){.kind = CHUNK_units, .raw_size = EACH};
        u8 *copy = malloc(EACH);
        memcpy(copy, zeros, EACH);
        head[4] = (u32)i * head[9];
        memcpy(copy, head, sizeof head);
        data[i] = copy;
    }
    CHECK(strstr(said_of(c, data, CHUNKS), "too large to be true"));
    for (size_t i = 0; i < CHUNKS; i++)
        free((void *)data[i]);
    CHECK(strstr(said_of_one(CHUNK_modules, zeros, EACH), "does not hold"));
    free(zeros);
}

/* A table too large for one chunk arrives whole, and is not used before it is. */
static void a_large_table_comes_back(void)
{
    struct unit_table table = {0};
    struct trace_writer w;
    struct trace t;
    struct err e;
    for (u64 i = 0; i < 150000; i++)
        add_unit(&table, 0x400000 + 8 * i);
    struct trace_process root = {.how = TRACE_BY_command};
    CHECK(trace_writer_open(&w, path, 0, NULL, &e) == 0);
    CHECK(trace_write_process(&w, &root, &e) == 0);
    CHECK(trace_write_units(&w, 0, &table, &e) == 0);
    CHECK(trace_writer_close(&w, &summary, &e) == 0);
    CHECK_CASE(trace_open(&t, path, &e) == 0, "%s", e.text);
    CHECK(t.complete && t.n_chunks > 3 && same_table(&t.units.v[0].table, &table));
    u64 size = t.store.size;
    trace_close(&t);

    CHECK(truncate(path, (off_t)size / 2) == 0);
    CHECK_CASE(trace_open(&t, path, &e) == 0, "%s", e.text);
    CHECK(!t.complete && !t.damaged && t.units.v[0].table.units.n == 0);
    trace_close(&t);
    unit_table_fini(&table);
}

static void a_full_disk_is_said(void)
{
    struct trace_writer w;
    struct err e;
    CHECK(trace_writer_open(&w, "/dev/full", 0, NULL, &e) == -1);
    CHECK(strstr(e.text, "No space left on device") != NULL);
}

int main(void)
{
    if (!mkdtemp(dir))
        return 1;
    snprintf(path, sizeof path, "%s/x.gait", dir);
    an_abandoned_trace_says_interrupted();
    round_trip();
    static u8 file[8192];
    size_t n = slurp(file, sizeof file);
    a_cut_anywhere_is_noticed(file, n);
    a_flipped_bit_is_noticed(file, n);
    wrong_contents_are_refused();
    wrong_processes_are_refused();
    a_bomb_is_refused();
    a_large_table_comes_back();
    a_full_disk_is_said();
    unlink(path);
    rmdir(dir);
    return test_end("trace");
}
