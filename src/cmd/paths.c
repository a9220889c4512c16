/* SPDX-License-Identifier: MIT */
/* gait paths: the paths that cover most of what was executed, by function and source line. */
#include "analyze/hotpaths.h"
#include "analyze/sources.h"
#include "cmd/cmd.h"
#include "report/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct option options[] = {
    {"json", no_argument, NULL, 'j'},
    {"top", required_argument, NULL, 'n'},
    {"longest", required_argument, NULL, 'l'},
    {"thread", required_argument, NULL, 't'},
    {"limit", required_argument, NULL, 'm'},
    {"grammar", no_argument, NULL, 'g'},
    {0},
};

enum { STEPS_SHOWN = 12 /* of a path, as text */ };

/* A stretch of a path in one function, or in one module where no function is known. */
struct step {
    struct source place; /* of its first instruction; its lines are those below */
    u32 line, last_line;
    u64 last_offset;
    u64 instructions;
};

/* Where an instruction is, once that was asked for. */
struct known {
    bool is_known;
    struct source source;
};

struct report {
    struct trace trace;
    struct paths paths;
    struct sources sources;
    u32 thread; /* PATHS_ALL: all of them */
    u64 top, longest, limit;
    bool busiest, json, grammar;
    struct known **known;   /* by process, then by instruction of its table */
    VEC(struct step) steps; /* of the path being shown */
};

/* -- Steps ----------------------------------------------------------------------------------- */

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && !strcmp(a, b));
}

static bool same_stretch(const struct source *a, const struct source *b)
{
    return a->module == b->module && same_text(a->at.function, b->at.function) &&
           same_text(a->at.file, b->at.file);
}

static void add_instruction(struct report *r, struct source x)
{
    u32 line = x.at.line;
    struct step *s = r->steps.n ? &r->steps.v[r->steps.n - 1] : NULL;
    if (!s || !same_stretch(&s->place, &x)) {
        vec_push(&r->steps, ((struct step){x, line, line, x.offset, 1}));
        return;
    }
    if (line && (!s->line || line < s->line))
        s->line = line;
    s->last_line = MAX(s->last_line, line);
    s->place.offset = MIN(s->place.offset, x.offset);
    s->last_offset = MAX(s->last_offset, x.offset);
    s->instructions++;
}

/* Each instruction of a table is looked up once. */
static struct source source_of(struct report *r, u32 memory, u32 insn)
{
    const struct unit_table *t = &r->trace.units.v[memory].table;
    if (!r->known[memory])
        r->known[memory] = calloc(t->insns.n, sizeof **r->known);
    check(r->known[memory] != NULL);
    struct known *k = &r->known[memory][insn];
    if (!k->is_known)
        *k = (struct known){true, sources_find(&r->sources, memory, t->insns.v[insn].pc)};
    return k->source;
}

static void add_unit(struct report *r, u32 terminal)
{
    const struct path_unit *u = &r->paths.units.v[terminal];
    const struct unit_table *t = &r->trace.units.v[u->memory].table;
    for (u32 i = 0; i < u->insns; i++)
        add_instruction(r, source_of(r, u->memory, t->units.v[u->unit].insn0 + i));
}

static void find_steps(struct report *r, const struct path *p)
{
    struct grammar_walk w;
    u32 terminal;
    r->steps.n = 0;
    if (p->symbol < GRAMMAR_RULE) {
        add_unit(r, p->symbol);
        return;
    }
    grammar_walk_init(&w, &r->paths.grammar, p->symbol - GRAMMAR_RULE);
    while (grammar_walk_next(&w, &terminal))
        add_unit(r, terminal);
    grammar_walk_fini(&w);
}

/* What was asked for, found and shown, in the order of both forms. */
#define NUMBERS(X)                         \
    X(instructions, r->paths.instructions) \
    X(exits, r->paths.exits)               \
    X(rules, r->paths.grammar.rules.n)     \
    X(symbols, r->paths.grammar.symbols.n) \
    X(different_paths, r->paths.v.n)       \
    X(longest, r->longest)

static double percent(const struct report *r, const struct path *p)
{
    return 100.0 * (double)(p->runs * p->instructions) / (double)r->paths.instructions;
}

/* -- The grammar ----------------------------------------------------------------------------- */

/* A symbol of a rule's body: R and a rule's number; the pc of a unit, and how many of its instructions ran; | between two
 * threads. */
static void print_symbol(const struct report *r, u32 symbol)
{
    if (symbol >= GRAMMAR_RULE) {
        printf("R%u", symbol - GRAMMAR_RULE);
        return;
    }
    const struct path_unit *u = &r->paths.units.v[symbol];
    if (!u->exit)
        putchar('|');
    else
        printf("%lx/%u", (unsigned long)r->trace.units.v[u->memory].table.units.v[u->unit].pc,
               u->insns);
}

