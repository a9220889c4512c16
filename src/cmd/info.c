/* SPDX-License-Identifier: MIT */
/* gait info: what a trace holds, counted by decoding it, so that it is what `gait dump` would
 * print. */
#include "cmd/cmd.h"
#include "decode/walk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct option options[] = {
    {"json", no_argument, NULL, 'j'},
    {0},
};

static void count(struct trace *t, struct trace_counts *n)
{
    struct walk w;
    struct err e;
    int more;
    walk_init(&w, t);
    while ((more = walk_next(&w, &e)) > 0)
        walk_count(&w, n);
    walk_fini(&w);
    if (more < 0)
        die("%s", e.text);
}

/* Threads that have records. */
static u32 count_threads(const struct trace *t)
{
    u8 *seen = calloc(1, TRACE_THREAD_LIMIT);
    u32 n = 0;
    check(seen != NULL);
    for (size_t i = 0; i < t->pieces.n; i++) {
        u8 *s = &seen[t->pieces.v[i].chunk.thread];
        n += !*s;
        *s = 1;
    }
    free(seen);
    return n;
}

/* The numbers, in the order of both forms. */
#define NUMBERS(X)                           \
    X(instructions, n->instructions)         \
    X(loads, n->loads)                       \
    X(stores, n->stores)                     \
    X(modifies, n->modifies)                 \
    X(syscalls, n->syscalls)                 \
    X(records, n->records)                   \
    X(record_bytes, n->bytes)                \
    X(units, t->table.units.n)               \
    X(exits, t->table.exits.n)               \
    X(threads, count_threads(t))             \
    X(modules, t->modules.n)                 \
    X(chunks, t->n_chunks)                   \
    X(untraced_tasks, t->summary.untraced)   \
    X(lost_buffers, t->summary.lost_buffers) \
    X(file_bytes, t->store.size)

static double per_instruction(const struct trace *t, const struct trace_counts *n)
{
    return n->instructions ? (double)t->store.size / (double)n->instructions : 0;
}

/* -- Text ------------------------------------------------------------------------------------ */

static const char *ending_text(const struct trace_summary *s)
{
    switch (s->ending) {
    case TRACE_ENDED_exited:
        return "exited with status";
    case TRACE_ENDED_signal:
        return "was killed by signal";
    case TRACE_ENDED_detached:
        return "went on untraced";
    default:
        return "is not known";
    }
}

static void print_command(const struct trace *t)
{
    printf("%-22s", "command");
    for (size_t i = 0; i < t->argv.n; i++)
        printf(" %s", t->argv.v[i]);
    putchar('\n');
}

static void print_text(const struct trace *t, const struct trace_counts *n)
{
    const struct trace_summary *s = &t->summary;
    bool has_status = s->ending == TRACE_ENDED_exited || s->ending == TRACE_ENDED_signal;
    print_command(t);
    printf("%-22s %s", "program", ending_text(s));
    if (has_status)
        printf(" %u", s->status);
    printf("\n%-22s %s\n", "complete", t->complete ? "yes" : "no");
    if (!t->complete)
        printf("%-22s %s\n", "trouble", t->trouble.text);
#define X(name, value) printf("%-22s %lu\n", #name, (unsigned long)(value));
    NUMBERS(X)
#undef X
    printf("%-22s %.3f\n", "bytes_per_instruction", per_instruction(t, n));
}

/* -- JSON ------------------------------------------------------------------------------------ */

/* Bytes that are not ASCII stand for themselves: file names and arguments have no known encoding,
 * and are nearly always UTF-8. */
static void print_string(const char *s)
{
    putchar('"');
    for (; *s; s++) {
        unsigned char c = (unsigned char)*s;
        if (c == '"' || c == '\\')
            printf("\\%c", c);
        else if (c < 0x20 || c == 0x7f)
            printf("\\u%04x", c);
        else
            putchar(c);
    }
    putchar('"');
}

static void print_json(const struct trace *t, const struct trace_counts *n)
{
    static const char *const endings[] = {"unknown", "exited", "signal", "detached"};
    printf("{\"trace\": ");
    print_string(t->store.path);
    printf(", \"command\": [");
    for (size_t i = 0; i < t->argv.n; i++) {
        fputs(i ? ", " : "", stdout);
        print_string(t->argv.v[i]);
    }
    printf("], \"ending\": \"%s\", \"status\": %u, \"complete\": %s, \"trouble\": ",
           endings[t->summary.ending], t->summary.status, t->complete ? "true" : "false");
    if (t->complete)
        fputs("null", stdout);
    else
        print_string(t->trouble.text);
#define X(name, value) printf(", \"" #name "\": %lu", (unsigned long)(value));
    NUMBERS(X)
#undef X
    printf(", \"bytes_per_instruction\": %.3f}\n", per_instruction(t, n));
}

int cmd_info(int argc, char **argv)
{
    struct trace t;
    struct trace_counts n = {0};
    struct err e;
    bool json = false;
    while (next_option(argc, argv, "", options) != -1)
        json = true;
    if (trace_open(&t, only_argument(argc, argv, "TRACE"), &e))
        die("%s", e.text);
    count(&t, &n);
    if (json)
        print_json(&t, &n);
    else
        print_text(&t, &n);
    stdout_flush();
    report_trouble(&t);
    trace_close(&t);
    return 0;
}
