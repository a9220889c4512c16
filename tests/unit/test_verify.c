/* SPDX-License-Identifier: MIT */
/* gait verify accepts a possible life and names what makes one impossible. */
#include "cmd/cmd.h"
#include "sample.h"

static const struct trace_summary exited = {.ending = TRACE_ENDED_exited};
static char said[4096];

static int verify(void)
{
    char *argv[] = {"verify", sample_path, NULL};
    return sample_run(cmd_verify, argv, said, sizeof said);
}

/* Write a trace with the records that `more` adds to a state record, and expect these words of it.
 */
#define IMPOSSIBLE(words, ...)                                                                \
    do {                                                                                      \
        struct sample s;                                                                      \
        sample_begin(&s);                                                                     \
        sample_state(&s, SAMPLE_RSP);                                                         \
        __VA_ARGS__;                                                                          \
        sample_end(&s, &exited);                                                              \
        int status = verify();                                                                \
        CHECK_CASE(status == 1 && strstr(said, words), "%d: %s", status, said);               \
        CHECK_CASE(strstr(said, "chunk 4 at offset") || strstr(said, "chunk 5"), "%s", said); \
    } while (0)

static void a_possible_life_is_accepted(void)
{
    struct sample s;
    sample_begin(&s);
    sample_life(&s, 5);
    sample_seal(&s, 0);
    sample_state(&s, SAMPLE_RSP - 16); /* the next buffer goes on where this one ended */
    sample_record(&s, LOOP, 1, 0x1000ul);
    sample_end(&s, &exited);
    CHECK(verify() == 0);
    CHECK_CASE(strstr(said, ": ok: 8 chunks, 9 records, 49 events\n"), "%s", said);
}

static void threads_have_lives_of_their_own(void)
{
    struct sample s;
    sample_begin(&s);
    sample_state(&s, SAMPLE_RSP);
    sample_record(&s, LEAVE, 1, 0x1000ul);
    sample_seal(&s, 0);
    sample_state(&s, 0x1234560);
    sample_record(&s, LOOP, 1, 0x1000ul);
    sample_seal(&s, 1);
    sample_state(&s, SAMPLE_RSP - 16);
    sample_call(&s, 0);
    sample_end(&s, &exited); /* ended in the kernel: exit_group does not return */
    CHECK_CASE(verify() == 0, "%s", said);
}

/* A copy too large for one batch is one record and one instruction. */
static void a_huge_copy_is_counted_once(void)
{
    struct sample s;
    struct trace_summary sum = exited;
    sample_begin(&s);
    sample_life(&s, 1000000);
    sum.counted = 1;
    sum.counts = (struct trace_counts){.instructions = 19,
                                       .loads = 1000005,
                                       .stores = 1000004,
                                       .modifies = 4,
                                       .records = 7,
                                       .syscalls = 1,
                                       .bytes = s.records.n};
    sample_end(&s, &sum);
    CHECK_CASE(verify() == 0, "%s", said);
    CHECK_CASE(strstr(said, "7 records, 2000032 events"), "%s", said);
}

static void impossible_lives_are_rejected(void)
{
    IMPOSSIBLE("does not begin where the exit before it leads",
               sample_record(&s, LOOP, 1, 0x1000ul), sample_call(&s, 1));
    IMPOSSIBLE("no system call is recorded", sample_record(&s, LEAVE, 1, 0x1000ul),
               sample_call(&s, 1), sample_record(&s, LOOP, 1, 0x1000ul));
    IMPOSSIBLE("does not enter the kernel", sample_record(&s, LOOP, 1, 0x1000ul),
               sample_record(&s, RECORD_syscall, 3, 1ul, 0ul, 0ul));
    IMPOSSIBLE("another stack pointer", sample_record(&s, LEAVE, 1, 0x1000ul),
               sample_state(&s, SAMPLE_RSP));
    IMPOSSIBLE("address that cannot exist", sample_record(&s, LOOP, 1, 1ul << 60));
    IMPOSSIBLE("after its thread left", sample_record(&s, RECORD_native, 2, 1ul, 0ul),
               sample_record(&s, LOOP, 1, 0x1000ul));
}

