/* SPDX-License-Identifier: MIT */
/* gait cache: which functions, lines and instructions miss the caches of a processor, as it is or as it might be. */
#include "analyze/misses.h"
#include "analyze/sources.h"
#include "cmd/cmd.h"
#include "cmd/run.h"
#include "decode/walk.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OPT_I1 = 256, OPT_D1, OPT_LL, OPT_BY, OPT_SORT, OPT_TOP, OPT_JSON };
static const struct option options[] = {
    {"I1", required_argument, NULL, OPT_I1},     {"D1", required_argument, NULL, OPT_D1},
    {"LL", required_argument, NULL, OPT_LL},     {"by", required_argument, NULL, OPT_BY},
    {"sort", required_argument, NULL, OPT_SORT}, {"top", required_argument, NULL, OPT_TOP},
    {"json", no_argument, NULL, OPT_JSON},       {0},
};

enum by { BY_function, BY_line, BY_instruction };
static const char *const by_names[] = {
    [BY_function] = "function", [BY_line] = "line", [BY_instruction] = "instruction"};

static const char *const level_names[CACHE_LEVELS] = {"I1", "D1", "LL"};

static const char *const count_names[MISSES_COUNTS] = {
#define COUNT(name, letters, what) [MISSES_##name] = letters,
#include "analyze/counts.def"
#undef COUNT
};

/* How rows are ordered: by the sum of these. */
static const char *const sort_names[] = {"l1", "ll", "ir"};
static const u32 sort_counts[][3] = {
    {MISSES_insn_first, MISSES_read_first, MISSES_write_first},
    {MISSES_insn_last, MISSES_read_last, MISSES_write_last},
    {MISSES_insns, MISSES_COUNTS, MISSES_COUNTS},
};

/* Instructions that are shown together. */
struct row {
    struct source place; /* of the first of them */
    u64 count[MISSES_COUNTS];
};

struct report {
    struct cache_shape shape[CACHE_LEVELS];
    enum by by;
    u32 sort;
    u64 top;
    bool json;
    struct misses *misses;
    VEC(struct trace_module) modules; /* of all processes; the texts are ours if `live` */
    bool live;
    VEC(struct row) rows;
    u64 total[MISSES_COUNTS];
};

/* -- The caches ------------------------------------------------------------------------------- */

/* A word or number of the kernel's description of a cache; 0 and "" if there is none. */
static u64 read_sys(u32 index, const char *name, char text[32])
{
    char path[128];
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%u/%s", index, name);
    FILE *f = fopen(path, "r");
    text[0] = 0;
    if (f && !fgets(text, 32, f))
        text[0] = 0;
    if (f)
        fclose(f);
    u64 n = strtoull(text, NULL, 10);
    return strchr(text, 'K') ? n << 10 : strchr(text, 'M') ? n << 20 : n;
}

/* The machine's own caches; what the kernel does not tell stays as it is. */
static void machine_shapes(struct cache_shape shape[CACHE_LEVELS])
{
    u64 last = 1;
    for (u32 index = 0; index < 8; index++) {
        char type[32], ignored[32];
        u64 level = read_sys(index, "level", ignored);
        struct cache_shape s = {.size = read_sys(index, "size", ignored),
                                .ways = (u32)read_sys(index, "ways_of_associativity", ignored),
                                .line = (u32)read_sys(index, "coherency_line_size", ignored)};
        read_sys(index, "type", type);
        if (cache_shape_fault(&s))
            continue;
        if (level == 1 && !strncmp(type, "Instruction", 11))
            shape[CACHE_I1] = s;
        else if (level == 1)
            shape[CACHE_D1] = s;
        else if (level > last) {
            shape[CACHE_LL] = s;
            last = level;
        }
    }
}

/* SIZE,WAYS,LINE as valgrind's cachegrind takes them. */
static void read_shape(struct cache_shape *s, u32 level)
{
    char *end;
    *s = (struct cache_shape){.size = strtoull(optarg, &end, 10)};
    if (*end == ',')
        s->ways = (u32)strtoul(end + 1, &end, 10);
    if (*end == ',')
        s->line = (u32)strtoul(end + 1, &end, 10);
    if (*end)
        die_usage("cache: --%s wants SIZE,WAYS,LINE in bytes, not %s", level_names[level], optarg);
    const char *fault = cache_shape_fault(s);
    if (fault)
        die_usage("cache: --%s=%s cannot be: %s", level_names[level], optarg, fault);
}

