/* SPDX-License-Identifier: MIT */
/* gait info: what a trace holds, counted by decoding it, so that it is what `gait dump` would
 * print. */
#include "cmd/cmd.h"
#include "report/report.h"
#include "decode/walk.h"
#include "wire/wire.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct option options[] = {
    {"json", no_argument, NULL, 'j'},
    {0},
};

/* What a trace holds, counted. */
struct contents {
    const struct trace *trace;
    struct trace_counts all;
    struct trace_counts *by_process;
    u32 *threads; /* of each process */
    u32 *left;    /* ... and how many of them went on natively */
    u64 units, exits;
};

static void add(struct trace_counts *to, const struct trace_counts *n)
{
    to->instructions += n->instructions;
    to->loads += n->loads;
    to->stores += n->stores;
    to->modifies += n->modifies;
    to->records += n->records;
    to->syscalls += n->syscalls;
    to->bytes += n->bytes;
}

static u32 count_left(const struct walk *w)
{
    u32 n = 0;
    for (u32 i = 0; i < w->batch->n_records; i++)
        n += w->batch->exit[i] == RECORD_native && walk_slot(w, i, 0) != NATIVE_dying;
    return n;
}

static void count(struct trace *t, struct contents *c)
{
    struct walk w;
    struct err e;
    int more;
    walk_init(&w, t);
    while ((more = walk_next(&w, &e)) > 0) {
        walk_count(&w, &c->by_process[walk_process(&w)]);
        c->left[walk_process(&w)] += count_left(&w);
    }
    walk_fini(&w);
    if (more < 0)
        die("%s", e.text);
    for (size_t i = 0; i < t->processes.n; i++)
        add(&c->all, &c->by_process[i]);
}

static void contents_init(struct contents *c, struct trace *t)
{
    size_t n = MAX(t->processes.n, 1ul);
    *c = (struct contents){.trace = t,
                           .by_process = calloc(n, sizeof *c->by_process),
                           .threads = calloc(n, sizeof *c->threads),
                           .left = calloc(n, sizeof *c->left)};
    check(c->by_process && c->threads && c->left);
    for (size_t i = 0; i < t->threads.n; i++)
        c->threads[t->threads.v[i].process]++;
    for (size_t i = 0; i < t->units.n; i++) {
        c->units += t->units.v[i].table.units.n;
        c->exits += t->units.v[i].table.exits.n;
    }
    count(t, c);
}

