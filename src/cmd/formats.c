/* SPDX-License-Identifier: MIT */
/* gait formats: what a trace's execution takes in the forms that profiles come in, as it is and compressed. */
#include "analyze/profiles.h"
#include "cmd/cmd.h"
#include "report/report.h"

#include <stdio.h>
#include <string.h>

static const struct option options[] = {
    {"json", no_argument, NULL, 'j'},
    {"with", required_argument, NULL, 'w'},
    {"sequitur-limit", required_argument, NULL, 'l'},
    {0},
};

struct formats {
    struct trace trace;
    struct profiles profiles;
    bool json;
    u32 with;
    u64 sequitur_limit;
};

/* What was counted, in the order of both forms. */
#define NUMBERS(X)                           \
    X(instructions, p->counts.instructions)  \
    X(blocks, p->blocks)                     \
    X(different_blocks, p->different_blocks) \
    X(conditional_branches, p->conditional)  \
    X(targets, p->targets)                   \
    X(references, p->references)             \
    X(changed_registers, p->values)          \
    X(slots, p->slots)                       \
    X(records, p->counts.records)            \
    X(sequitur_limit, f->sequitur_limit)     \
    X(sequitur_parts, p->sequitur_parts)

/* -- Text ------------------------------------------------------------------------------------ */

/* A size, and what that is for each instruction. */
static void print_size(u64 size, u64 instructions)
{
    if (size == PROFILES_NO_SIZE)
        printf("%14s%8s", "-", "-");
    else
        printf("%14lu%8.3f", (unsigned long)size,
               instructions ? (double)size / (double)instructions : 0);
}

static void print_text(const struct formats *f)
{
    const struct profiles *p = &f->profiles;
    u64 n = p->counts.instructions;
#define X(name, value) printf("%-22s %lu\n", #name, (unsigned long)(value));
    NUMBERS(X)
#undef X
    if (p->sequitur_parts > 1)
        printf("Sequitur got parts of %lu symbols: its sizes are sums over their grammars.\n",
               (unsigned long)f->sequitur_limit);
    printf("\n%-10s%14s%8s%14s%8s%14s%8s%14s%8s\n", "format", "bytes", "/insn", "bzip2", "/insn",
           "zstd", "/insn", "sequitur", "/insn");
    for (u32 i = 0; i < PROFILE_LIMIT; i++) {
        const struct profile_size *s = &p->size[i];
        printf("%-10s", profile_name(i));
        print_size(s->bytes, n);
        print_size(s->bzip2, n);
        print_size(s->zstd, n);
        print_size(s->sequitur, n);
        putchar('\n');
    }
}

/* -- JSON ------------------------------------------------------------------------------------ */

static void print_json_size(const char *name, u64 size)
{
    if (size == PROFILES_NO_SIZE)
        printf(", \"%s\": null", name);
    else
        printf(", \"%s\": %lu", name, (unsigned long)size);
}

static void print_json(const struct formats *f)
{
    const struct profiles *p = &f->profiles;
    printf("{\"trace\": ");
    report_json_string(stdout, f->trace.store.path);
    printf(", \"complete\": %s", f->trace.complete ? "true" : "false");
#define X(name, value) printf(", \"" #name "\": %lu", (unsigned long)(value));
    NUMBERS(X)
#undef X
    printf(", \"formats\": [");
    for (u32 i = 0; i < PROFILE_LIMIT; i++) {
        const struct profile_size *s = &p->size[i];
        printf("%s{\"name\": \"%s\", \"what\": ", i ? ", " : "", profile_name(i));
        report_json_string(stdout, profile_text(i));
        print_json_size("bytes", s->bytes);
        print_json_size("bzip2", s->bzip2);
        print_json_size("zstd", s->zstd);
        print_json_size("sequitur", s->sequitur);
        putchar('}');
    }
    printf("]}\n");
}

/* -- The command ----------------------------------------------------------------------------- */

/* The compressors named in a list. */
static u32 read_with(const char *list)
{
    static const struct {
        const char *name;
        u32 bit;
    } known[] = {{"bzip2", PROFILES_bzip2},
                 {"zstd", PROFILES_zstd},
                 {"sequitur", PROFILES_sequitur},
                 {"none", 0}};
    u32 with = 0;
    for (size_t n;; list += n + 1) {
        size_t i = 0;
        n = strcspn(list, ",");
        while (i < ARRAY_LEN(known) &&
               (strlen(known[i].name) != n || memcmp(list, known[i].name, n)))
            i++;
        if (i == ARRAY_LEN(known))
            die_usage("formats: --with is a list of bzip2, zstd and sequitur, or none, not %s",
                      list);
        with |= known[i].bit;
        if (!list[n])
            return with;
    }
}

static u64 read_limit(char *const *argv, const char *s)
{
    u64 n = option_number(argv[0], "sequitur-limit", "a number of symbols", s);
    if (!n)
        die_usage("formats: --sequitur-limit wants a number of symbols, not 0");
    return n;
}

static void measure(struct formats *f)
{
    struct walk w;
    struct err e;
    int more;
    walk_init(&w, &f->trace);
    profiles_begin(&f->profiles, &f->trace, f->with, f->sequitur_limit);
    while ((more = walk_next(&w, &e)) > 0)
        profiles_batch(&f->profiles, &w);
    profiles_end(&f->profiles);
    walk_fini(&w);
    if (more < 0)
        die("%s", e.text);
}

int cmd_formats(int argc, char **argv)
{
    struct formats f = {.with = PROFILES_bzip2 | PROFILES_zstd | PROFILES_sequitur,
                        .sequitur_limit = 20000000};
    struct err e;
    for (int c; (c = next_option(argc, argv, "", options)) != -1;) {
        if (c == 'j')
            f.json = true;
        else if (c == 'w')
            f.with = read_with(optarg);
        else
            f.sequitur_limit = read_limit(argv, optarg);
    }
    if (trace_open(&f.trace, only_argument(argc, argv, "TRACE"), &e))
        die("%s", e.text);
    measure(&f);
    if (f.json)
        print_json(&f);
    else
        print_text(&f);
    stdout_flush();
    report_trouble(&f.trace);
    trace_close(&f.trace);
    return 0;
}