/* One more unit in the table: the first one again. */
static void add_unit(struct unit_table *t)
{
    struct unit u = t->units.v[0];
    u.insn0 = (u32)t->insns.n, u.ref0 = (u32)t->refs.n, u.exit0 = (u32)t->exits.n;
    for (u32 i = 0; i < u.n_insns; i++) {
        struct unit_insn in = t->insns.v[i];
        in.bytes = (u32)t->code.n;
        memset(vec_grow(&t->code, in.len), 0x90, in.len);
        vec_push(&t->insns, in);
    }
    for (u32 i = 0; i < u.n_refs; i++) {
        struct ref r = t->refs.v[i];
        vec_push(&t->refs, r);
    }
    for (u32 i = 0; i < u.n_exits; i++) {
        struct unit_exit x = t->exits.v[i];
        x.unit = (u32)t->units.n;
        vec_push(&t->exits, x);
    }
    vec_push(&t->units, u);
}

static void a_record_before_its_unit_is_rejected(void)
{
    struct sample s;
    struct err e;
    sample_begin(&s);
    add_unit(&s.table);
    sample_state(&s, SAMPLE_RSP);
    sample_record(&s, CALL + 1, 1, 0x1000ul);
    sample_seal(&s, 0);
    CHECK(trace_write_units(&s.writer, 0, &s.table, &e) == 0);
    sample_end(&s, &exited);
    CHECK(verify() == 1);
    CHECK_CASE(strstr(said, "chunk 4 at offset") && strstr(said, "bad sequence of records"), "%s",
               said);
}

static void a_wrong_summary_is_rejected(void)
{
    struct sample s;
    struct trace_summary sum = exited;
    sum.counted = 1;
    sum.counts.instructions = 18;
    sample_begin(&s);
    sample_life(&s, 5);
    sample_end(&s, &sum);
    CHECK(verify() == 1);
    CHECK_CASE(strstr(said, "18 instructions were recorded, but the records hold 19"), "%s", said);
}

static void other_events_than_were_decoded_live_are_rejected(void)
{
    struct sample s;
    struct trace_summary sum = exited;
    sum.digest = 4711;
    sample_begin(&s);
    sample_life(&s, 5);
    sample_end(&s, &sum);
    CHECK(verify() == 1);
    CHECK_CASE(strstr(said, "not those that were decoded while it was recorded"), "%s", said);
}

static void an_interrupted_recording_is_said(void)
{
    struct sample s;
    sample_begin(&s);
    sample_life(&s, 5);
    sample_end(&s, NULL);
    CHECK(verify() == 1);
    CHECK_CASE(strstr(said, "the recording was interrupted"), "%s", said);
}

static void lost_buffers_are_said(void)
{
    struct sample s;
    struct trace_summary sum = exited;
    sum.lost_buffers = 2;
    sample_begin(&s);
    sample_state(&s, SAMPLE_RSP);
    sample_record(&s, LOOP, 1, 0x1000ul);
    sample_seal(&s, 0);
    sample_state(&s, SAMPLE_RSP - 48);
    sample_record(&s, RECORD_lost, 2, 4096ul, 100ul);
    sample_call(&s, 0);
    sample_end(&s, &sum);
    CHECK(verify() == 0);
    CHECK_CASE(strstr(said, "2 buffers were lost"), "%s", said);
}

/* The partial record of a fault in the second instruction of the first unit, and what comes with it. */
static void a_handler_begins_where_the_fault_was(void)
{
    struct {
        u64 unit, insns, refs, pc;
        bool good;
    } cases[] = {{0, 1, 1, 0x7777, true}, {0, 1, 9, 0x7777, false}, {99, 1, 1, 0x7777, false}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct sample s;
        sample_begin(&s);
        sample_state(&s, SAMPLE_RSP);
        sample_record(&s, RECORD_partial, 3,
                      cases[i].unit | cases[i].insns << 32 | cases[i].refs << 48, 0x1000ul,
                      SAMPLE_RSP);
        sample_record(&s, RECORD_signal, 4, 11ul, s.table.units.v[0].pc, cases[i].pc, 100ul);
        sample_state(&s, SAMPLE_RSP - 1000);
        sample_record(&s, LOOP, 1, 0x1000ul);
        sample_end(&s, &exited);
        CHECK_CASE((verify() == 0) == cases[i].good, "case %zu: %s", i, said);
    }
}

int main(void)
{
    int fd = mkstemp(sample_path);
    if (fd < 0)
        return 1;
    close(fd);
    a_possible_life_is_accepted();
    threads_have_lives_of_their_own();
    a_huge_copy_is_counted_once();
    impossible_lives_are_rejected();
    a_record_before_its_unit_is_rejected();
    a_wrong_summary_is_rejected();
    other_events_than_were_decoded_live_are_rejected();
    an_interrupted_recording_is_said();
    lost_buffers_are_said();
    a_handler_begins_where_the_fault_was();
    unlink(sample_path);
    return test_end("verify");
}