/* A rule's body, each symbol between quotes; either text may be empty. */
static void print_body(const struct report *r, size_t rule, const char *between, const char *quote)
{
    const struct grammar_rule *x = &r->paths.grammar.rules.v[rule];
    for (u32 i = 0; i < x->n; i++) {
        printf("%s%s", i ? between : "", quote);
        print_symbol(r, r->paths.grammar.symbols.v[x->first + i]);
        fputs(quote, stdout);
    }
}

/* Each rule: its number, how often it ran, instructions in one run; its body. */
static void print_grammar(const struct report *r)
{
    const struct grammar *g = &r->paths.grammar;
    for (size_t i = 0; i < g->rules.n; i++) {
        printf("R%zu %lu %lu: ", i, (unsigned long)g->rules.v[i].count,
               (unsigned long)r->paths.weights[i]);
        print_body(r, i, " ", "");
        putchar('\n');
    }
}

/* -- Text ------------------------------------------------------------------------------------ */

static void print_range(const char *form, u64 from, u64 to)
{
    printf(form, (unsigned long)from);
    if (to != from) {
        putchar('-');
        printf(form, (unsigned long)to);
    }
}

static void print_step(const struct step *s)
{
    const struct image_place *x = &s->place.at;
    const char *module = s->place.module ? source_name(s->place.module->path) : "";
    if (x->function)
        printf("%s ", x->function);
    if (x->file) {
        printf("%s:", source_name(x->file));
        print_range("%lu", s->line, s->last_line);
    } else if (x->function) {
        printf("(%s)", module);
    } else {
        printf("%s%s", module, module[0] ? "+" : "");
        print_range("0x%lx", s->place.offset, s->last_offset);
    }
}

static void print_path(struct report *r, const struct path *p)
{
    find_steps(r, p);
    printf("%5.1f %% %15lu %13lu %9lu  ", percent(r, p), (unsigned long)(p->runs * p->instructions),
           (unsigned long)p->runs, (unsigned long)p->instructions);
    for (size_t i = 0; i < r->steps.n && i < STEPS_SHOWN; i++) {
        if (i)
            printf("%49s", "");
        print_step(&r->steps.v[i]);
        putchar('\n');
    }
    if (r->steps.n > STEPS_SHOWN)
        printf("%49s... and %zu steps more\n", "", r->steps.n - STEPS_SHOWN);
}

static void print_text(struct report *r)
{
    const struct paths *p = &r->paths;
    if (r->thread == PATHS_ALL)
        printf("%-22s all\n", "thread");
    else
        printf("%-22s %u%s\n", "thread", r->thread, r->busiest ? ", the busiest" : "");
#define X(name, value) printf("%-22s %lu\n", #name, (unsigned long)(value));
    NUMBERS(X)
#undef X
    if (p->limited)
        printf("Only the first %lu exits were looked at.\n", (unsigned long)r->limit);
    printf("\n%7s %15s %13s %9s  path\n", "share", "instructions", "runs", "each");
    for (size_t i = 0; i < p->v.n && i < r->top; i++)
        print_path(r, &p->v.v[i]);
    for (size_t i = 0; i < r->sources.files.n; i++) {
        const struct source_file *f = &r->sources.files.v[i];
        if (image_trouble(f->image))
            printf("\n%s %s; its code is shown by offsets.\n", f->path, image_trouble(f->image));
    }
}

/* -- JSON ------------------------------------------------------------------------------------ */

static void print_json_text(const char *name, const char *text)
{
    printf("\"%s\": ", name);
    if (text)
        report_json_string(stdout, text);
    else
        fputs("null", stdout);
}

static void print_json_step(const struct step *s)
{
    const struct image_place *x = &s->place.at;
    print_json_text("module", s->place.module ? s->place.module->path : NULL);
    printf(", \"offset\": %lu, \"last_offset\": %lu, ", (unsigned long)s->place.offset,
           (unsigned long)s->last_offset);
    print_json_text("function", x->function);
    fputs(", ", stdout);
    print_json_text("file", x->file);
    printf(", \"line\": %u, \"last_line\": %u, \"instructions\": %lu", s->line, s->last_line,
           (unsigned long)s->instructions);
}

static void print_json_path(struct report *r, const struct path *p)
{
    find_steps(r, p);
    printf("{\"symbol\": \"");
    print_symbol(r, p->symbol);
    printf("\", \"runs\": %lu, \"units\": %lu, \"instructions\": %lu, \"total\": %lu, "
           "\"percent\": %.3f, \"steps\": [",
           (unsigned long)p->runs, (unsigned long)p->units, (unsigned long)p->instructions,
           (unsigned long)(p->runs * p->instructions), percent(r, p));
    for (size_t i = 0; i < r->steps.n; i++) {
        fputs(i ? ", {" : "{", stdout);
        print_json_step(&r->steps.v[i]);
        putchar('}');
    }
    fputs("]}", stdout);
}

