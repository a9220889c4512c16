/* SPDX-License-Identifier: MIT */
/* A small trace made by hand: two units and any records, and a command run on it in a child. */
#ifndef SAMPLE_H
#define SAMPLE_H

#include "decode/trace.h"
#include "wire/wire.h"
#include "test.h"

#include <fcntl.h>
#include <getopt.h>
#include <stdarg.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char sample_path[] = "/tmp/gait-test-XXXXXX";

enum {
    LOOP = FIRST_EXIT_ID, /* the first unit, back to itself: one slot */
    LEAVE,                /* the first unit, on to the second; pushes 16 bytes */
    CALL,                 /* the second unit, into the kernel and to the first: five slots */
};
#define SAMPLE_RSP 0x7ffffffde000ul
#define SAMPLE_FS  0x7ffff7d80740ul

static struct ref sample_ref(u16 insn, u8 kind, u8 a, s64 disp, u32 size)
{
    return (struct ref){.insn = insn,
                        .kind = kind,
                        .a = a,
                        .disp = disp,
                        .size = size,
                        .b = TERM_NONE,
                        .seg = TERM_NONE,
                        .x = TERM_NONE,
                        .y = TERM_NONE,
                        .z = TERM_NONE};
}

/* 401000: mov rax,[rbx]   mov [rsp-8],rax   add [rbx+16],eax   jcc 401000 */
static void sample_first_unit(struct unit_table *t)
{
    static const u8 code[] = {0x48, 0x8b, 0x03, 0x48, 0x89, 0x44, 0x24,
                              0xf8, 0x01, 0x43, 0x10, 0x75, 0xf3};
    memcpy(vec_grow(&t->code, sizeof code), code, sizeof code);
    vec_push(&t->units, ((struct unit){.pc = 0x401000, .n_insns = 4, .n_refs = 3, .n_exits = 2}));
    vec_push(&t->insns, ((struct unit_insn){.pc = 0x401000, .len = 3, .refs = 1}));
    vec_push(&t->insns, ((struct unit_insn){.pc = 0x401003, .len = 5, .refs = 1, .bytes = 3}));
    vec_push(&t->insns, ((struct unit_insn){.pc = 0x401008, .len = 3, .refs = 1, .bytes = 8}));
    vec_push(&t->insns, ((struct unit_insn){.pc = 0x40100b, .len = 2, .bytes = 11}));
    vec_push(&t->refs, sample_ref(0, REF_LOAD, 0, 0, 8));
    vec_push(&t->refs, sample_ref(1, REF_STORE, TERM_RSP, -8, 8));
    vec_push(&t->refs, sample_ref(2, REF_MODIFY, 0, 16, 4));
    struct unit_exit loop = {
        .insns = 4, .refs = 3, .slots = 1, .rsp_term = TERM_RSP, .target = 0x401000};
    struct unit_exit leave = loop;
    leave.rsp_disp = -16, leave.target = 0x40100d;
    vec_push(&t->exits, loop);
    vec_push(&t->exits, leave);
}

/* 40100d: mov rax,fs:[28]   rep movsb   syscall */
static void sample_second_unit(struct unit_table *t)
{
    static const u8 code[] = {0x64, 0x48, 0x8b, 0x04, 0x25, 0x28, 0, 0, 0, 0xf3, 0xa4, 0x0f, 0x05};
    memcpy(vec_grow(&t->code, sizeof code), code, sizeof code);
    vec_push(&t->units, ((struct unit){.pc = 0x40100d,
                                       .insn0 = 4,
                                       .n_insns = 3,
                                       .ref0 = 3,
                                       .n_refs = 3,
                                       .exit0 = 2,
                                       .n_exits = 1}));
    vec_push(&t->insns, ((struct unit_insn){.pc = 0x40100d, .len = 9, .refs = 1, .bytes = 13}));
    vec_push(&t->insns, ((struct unit_insn){.pc = 0x401016, .len = 2, .refs = 2, .bytes = 22}));
    vec_push(&t->insns, ((struct unit_insn){.pc = 0x401018, .len = 2, .bytes = 24}));
    struct ref canary = sample_ref(0, REF_LOAD, TERM_NONE, 0x28, 8);
    struct ref from = sample_ref(1, REF_LOAD, 1, 0, 1), to = sample_ref(1, REF_STORE, 2, 0, 1);
    canary.seg = TERM_FS;
    from.op = to.op = REF_REP;
    from.flags = REF_PAIRED;
    from.x = to.x = 0, from.z = 3, to.z = 4;
    vec_push(&t->refs, canary);
    vec_push(&t->refs, from);
    vec_push(&t->refs, to);
    vec_push(&t->exits, ((struct unit_exit){.unit = 1,
                                            .insns = 3,
                                            .refs = 3,
                                            .slots = 5,
                                            .kind = EXIT_SYSCALL,
                                            .rsp_term = TERM_RSP,
                                            .target = 0x401000}));
}