/* -- The events ------------------------------------------------------------------------------- */

static void *live_begin(void *report, u32 number, const struct unit_table *t)
{
    struct report *r = report;
    return misses_begin(r->misses, number, t);
}

static void *live_open(void *memory)
{
    return misses_open(memory);
}

static void live_batch(void *touches, const struct batch *b, const u8 *records, bool continues,
                       bool unfinished)
{
    touches_add(touches, b, records, continues, unfinished);
}

static void live_take(void *memory, void *touches)
{
    misses_take(memory, touches);
}

static char *copy(const char *s)
{
    char *c = strdup(s);
    check(c != NULL);
    return c;
}

static void live_end(void *memory, const struct trace_module *m, size_t n)
{
    struct misses_memory *x = memory;
    struct report *r = x->misses->owner;
    for (size_t i = 0; i < n; i++) {
        struct trace_module own = m[i];
        own.process = (u32)x->missed.number;
        own.path = copy(own.path);
        own.build_id = copy(own.build_id);
        vec_push(&r->modules, own);
    }
    misses_end(x);
}

static int run_program(struct report *r, char **argv)
{
    struct analyst a = {r, live_begin, live_open, live_batch, live_take, live_end};
    struct run_options o = {.argv = argv,
                            .events = EVENTS_memory,
                            .sink = SINK_analyst,
                            .follow = true,
                            .analyst = &a};
    struct run_result result;
    struct err e;
    r->live = true;
    if (host_run(&o, &result, &e))
        die("%s", e.text);
    report_run(&o, &result);
    return result.status;
}

/* The lists that a chunk's batches are added to stay short enough for the processor's own caches. */
enum { LIST_LIMIT = 1 << 14 };

static void read_trace(struct report *r, struct trace *t)
{
    struct misses_memory **memory = calloc(MAX(t->units.n, 1ul), sizeof *memory);
    struct touches *open = NULL;
    struct misses_memory *of = NULL;
    struct walk w;
    struct err e;
    int more;
    check(memory != NULL);
    walk_init(&w, t);
    while ((more = walk_next(&w, &e)) > 0) {
        u32 number = t->pieces.v[w.window.piece].memory;
        bool begins = w.window.begins && w.at == 0 && !w.continues;
        if (open && (begins || (!w.continues && open->list.n > LIST_LIMIT))) {
            misses_take(of, open);
            open = NULL;
        }
        if (!memory[number])
            memory[number] = misses_begin(r->misses, number, w.table);
        of = memory[number];
        if (!open)
            open = misses_open(of);
        touches_add(open, w.batch, w.window.records + w.at, w.continues, w.unfinished);
    }
    if (more < 0)
        die("%s", e.text);
    if (open)
        misses_take(of, open);
    for (size_t i = 0; i < t->units.n; i++)
        if (memory[i])
            misses_end(memory[i]);
    free(memory);
    walk_fini(&w);
    for (size_t i = 0; i < t->modules.n; i++)
        vec_push(&r->modules, t->modules.v[i]);
}

/* -- Rows ------------------------------------------------------------------------------------- */

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && !strcmp(a, b));
}

static int compare_texts(const char *a, const char *b)
{
    return same_text(a, b) ? 0 : !a ? -1 : !b ? 1 : strcmp(a, b);
}

static const char *module_of(const struct source *s)
{
    return s->module ? s->module->path : NULL;
}

static enum by comparing; /* qsort has no argument for it */

static int by_place(const void *a, const void *b)
{
    const struct source *x = &((const struct row *)a)->place, *y = &((const struct row *)b)->place;
    int order = compare_texts(module_of(x), module_of(y));
    if (!order)
        order = compare_texts(x->at.function, y->at.function);
    if (!order && comparing == BY_line)
        order = compare_texts(x->at.file, y->at.file);
    if (!order && comparing == BY_line)
        order = x->at.line < y->at.line ? -1 : x->at.line > y->at.line;
    if (!order && (comparing == BY_instruction || (!x->at.function && !x->module)))
        order = x->offset < y->offset ? -1 : x->offset > y->offset;
    return order;
}