static void print_json_grammar(const struct report *r)
{
    const struct grammar *g = &r->paths.grammar;
    printf(", \"grammar\": [");
    for (size_t i = 0; i < g->rules.n; i++) {
        printf("%s{\"runs\": %lu, \"instructions\": %lu, \"body\": [", i ? ", " : "",
               (unsigned long)g->rules.v[i].count, (unsigned long)r->paths.weights[i]);
        print_body(r, i, ", ", "\"");
        fputs("]}", stdout);
    }
    putchar(']');
}

static void print_json_files(const struct report *r)
{
    printf(", \"files\": [");
    for (size_t i = 0; i < r->sources.files.n; i++) {
        const struct source_file *f = &r->sources.files.v[i];
        fputs(i ? ", {" : "{", stdout);
        print_json_text("path", f->path);
        fputs(", ", stdout);
        print_json_text("trouble", image_trouble(f->image));
        putchar('}');
    }
    putchar(']');
}

static void print_json(struct report *r)
{
    const struct paths *p = &r->paths;
    printf("{\"trace\": ");
    report_json_string(stdout, r->trace.store.path);
    printf(", \"complete\": %s, \"thread\": ", r->trace.complete ? "true" : "false");
    if (r->thread == PATHS_ALL)
        fputs("null", stdout);
    else
        printf("%u", r->thread);
#define X(name, value) printf(", \"" #name "\": %lu", (unsigned long)(value));
    NUMBERS(X)
#undef X
    printf(", \"limited\": %s, \"paths\": [", p->limited ? "true" : "false");
    for (size_t i = 0; i < p->v.n && i < r->top; i++) {
        fputs(i ? ", " : "", stdout);
        print_json_path(r, &p->v.v[i]);
    }
    putchar(']');
    print_json_files(r);
    if (r->grammar)
        print_json_grammar(r);
    printf("}\n");
}

/* -- The command ----------------------------------------------------------------------------- */

/* A number of which 0 makes no sense. */
static u64 read_count(char *const *argv, const char *option, const char *what)
{
    u64 n = option_number(argv[0], option, what, optarg);
    if (!n)
        die_usage("%s: --%s wants %s, not 0", argv[0], option, what);
    return n;
}

static void read_thread(struct report *r, char *const *argv)
{
    r->busiest = false;
    r->thread = PATHS_ALL;
    if (strcmp(optarg, "all"))
        r->thread =
            (u32)MIN(option_number(argv[0], "thread", "the number of a thread, or all", optarg),
                     (u64)PATHS_ALL - 1);
}

static void read_options(struct report *r, int argc, char **argv)
{
    for (int c; (c = next_option(argc, argv, "n:", options)) != -1;) {
        switch (c) {
        case 'j':
            r->json = true;
            break;
        case 'n':
            r->top = option_number(argv[0], "top", "a number of paths", optarg);
            break;
        case 'l':
            r->longest = read_count(argv, "longest", "a number of exits");
            break;
        case 't':
            read_thread(r, argv);
            break;
        case 'm':
            r->limit = read_count(argv, "limit", "a number of exits");
            break;
        default:
            r->grammar = true;
        }
    }
}

static void find_paths(struct report *r)
{
    struct trace *t = &r->trace;
    struct err e;
    if (r->busiest && paths_busiest(t, &r->thread, &e))
        die("%s", e.text);
    if (!r->busiest && r->thread != PATHS_ALL && r->thread >= t->threads.n)
        die("%s has no thread %u; it has %zu", t->store.path, r->thread, t->threads.n);
    if (paths_find(&r->paths, t, r->thread, r->longest, r->limit, &e))
        die("%s", e.text);
    sources_init(&r->sources, t->modules.v, t->modules.n);
    r->known = calloc(MAX(t->units.n, 1ul), sizeof *r->known);
    check(r->known != NULL);
}

static void report_fini(struct report *r)
{
    for (size_t i = 0; i < r->trace.units.n; i++)
        free(r->known[i]);
    free(r->known);
    vec_fini(&r->steps);
    sources_fini(&r->sources);
    paths_fini(&r->paths);
    trace_close(&r->trace);
}

int cmd_paths(int argc, char **argv)
{
    struct report r = {.top = 10, .longest = 100, .limit = 1000000000, .busiest = true};
    struct err e;
    read_options(&r, argc, argv);
    if (trace_open(&r.trace, only_argument(argc, argv, "TRACE"), &e))
        die("%s", e.text);
    find_paths(&r);
    if (r.json)
        print_json(&r);
    else if (r.grammar)
        print_grammar(&r);
    else
        print_text(&r);
    stdout_flush();
    report_trouble(&r.trace);
    report_fini(&r);
    return 0;
}
