/* SPDX-License-Identifier: MIT */
/* gait paths cuts an execution into paths, each instruction into one, and counts how often they ran. */
#include "cmd/cmd.h"
#include "sample.h"

static const struct trace_summary exited = {.ending = TRACE_ENDED_exited};
static char said[1 << 16];

static int run(const char *a, const char *b)
{
    char *argv[] = {"paths", sample_path, (char *)a, (char *)b, NULL};
    return sample_run(cmd_paths, argv, said, sizeof said);
}

static bool says(const char *name, u64 n)
{
    char want[64];
    snprintf(want, sizeof want, "%-22s %lu\n", name, (unsigned long)n);
    return strstr(said, want) != NULL;
}

/* A line for a path of so many runs and instructions. */
static bool has_path(u64 runs, u64 instructions, const char *steps)
{
    char want[200];
    snprintf(want, sizeof want, " %% %15lu %13lu %9lu  %s\n", (unsigned long)(runs * instructions),
             (unsigned long)runs, (unsigned long)instructions, steps);
    return strstr(said, want) != NULL;
}

static void a_life_is_five_exits(void)
{
    struct sample s;
    sample_begin(&s);
    sample_life(&s, 2);
    sample_end(&s, &exited);
    CHECK(run("--longest=1", NULL) == 0);
    CHECK_CASE(says("exits", 5) && says("instructions", 19) && says("different_paths", 3), "%s",
               said);
    CHECK_CASE(has_path(3, 4, "0x401000-0x40100b") && has_path(1, 4, "0x401000-0x40100b") &&
                   has_path(1, 3, "0x40100d-0x401018"),
               "%s", said);
}

static void put_loops(struct sample *s, u32 n)
{
    while (n--)
        sample_record(s, LOOP, 1, 0x4c7f2a0ul);
    sample_record(s, LEAVE, 1, 0x4c7f2a0ul);
    sample_call(s, 2);
    sample_record(s, RECORD_syscall, 3, 1ul, 14ul, 200ul);
}

/* A loop whose rounds differ is one path, and what is between the loops another. */
static void loops_are_counted_by_rounds(void)
{
    struct sample s;
    u64 rounds = 0;
    sample_begin(&s);
    sample_state(&s, SAMPLE_RSP);
    for (u32 i = 0; i < 300; i++) {
        u32 n = 20 + i * i % 17;
        put_loops(&s, n);
        rounds += n;
    }
    sample_end(&s, &exited);
    CHECK(run("--longest=1", NULL) == 0);
    CHECK_CASE(says("instructions", 4 * (rounds + 300) + 3 * 300) && says("exits", rounds + 600),
               "%s", said);
    CHECK_CASE(has_path(rounds, 4, "0x401000-0x40100b") && has_path(300, 4, "0x401000-0x40100b") &&
                   has_path(300, 3, "0x40100d-0x401018"),
               "%s", said);
    CHECK(run(NULL, NULL) == 0);
    CHECK_CASE(has_path(rounds, 4, "0x401000-0x40100b") && has_path(300, 7, "0x401000-0x401018"),
               "%s", said);
    CHECK(run("--top=0", NULL) == 0);
    CHECK(!strstr(said, "0x401000"));
}

static void equal_rounds_are_one_path(void)
{
    struct sample s;
    sample_begin(&s);
    sample_state(&s, SAMPLE_RSP);
    for (u32 i = 0; i < 256; i++)
        put_loops(&s, 0);
    sample_end(&s, &exited);
    CHECK(run(NULL, NULL) == 0);
    CHECK_CASE(says("different_paths", 1) && has_path(256, 7, "0x401000-0x401018"), "%s", said);
    CHECK(strstr(said, "100.0 %"));
}

static void grammar_is_printed(void)
{
    struct sample s;
    sample_begin(&s);
    sample_state(&s, SAMPLE_RSP);
    for (u32 i = 0; i < 4; i++)
        put_loops(&s, 0);
    sample_end(&s, &exited);
    CHECK(run("--grammar", NULL) == 0);
    CHECK_CASE(!strcmp(said, "R0 4 7: 401000/4 40100d/3\nR1 2 14: R0 R0\nR2 1 28: R1 R1\n"), "%s",
               said);
    CHECK(run("--grammar", "--json") == 0);
    CHECK_CASE(strstr(said, "\"grammar\": [{\"runs\": 4, \"instructions\": 7, \"body\": "
                            "[\"401000/4\", \"40100d/3\"]}, {"),
               "%s", said);
}

/* What a fault left of a unit is a path of its own; a copy larger than a batch is there once. */
static void partial_and_huge_records_count_once(void)
{
    struct sample s;
    sample_begin(&s);
    sample_state(&s, SAMPLE_RSP);
    sample_call(&s, 30000);
    sample_record(&s, RECORD_syscall, 3, 1ul, 14ul, 200ul);
    for (u32 i = 0; i < 10; i++) {
        sample_record(&s, RECORD_partial, 3, 2ul << 32 | 2ul << 48, 0x4c7f2a0ul, SAMPLE_RSP);
        sample_state(&s, SAMPLE_RSP);
    }
    sample_end(&s, &exited);
    CHECK(run(NULL, NULL) == 0);
    CHECK_CASE(says("exits", 11) && says("instructions", 23), "%s", said);
    CHECK_CASE(has_path(10, 2, "0x401000-0x401003"), "%s", said);
}

/* Thread 1 is busier, and is taken; rules do not span threads. */
static void threads_are_chosen(void)
{
    struct sample s;
    sample_begin(&s);
    sample_state(&s, SAMPLE_RSP);
    put_loops(&s, 0);
    sample_seal(&s, 0);
    sample_state(&s, SAMPLE_RSP);
    put_loops(&s, 0);
    put_loops(&s, 0);
    sample_seal(&s, 1);
    sample_end(&s, &exited);
    CHECK(run(NULL, NULL) == 0);
    CHECK_CASE(strstr(said, "1, the busiest") && says("instructions", 14), "%s", said);
    CHECK(run("--thread=0", NULL) == 0);
    CHECK_CASE(says("thread", 0) && says("instructions", 7), "%s", said);
    CHECK(run("--thread=all", NULL) == 0);
    CHECK_CASE(says("instructions", 21) && has_path(3, 7, "0x401000-0x401018"), "%s", said);
    CHECK(run("--thread=all", "--grammar") == 0);
    CHECK_CASE(!strcmp(said, "R0 3 7: 401000/4 40100d/3\nR1 1 21: R0 | R0 R0 |\n"), "%s", said);
    CHECK(run("--thread=2", NULL) == 1);
    CHECK(run("--thread=none", NULL) == 2);
}

static void nothing_has_no_paths(void)
{
    struct sample s;
    sample_begin(&s);
    sample_state(&s, SAMPLE_RSP);
    sample_end(&s, &exited);
    CHECK(run(NULL, NULL) == 0);
    CHECK_CASE(says("instructions", 0) && says("different_paths", 0), "%s", said);
    CHECK(run("--json", "--grammar") == 0);
}

int main(void)
{
    close(mkstemp(sample_path));
    a_life_is_five_exits();
    loops_are_counted_by_rounds();
    equal_rounds_are_one_path();
    grammar_is_printed();
    partial_and_huge_records_count_once();
    threads_are_chosen();
    nothing_has_no_paths();
    unlink(sample_path);
    return test_end("paths");
}