static u64 weight(const struct row *x, u32 sort)
{
    u64 sum = 0;
    for (u32 k = 0; k < 3; k++)
        sum += sort_counts[sort][k] < MISSES_COUNTS ? x->count[sort_counts[sort][k]] : 0;
    return sum;
}

static u32 sorting;

static int by_weight(const void *a, const void *b)
{
    u64 x = weight(a, sorting), y = weight(b, sorting);
    return x != y ? (x > y ? -1 : 1) : by_place(a, b);
}

static void add_counts(u64 *to, const u64 *from)
{
    for (u32 c = 0; c < MISSES_COUNTS; c++)
        to[c] += from[c];
}

/* Rows of the same place become one; then the heaviest first. */
static void make_rows(struct report *r, struct sources *s)
{
    size_t kept = 0;
    for (size_t i = 0; i < r->misses->rows.n; i++) {
        const struct misses_row *m = &r->misses->rows.v[i];
        struct row x = {.place = sources_find(s, m->process, m->pc)};
        add_counts(x.count, m->count);
        add_counts(r->total, m->count);
        vec_push(&r->rows, x);
    }
    comparing = r->by;
    sorting = r->sort;
    if (r->rows.n)
        qsort(r->rows.v, r->rows.n, sizeof *r->rows.v, by_place);
    for (size_t i = 0; i < r->rows.n; i++) {
        if (kept && !by_place(&r->rows.v[kept - 1], &r->rows.v[i]))
            add_counts(r->rows.v[kept - 1].count, r->rows.v[i].count);
        else
            r->rows.v[kept++] = r->rows.v[i];
    }
    r->rows.n = kept;
    if (kept)
        qsort(r->rows.v, kept, sizeof *r->rows.v, by_weight);
}

/* -- Showing ---------------------------------------------------------------------------------- */

static void print_shapes(const struct report *r)
{
    for (u32 k = 0; k < CACHE_LEVELS; k++)
        printf("%s %" PRIu64 " bytes, %u ways, lines of %u bytes\n", level_names[k], r->shape[k].size,
               r->shape[k].ways, r->shape[k].line);
}

static void print_share(const char *what, u64 n, u64 of)
{
    printf("%-22s %16" PRIu64 "  %6.2f %%\n", what, n, of ? 100.0 * (double)n / (double)of : 0.0);
}

static void print_totals(const struct report *r)
{
    const u64 *n = r->total;
    u64 refs = n[MISSES_reads] + n[MISSES_writes];
    printf("\n%-22s %16" PRIu64 "\n", "instructions", n[MISSES_insns]);
    print_share("  I1 misses", n[MISSES_insn_first], n[MISSES_insns]);
    print_share("  LL misses", n[MISSES_insn_last], n[MISSES_insns]);
    printf("%-22s %16" PRIu64 "  (%" PRIu64 " read, %" PRIu64 " written)\n", "data references", refs,
           n[MISSES_reads], n[MISSES_writes]);
    print_share("  D1 misses", n[MISSES_read_first] + n[MISSES_write_first], refs);
    print_share("  LL misses", n[MISSES_read_last] + n[MISSES_write_last], refs);
    u64 last = n[MISSES_insn_last] + n[MISSES_read_last] + n[MISSES_write_last];
    printf("%-22s %16.3f\n", "LL misses in 1000 instructions",
           n[MISSES_insns] ? 1000.0 * (double)last / (double)n[MISSES_insns] : 0.0);
}

static void print_place(const struct report *r, const struct row *x)
{
    const struct source *s = &x->place;
    if (r->by == BY_line && s->at.file)
        printf("%s:%u ", s->at.file, s->at.line);
    if (r->by == BY_instruction || (!s->at.function && !s->module))
        printf("0x%" PRIx64 " ", s->offset);
    printf("%s (%s)\n", s->at.function ? s->at.function : "?",
           s->module ? source_name(s->module->path) : "no module");
}

