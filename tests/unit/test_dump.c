/* SPDX-License-Identifier: MIT */
/* gait dump prints what docs/events.md says, and gait info counts what gait dump prints. */
#include "cmd/cmd.h"
#include "sample.h"

static const struct trace_summary exited = {.ending = TRACE_ENDED_exited, .status = 3};
static char said[1 << 20];

static int run(int (*cmd)(int, char **), const char *a, const char *b)
{
    char *argv[] = {"cmd", sample_path, (char *)a, (char *)b, NULL};
    return sample_run(cmd, argv, said, sizeof said);
}

static void write_life(u64 count, const struct trace_summary *summary)
{
    struct sample s;
    sample_begin(&s);
    sample_life(&s, count);
    sample_end(&s, summary);
}

static void lackey_lines_are_exact(void)
{
    static const char loop[] = "I  00401000,3\n L %s,8\nI  00401003,5\n S %s,8\n"
                               "I  00401008,3\n M %s,4\nI  0040100b,2\n";
    char want[4096];
    int n = 0;
    n += sprintf(want + n, loop, "04c7f2a0", "7ffffffddff8", "04c7f2b0");
    n += sprintf(want + n, loop, "04c7f2a8", "7ffffffddff8", "04c7f2b8");
    n += sprintf(want + n, loop, "04c7f2b0", "7ffffffddff8", "04c7f2c0");
    n += sprintf(want + n, "I  0040100d,9\n L 7ffff7d80768,8\nI  00401016,2\n");
    n += sprintf(want + n, " L 00500000,1\n S 00600000,1\n L 00500001,1\n S 00600001,1\n");
    n += sprintf(want + n, "I  00401018,2\n");
    sprintf(want + n, loop, "ffff800000000000", "7ffffffddfe8", "ffff800000000010");
    write_life(2, &exited);
    CHECK(run(cmd_dump, "--format=lackey", NULL) == 0);
    CHECK_CASE(!strcmp(said, want), "%s", said);
}

static u64 lines_that_begin(char c, char second)
{
    u64 n = 0;
    for (const char *p = said; *p; p = strchr(p, '\n') + 1)
        n += p[0] == c && (!second || p[1] == second);
    return n;
}

static bool info_says(const char *name, u64 n)
{
    char want[64];
    snprintf(want, sizeof want, "%-22s %lu\n", name, (unsigned long)n);
    return strstr(said, want) != NULL;
}

/* A copy that is larger than a batch is one instruction, and every byte of it is there. */
static void a_huge_copy_is_one_instruction(void)
{
    write_life(30000, &exited);
    CHECK(run(cmd_dump, "--format=lackey", NULL) == 0);
    CHECK(lines_that_begin('I', 0) == 19);
    CHECK(lines_that_begin(' ', 'L') == 30005);
    CHECK(lines_that_begin(' ', 'S') == 30004);
    CHECK(lines_that_begin(' ', 'M') == 4);
    CHECK(run(cmd_info, NULL, NULL) == 0);
    CHECK_CASE(info_says("instructions", 19) && info_says("loads", 30005) &&
                   info_says("stores", 30004) && info_says("modifies", 4) &&
                   info_says("records", 7) && info_says("syscalls", 1),
               "%s", said);
}

static void text_shows_system_calls_and_threads(void)
{
    write_life(1, &exited);
    CHECK(run(cmd_dump, NULL, NULL) == 0);
    CHECK(strstr(said, "thread                pc  event            address  size\n") == said);
    CHECK(strstr(said, "\n     0                 -  syscall 1 e c8\n") != NULL);
    CHECK(strstr(said, "\n     0            401003  store       7ffffffddff8     8\n") != NULL);
    CHECK(strstr(said, "\n     0            401016  exec              401016     2\n") != NULL);
}

static void the_limit_counts_lines(void)
{
    write_life(1, &exited);
    CHECK(run(cmd_dump, "--limit=3", "--format=lackey") == 0);
    CHECK_CASE(!strcmp(said, "I  00401000,3\n L 04c7f2a0,8\nI  00401003,5\n"), "%s", said);
    CHECK(run(cmd_dump, "--limit=0", "--format=lackey") == 0);
    CHECK(said[0] == 0);
    CHECK(run(cmd_dump, "--limit=1x", NULL) == 2);
    CHECK(run(cmd_dump, "--limit=", NULL) == 2);
    CHECK(run(cmd_dump, "--format=xml", NULL) == 2);
    CHECK(run(cmd_dump, "--colour", NULL) == 2);
    CHECK(strncmp(said, "gait: ", 6) == 0 && strchr(said, '\n') == said + strlen(said) - 1);
    CHECK(run(cmd_dump, "another", NULL) == 2);
}

static void info_tells_how_it_ended(void)
{
    write_life(1, &exited);
    CHECK(run(cmd_info, NULL, NULL) == 0);
    CHECK(strstr(said, "exited with status 3\n") && strstr(said, "complete               yes\n"));
    CHECK(run(cmd_info, "--json", NULL) == 0);
    CHECK(strstr(said, "\"command\": [\"sample\", \"a \\\"quoted\\\" word\"]") != NULL);
    CHECK(strstr(said, "\"complete\": true, \"trouble\": null") != NULL);
    write_life(1, NULL);
    CHECK(run(cmd_info, NULL, NULL) == 0);
    CHECK(strstr(said, "complete               no\n") && strstr(said, "was interrupted"));
}

/* What stands before the damage is shown; then the damage is an error. */
static void damage_comes_after_what_is_sound(void)
{
    struct sample s;
    sample_begin(&s);
    sample_life(&s, 1);
    sample_seal(&s, 0);
    u64 end = s.writer.store.at;
    sample_state(&s, SAMPLE_RSP - 16);
    sample_record(&s, LOOP, 1, 0x1000ul);
    sample_end(&s, &exited);
    int fd = open(sample_path, O_WRONLY);
    CHECK(pwrite(fd, "\xa5", 1, (off_t)end + 50) == 1);
    close(fd);
    CHECK(run(cmd_dump, "--format=lackey", NULL) == 1);
    CHECK(lines_that_begin('I', 0) == 19);
    CHECK_CASE(strstr(said, "gait: ") && strstr(said, "chunk 5 at offset"), "%s", said);
}

int main(void)
{
    int fd = mkstemp(sample_path);
    if (fd < 0)
        return 1;
    close(fd);
    lackey_lines_are_exact();
    a_huge_copy_is_one_instruction();
    text_shows_system_calls_and_threads();
    the_limit_counts_lines();
    info_tells_how_it_ended();
    damage_comes_after_what_is_sound();
    unlink(sample_path);
    return test_end("dump");
}