/* Records of one thread, in the making. */
struct sample {
    struct unit_table table;
    struct trace_writer writer;
    struct store_bytes records;
    u32 process; /* whose threads those are that come next */
};

/* A process, and its units: always the same two. */
static void sample_process(struct sample *s, u32 how)
{
    struct err e;
    struct trace_process p = {.pid = 4711, .how = how, .path = "/bin/sample"};
    p.memory = (u32)s->writer.written.n;
    CHECK(trace_write_process(&s->writer, &p, &e) == 0);
    CHECK(trace_write_units(&s->writer, p.number, &s->table, &e) == 0);
    s->process = p.number;
}

static void sample_begin(struct sample *s)
{
    static char *const argv[] = {"sample", "a \"quoted\" word"};
    struct err e;
    *s = (struct sample){0};
    sample_first_unit(&s->table);
    sample_second_unit(&s->table);
    CHECK(trace_writer_open(&s->writer, sample_path, 2, argv, &e) == 0);
    sample_process(s, TRACE_BY_command);
}

/* Append one record; the slots follow as u64. */
static void sample_record(struct sample *s, u32 id, u32 slots, ...)
{
    va_list ap;
    u32 header = id << RECORD_ID_SHIFT | slots;
    memcpy(vec_grow(&s->records, 4), &header, 4);
    va_start(ap, slots);
    for (u32 i = 0; i < slots; i++) {
        u64 x = va_arg(ap, u64);
        memcpy(vec_grow(&s->records, 8), &x, 8);
    }
    va_end(ap);
}

static void sample_state(struct sample *s, u64 rsp)
{
    sample_record(s, RECORD_state, 4, rsp, SAMPLE_FS, 0ul, 100ul);
}

static void sample_call(struct sample *s, u64 count)
{
    sample_record(s, CALL, 5, count, 0x500000ul, 0x600000ul, 0x500000 + count, 0x600000 + count);
}

/* End a chunk of records. */
static void sample_seal(struct sample *s, u32 thread)
{
    struct err e;
    struct trace_thread t = {.process = s->process, .tid = 4711, .name = "sample"};
    while (s->writer.threads <= thread)
        CHECK(trace_write_thread(&s->writer, &t, &e) == 0);
    struct pack *p = pack_new(&s->table);
    struct trace_press x = {0};
    CHECK_CASE(pack_records(p, s->records.v, s->records.n, &e) == 0, "%s", e.text);
    trace_press(&x, p);
    CHECK(trace_write_records(&s->writer, thread, &x, &e) == 0);
    trace_press_fini(&x);
    pack_free(p);
    s->records.n = 0;
}

static void sample_end(struct sample *s, const struct trace_summary *summary)
{
    struct err e;
    if (s->records.n)
        sample_seal(s, 0);
    CHECK(trace_writer_close(&s->writer, summary, &e) == 0);
    vec_fini(&s->records);
    unit_table_fini(&s->table);
}

/* A program's life: three loops, a copy of `count` bytes, a system call, one loop more. */
static void sample_life(struct sample *s, u64 count)
{
    sample_state(s, SAMPLE_RSP);
    sample_record(s, LOOP, 1, 0x4c7f2a0ul);
    sample_record(s, LOOP, 1, 0x4c7f2a8ul);
    sample_record(s, LEAVE, 1, 0x4c7f2b0ul);
    sample_call(s, count);
    sample_record(s, RECORD_syscall, 3, 1ul, 14ul, 200ul);
    sample_record(s, LOOP, 1, 0xffff800000000000ul);
}

/* Run a command in a child and collect what it prints on either stream; the exit status. */
static int sample_run(int (*cmd)(int, char **), char **argv, char *out, size_t cap)
{
    int fd[2], status, argc = 0;
    size_t n = 0;
    if (pipe(fd))
        return -1;
    while (argv[argc])
        argc++;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        dup2(fd[1], 1);
        dup2(fd[1], 2);
        close(fd[0]);
        close(fd[1]);
        optind = 0;
        exit(cmd(argc, argv));
    }
    close(fd[1]);
    for (ssize_t k; (k = read(fd[0], out + n, cap - 1 - n)) > 0;)
        n += (size_t)k;
    out[n] = 0;
    close(fd[0]);
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

#endif