static void print_text(const struct report *r)
{
    print_shapes(r);
    print_totals(r);
    putchar('\n');
    for (u32 c = 0; c < MISSES_COUNTS; c++)
        printf("%14s", count_names[c]);
    printf("  %s\n", by_names[r->by]);
    for (size_t i = 0; i < r->rows.n && i < r->top; i++) {
        for (u32 c = 0; c < MISSES_COUNTS; c++)
            printf("%14" PRIu64, r->rows.v[i].count[c]);
        fputs("  ", stdout);
        print_place(r, &r->rows.v[i]);
    }
}

static void print_json_text(const char *name, const char *s)
{
    printf(", \"%s\": ", name);
    if (s)
        print_json_string(s);
    else
        fputs("null", stdout);
}

static void print_json_counts(const u64 *count)
{
    for (u32 c = 0; c < MISSES_COUNTS; c++)
        printf("%s\"%s\": %" PRIu64, c ? ", " : "", count_names[c], count[c]);
}

static void print_json(const struct report *r)
{
    fputs("{\"caches\": {", stdout);
    for (u32 k = 0; k < CACHE_LEVELS; k++)
        printf("%s\"%s\": {\"size\": %" PRIu64 ", \"ways\": %u, \"line\": %u}", k ? ", " : "",
               level_names[k], r->shape[k].size, r->shape[k].ways, r->shape[k].line);
    fputs("}, \"total\": {", stdout);
    print_json_counts(r->total);
    fputs("}, \"rows\": [", stdout);
    for (size_t i = 0; i < r->rows.n && i < r->top; i++) {
        const struct row *x = &r->rows.v[i];
        printf("%s{", i ? ", " : "");
        print_json_counts(x->count);
        print_json_text("function", x->place.at.function);
        print_json_text("module", module_of(&x->place));
        if (r->by == BY_line) {
            print_json_text("file", x->place.at.file);
            printf(", \"line\": %u", x->place.at.line);
        }
        if (r->by == BY_instruction)
            printf(", \"offset\": %" PRIu64, x->place.offset);
        putchar('}');
    }
    fputs("]}\n", stdout);
}

static void show(struct report *r)
{
    struct sources s;
    misses_sort(r->misses);
    sources_init(&s, r->modules.v, r->modules.n);
    make_rows(r, &s);
    if (r->json)
        print_json(r);
    else
        print_text(r);
    stdout_flush();
    sources_fini(&s);
    for (size_t i = 0; r->live && i < r->modules.n; i++) {
        free(r->modules.v[i].path);
        free(r->modules.v[i].build_id);
    }
    vec_fini(&r->modules);
    vec_fini(&r->rows);
}

/* -- The command ------------------------------------------------------------------------------ */

static void read_options(struct report *r, int argc, char **argv)
{
    for (int c; (c = next_option(argc, argv, "+", options)) != -1;) {
        switch (c) {
        case OPT_I1:
        case OPT_D1:
        case OPT_LL:
            read_shape(&r->shape[c - OPT_I1], (u32)(c - OPT_I1));
            break;
        case OPT_BY:
            r->by = option_word("by", optarg, by_names, ARRAY_LEN(by_names));
            break;
        case OPT_SORT:
            r->sort = option_word("sort", optarg, sort_names, ARRAY_LEN(sort_names));
            break;
        case OPT_TOP:
            r->top = option_number(argv[0], "top", "a number of rows", optarg);
            break;
        default:
            r->json = true;
        }
    }
}

int cmd_cache(int argc, char **argv)
{
    struct report r = {.top = 20, .shape = {{32768, 8, 64}, {32768, 8, 64}, {8388608, 16, 64}}};
    struct trace t;
    struct err e;
    int status = 0;
    machine_shapes(r.shape);
    read_options(&r, argc, argv);
    bool live = optind < argc && !strcmp(argv[optind - 1], "--");
    r.misses = misses_new(r.shape);
    r.misses->owner = &r;
    if (live) {
        status = run_program(&r, argv + optind);
    } else {
        if (trace_open(&t, only_argument(argc, argv, "TRACE, or -- PROGRAM"), &e))
            die("%s", e.text);
        read_trace(&r, &t);
    }
    show(&r);
    misses_free(r.misses);
    if (live)
        return end_like(status);
    report_trouble(&t);
    trace_close(&t);
    return 0;
}
