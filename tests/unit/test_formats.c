/* SPDX-License-Identifier: MIT */
/* gait formats counts blocks, branches, references and values as they are in records made by hand. */
#include "cmd/cmd.h"
#include "sample.h"

static const struct trace_summary exited = {.ending = TRACE_ENDED_exited};
static char said[1 << 16];

static int run(const char *option)
{
    char *argv[] = {"formats", sample_path, (char *)option, NULL};
    return sample_run(cmd_formats, argv, said, sizeof said);
}

static bool says(const char *name, u64 n)
{
    char want[64];
    snprintf(want, sizeof want, "%-22s %lu\n", name, (unsigned long)n);
    return strstr(said, want) != NULL;
}

static bool takes(const char *name, u64 bytes)
{
    char want[64];
    snprintf(want, sizeof want, "\n%-10s%14lu", name, (unsigned long)bytes);
    return strstr(said, want) != NULL;
}

/* Blocks 401000 three times, 40100d, 401000; the branch behind 401000 is taken, taken, not taken, taken. */
static void a_life_takes_what_it_should(void)
{
    struct sample s;
    sample_begin(&s);
    sample_life(&s, 2);
    sample_end(&s, &exited);
    CHECK(run(NULL) == 0);
    CHECK_CASE(says("instructions", 19) && says("blocks", 5) && says("different_blocks", 2), "%s",
               said);
    CHECK_CASE(says("conditional_branches", 4) && says("targets", 1) && says("references", 17),
               "%s", said);
    CHECK_CASE(says("changed_registers", 5) && says("slots", 12) && says("records", 7), "%s", said);
    CHECK_CASE(takes("BB_pc4", 20) && takes("BB_pc8", 40), "%s", said);
    CHECK_CASE(takes("DEP_C", 2 * (2 + 2 + 2 + 2 + 1 + 2)) && takes("DEP_C_pc", 2 * (2 + 5)), "%s",
               said);
    CHECK_CASE(takes("CF_bit4", 5) && takes("CF_bit8", 9), "%s", said);
    CHECK_CASE(takes("Mem_addr4", 4 * 17) && takes("Mem_addr8", 8 * 17), "%s", said);
    CHECK_CASE(takes("DEP_M_regs", 40) && takes("DEP_M", 96) && takes("REP", 156), "%s", said);
}

/* A record that is given out over several batches is one. */
static void a_huge_copy_is_one_block(void)
{
    struct sample s;
    sample_begin(&s);
    sample_life(&s, 30000);
    sample_end(&s, &exited);
    CHECK(run(NULL) == 0);
    CHECK_CASE(says("instructions", 19) && says("blocks", 5) && says("references", 12 + 60001),
               "%s", said);
    CHECK_CASE(takes("REP", 156) && takes("DEP_M", 96), "%s", said);
}

/* A fault in the middle of the first unit, a handler at the second; it returns to the first. */
static void handlers_begin_blocks_and_have_targets(void)
{
    struct sample s;
    sample_begin(&s);
    sample_state(&s, SAMPLE_RSP);
    sample_record(&s, LOOP, 1, 0x4c7f2a0ul);
    sample_record(&s, RECORD_partial, 3, 2ul << 32 | 2ul << 48, 0x4c7f2a0ul, SAMPLE_RSP);
    sample_record(&s, RECORD_signal, 4, 11ul, 0x40100dul, 0x401008ul, 300ul);
    sample_state(&s, SAMPLE_RSP - 1000);
    sample_call(&s, 1);
    sample_record(&s, RECORD_sigreturn, 2, 0x401000ul, 400ul);
    sample_state(&s, SAMPLE_RSP);
    sample_record(&s, LOOP, 1, 0x4c7f2a0ul);
    sample_end(&s, &exited);
    CHECK(run(NULL) == 0);
    CHECK_CASE(says("instructions", 4 + 2 + 3 + 4) && says("blocks", 4), "%s", said);
    CHECK_CASE(says("conditional_branches", 2) && says("targets", 3), "%s", said);
    CHECK_CASE(says("slots", 3 * 3 + 1 + 2 + 5 + 1) && says("references", 3 + 2 + 3 + 3), "%s",
               said);
    /* rbx and rsp; none in the rest of the unit; rsi, rdi, rcx; rbx and rsp */
    CHECK_CASE(says("changed_registers", 2 + 0 + 3 + 2), "%s", said);
}

/* Where records were lost, a block begins, and where is told. */
static void gaps_have_targets(void)
{
    struct sample s;
    sample_begin(&s);
    sample_state(&s, SAMPLE_RSP);
    sample_record(&s, LOOP, 1, 0x4c7f2a0ul);
    sample_record(&s, RECORD_lost, 2, 1000ul, 300ul);
    sample_record(&s, LOOP, 1, 0x4c7f2a0ul);
    sample_end(&s, &exited);
    CHECK(run(NULL) == 0);
    CHECK_CASE(says("blocks", 2) && says("targets", 2), "%s", said);
}

/* Two threads have tags and bits of their own. */
static void threads_have_profiles_of_their_own(void)
{
    struct sample s;
    sample_begin(&s);
    sample_life(&s, 2);
    sample_seal(&s, 0);
    sample_life(&s, 2);
    sample_seal(&s, 1);
    sample_end(&s, &exited);
    CHECK(run(NULL) == 0);
    CHECK_CASE(says("blocks", 10) && says("different_blocks", 2) && says("targets", 2), "%s", said);
    CHECK_CASE(takes("DEP_C", 44) && takes("CF_bit8", 18), "%s", said);
}

/* The same pc in another process is another block. */
static void processes_have_blocks_of_their_own(void)
{
    struct sample s;
    sample_begin(&s);
    sample_life(&s, 2);
    sample_seal(&s, 0);
    sample_process(&s, TRACE_BY_fork);
    sample_life(&s, 2);
    sample_seal(&s, 1);
    sample_end(&s, &exited);
    CHECK(run(NULL) == 0);
    CHECK_CASE(says("blocks", 10) && says("different_blocks", 4), "%s", said);
}

static void what_was_not_asked_for_is_not_there(void)
{
    CHECK(run("--with=none") == 0);
    CHECK(strstr(said, "\nBB_pc8    ") != NULL);
    CHECK(strstr(said, "-       -             -       -             -       -\n") != NULL);
    CHECK(run("--with=zstd,bzip2") == 0);
    CHECK(run("--with=zstd,gzip") == 2);
}

int main(void)
{
    close(mkstemp(sample_path));
    a_life_takes_what_it_should();
    a_huge_copy_is_one_block();
    handlers_begin_blocks_and_have_targets();
    gaps_have_targets();
    threads_have_profiles_of_their_own();
    processes_have_blocks_of_their_own();
    what_was_not_asked_for_is_not_there();
    unlink(sample_path);
    return test_end("formats");
}