static void contents_fini(struct contents *c)
{
    free(c->by_process);
    free(c->threads);
    free(c->left);
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
    X(units, c->units)                       \
    X(exits, c->exits)                       \
    X(threads, t->threads.n)                 \
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

static const char *ending_text(u32 ending)
{
    switch (ending) {
    case TRACE_ENDED_exited:
        return "exited with status";
    case TRACE_ENDED_signal:
        return "was killed by signal";
    case TRACE_ENDED_detached:
        return "went on untraced";
    case TRACE_ENDED_exec:
        return "was replaced by exec";
    default:
        return "ended in a way that was not recorded";
    }
}

static void print_ending(u32 ending, u32 status)
{
    fputs(ending_text(ending), stdout);
    if (ending == TRACE_ENDED_exited || ending == TRACE_ENDED_signal)
        printf(" %u", status);
}

static void print_words(char *const *v)
{
    for (; v && *v; v++)
        printf(" %s", *v);
}

/* As many of the words as fit into a line of the tree. */
static void print_some_words(char *const *v)
{
    size_t room = 100;
    for (; v && *v && strlen(*v) < room; v++) {
        printf(" %s", *v);
        room -= strlen(*v) + 1;
    }
    fputs(v && *v ? " ..." : "", stdout);
}

static void print_process(const struct contents *c, u32 i, u32 depth)
{
    const struct trace_process *p = &c->trace->processes.v[i];
    printf("%*s%u %s, pid %u: ", (int)MIN(2 * depth, 60u) + 2, "", i, trace_how_name(p->how),
           p->pid);
    if (p->untraced)
        printf("not traced, for %s", trace_untraced_text(p->untraced));
    else
        printf("%lu instructions, %u threads", (unsigned long)c->by_process[i].instructions,
               c->threads[i]);
    if (c->left[i])
        printf(", of which %u went on natively", c->left[i]);
    if (p->ending) {
        fputs(", ", stdout);
        print_ending(p->ending, p->status);
    }
    fputs(p->argv && p->argv[0] ? ":" : "", stdout);
    print_some_words(p->argv);
    putchar('\n');
}

/* Each process below the one that made it; a new image stands where the old one stood. */
static void print_tree(const struct contents *c)
{
    const struct trace *t = c->trace;
    u32 n = (u32)t->processes.n, *child = calloc(3ul * n + 1, sizeof *child);
    check(child != NULL);
    u32 *next = child + n, *depth = next + n; /* child and next: number + 1, 0 for none */
    for (u32 i = n; i-- > 1;) {
        u32 from = t->processes.v[i].from;
        next[i] = child[from];
        child[from] = i + 1;
    }
    for (u32 i = 0; i < n;) {
        print_process(c, i, depth[i]);
        u32 down = child[i], up = i;
        while (!down && up) {
            down = next[up];
            up = t->processes.v[up].from;
        }
        if (!down)
            break;
        i = down - 1;
        const struct trace_process *p = &t->processes.v[i];
        depth[i] = depth[p->from] + (p->how != TRACE_BY_exec && p->how != TRACE_BY_again);
    }
    free(child);
}

static void print_text(const struct contents *c)
{
    const struct trace *t = c->trace;
    const struct trace_counts *n = &c->all;
    printf("%-22s", "command");
    print_words(t->argv);
    printf("\n%-22s ", "program");
    print_ending(t->summary.ending, t->summary.status);
    printf("\n%-22s %s\n", "complete", t->complete ? "yes" : "no");
    if (!t->complete)
        printf("%-22s %s\n", "trouble", t->trouble.text);
#define X(name, value) printf("%-22s %lu\n", #name, (unsigned long)(value));
    NUMBERS(X)
#undef X
    printf("%-22s %.3f\n", "bytes_per_instruction", per_instruction(t, n));
    printf("%-22s %zu\n", "processes", t->processes.n);
    print_tree(c);
}

/* -- JSON ------------------------------------------------------------------------------------ */

static void print_strings(char *const *v)
{
    putchar('[');
    for (size_t i = 0; v && v[i]; i++) {
        fputs(i ? ", " : "", stdout);
        report_json_string(stdout, v[i]);
    }
    putchar(']');
}

static const char *const endings[] = {"unknown", "exited", "signal", "detached", "exec"};

static void print_process_json(const struct contents *c, size_t i)
{
    const struct trace_process *p = &c->trace->processes.v[i];
    const struct trace_counts *n = &c->by_process[i];
    printf("%s{\"number\": %zu, \"pid\": %u, \"how\": \"%s\", \"from\": %u, \"memory\": %u",
           i ? ", " : "", i, p->pid, trace_how_name(p->how), p->from, p->memory);
    printf(", \"untraced\": ");
    if (p->untraced)
        report_json_string(stdout, trace_untraced_text(p->untraced));
    else
        fputs("null", stdout);
    printf(", \"path\": ");
    report_json_string(stdout, p->path);
    printf(", \"arguments\": ");
    print_strings(p->argv);
    printf(", \"began\": %lu, \"ended\": %lu, \"ending\": \"%s\", \"status\": %u",
           (unsigned long)p->began, (unsigned long)p->ended, endings[p->ending], p->status);
    printf(
        ", \"threads\": %u, \"left\": %u, \"instructions\": %lu, \"loads\": %lu, \"stores\": %lu, "
        "\"modifies\": %lu, \"syscalls\": %lu}",
        c->threads[i], c->left[i], (unsigned long)n->instructions, (unsigned long)n->loads,
        (unsigned long)n->stores, (unsigned long)n->modifies, (unsigned long)n->syscalls);
}

static void print_json(const struct contents *c)
{
    const struct trace *t = c->trace;
    const struct trace_counts *n = &c->all;
    printf("{\"trace\": ");
    report_json_string(stdout, t->store.path);
    printf(", \"command\": ");
    print_strings(t->argv);
    printf(", \"ending\": \"%s\", \"status\": %u, \"complete\": %s, \"trouble\": ",
           endings[t->summary.ending], t->summary.status, t->complete ? "true" : "false");
    if (t->complete)
        fputs("null", stdout);
    else
        report_json_string(stdout, t->trouble.text);
#define X(name, value) printf(", \"" #name "\": %lu", (unsigned long)(value));
    NUMBERS(X)
#undef X
    printf(", \"bytes_per_instruction\": %.3f, \"processes\": [", per_instruction(t, n));
    for (size_t i = 0; i < t->processes.n; i++)
        print_process_json(c, i);
    printf("]}\n");
}

int cmd_info(int argc, char **argv)
{
    struct trace t;
    struct contents c;
    struct err e;
    bool json = false;
    while (next_option(argc, argv, "", options) != -1)
        json = true;
    if (trace_open(&t, only_argument(argc, argv, "TRACE"), &e))
        die("%s", e.text);
    contents_init(&c, &t);
    if (json)
        print_json(&c);
    else
        print_text(&c);
    stdout_flush();
    report_trouble(&t);
    contents_fini(&c);
    trace_close(&t);
    return 0;
}
