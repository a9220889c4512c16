/* SPDX-License-Identifier: MIT */
/* The analysis `footprint`: how many different lines and pages a process touches in each interval of its instructions.
 *
 * Works are lists of touches: a line or page, and the first and the last time it was touched within a block of instructions. A block
 * is not longer than an interval, so that at most one interval ends in it; and these two times tell all there is to know, wherever the
 * works begin.
 *
 * How long intervals are is not known before the end of the run. There are at most ROWS of them; when more are needed, every two
 * become one. What was touched in both must not be counted twice then, so a touch is counted by how far apart it and the last one are:
 *
 *     interval        0 1 2 3 4 5 6 7          a line touched in 2 and then in 5 (010, 101) is counted in 5 at level 2, the highest
 *     one level up     0   1   2   3           bit in which they differ: two levels up 5 and 2 are still in different intervals,
 *     two levels up      0       1             three levels up they are in the same, and it counts only once.                      */
#include "analyze/analysis.h"
#include "analyze/stamps.h"
#include "analyze/values.h"
#include "analyze/variables.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    FIRST_INTERVAL = 1 << 10, /* instructions */
    GREATEST_BLOCK = 1 << 16,
    ROWS = 200,
    LEVELS = 8, /* ROWS < 1 << LEVELS */
    FILTER = 1024,
    LEAST_UNIT = 16,
    GREATEST_UNIT = 1 << 30,
};

/* What is counted: each kind has a size. */
enum kind { KIND_lines, KIND_pages, KINDS };
static const char *const kind_names[KINDS] = {"lines", "pages"};

/* A line or page, by number. */
struct touched {
    u64 unit;
    u64 address;     /* that was touched first */
    u32 first, last; /* instructions since the block began */
    u32 ref;         /* by which reference; VARIABLE_NO_REF: code */
};

struct touched_list {
    VEC(struct touched) list;
    u32 filter[FILTER]; /* by unit: where in the list it may be found */
};

struct block {
    u64 begin;           /* instructions since the work began */
    size_t first[KINDS]; /* of its touches */
};

struct footprint_work {
    struct footprint_memory *memory;
    u64 insns; /* so far, but for those of an unfinished record */
    u64 end;   /* behind the last instruction that touched something: a record may tell of one that it does not count */
    u64 block_limit;
    VEC(struct block) blocks;
    struct touched_list kinds[KINDS];
    struct variable_work variables;
};

/* An interval: lines or pages that are new, and those that were touched before, by level. */
struct row {
    u64 new, again[LEVELS];
};

struct counted {
    struct stamps stamps; /* of each the interval of its last touch + 1 */
    VEC(struct row) rows;
    VEC(u64) by; /* how many were touched first as part of which variable, by number */
    VEC(u64) unnamed; /* touched, when little was known of it: addresses */
};

struct footprint_memory {
    struct footprint *footprint;
    const struct unit_table *table;
    u32 number;
    u64 interval; /* one thread writes it, others may read; it only grows */
    u64 now;      /* instructions that were taken */
    struct counted kinds[KINDS];
    struct variable_memory *variables; /* a part for each kind */
};

/* What is left of a process. */
struct process_rows {
    u32 process;
    u64 interval, insns;
    VEC(struct row) rows[KINDS];
};

struct footprint {
    enum accessed of;
    u32 log2[KINDS];
    u64 interval; /* 0: as long as it takes */
    VEC(struct process_rows) processes;
    struct variables *variables;
    VEC(u64) by[KINDS];
};

/* -- The study ---------------------------------------------------------------------------------- */

static const struct analysis_option options[] = {
    {"interval", "N", "instructions of an interval; without it, there are 100 to 200 of them"},
    {"line", "BYTES", "how long a line is; 64 by default"},
    {"page", "BYTES", "how long a page is; 4096 by default"},
    {"of", "data|code|both", "what is counted: what references touch (the default), instructions, or both"},
    {0},
};

static void *footprint_make(void)
{
    struct footprint *x = zeros(1, sizeof *x);
    x->of = ACCESSED_data;
    x->log2[KIND_lines] = 6;
    x->log2[KIND_pages] = 12;
    x->variables = variables_new();
    return x;
}

static int set_log2(u32 *log2, const char *value, struct err *e)
{
    u64 n;
    if (!value_power_of_two(value, &n) || n < LEAST_UNIT || n > GREATEST_UNIT)
        return err_set(e, "wants a power of two between %d and %d", LEAST_UNIT, GREATEST_UNIT);
    *log2 = (u32)__builtin_ctzll(n);
    return 0;
}

static int footprint_set(void *footprint, const char *option, const char *value, struct err *e)
{
    struct footprint *x = footprint;
    if (!strcmp(option, "line"))
        return set_log2(&x->log2[KIND_lines], value, e);
    if (!strcmp(option, "page"))
        return set_log2(&x->log2[KIND_pages], value, e);
    if (!strcmp(option, "of"))
        return value_accessed(&x->of, value, e);
    if (!value_size(&value, &x->interval) || *value || !x->interval)
        return err_set(e, "wants a number of instructions");
    return 0;
}

static void footprint_drop(void *footprint)
{
    struct footprint *x = footprint;
    for (size_t i = 0; i < x->processes.n; i++)
        for (u32 k = 0; k < KINDS; k++)
            vec_fini(&x->processes.v[i].rows[k]);
    vec_fini(&x->processes);
    for (u32 k = 0; k < KINDS; k++)
        vec_fini(&x->by[k]);
    variables_free(x->variables);
    free(x);
}

static void *footprint_memory(void *footprint, u32 number, const struct unit_table *t)
{
    struct footprint *x = footprint;
    struct footprint_memory *m = zeros(1, sizeof *m);
    *m = (struct footprint_memory){.footprint = x,
                                   .table = t,
                                   .number = number,
                                   .interval = x->interval ? x->interval : FIRST_INTERVAL};
    for (u32 k = 0; k < KINDS; k++)
        stamps_init(&m->kinds[k].stamps, false);
    m->variables = variables_memory(x->variables, number, t, KINDS);
    return m;
}

static void footprint_mapped(void *memory, const struct trace_mapped *mapped)
{
    struct footprint_memory *m = memory;
    variables_mapped(m->variables, mapped);
}

/* -- Works -------------------------------------------------------------------------------------- */

static void *footprint_work(void *memory)
{
    struct footprint_work *w = zeros(1, sizeof *w);
    w->memory = memory;
    return w;
}

static void footprint_open(void *work, u32 thread)
{
    struct footprint_work *w = work;
    variables_open(&w->variables, thread);
    w->insns = w->end = 0;
    w->blocks.n = 0;
    for (u32 k = 0; k < KINDS; k++)
        w->kinds[k].list.n = 0;
    w->block_limit = MIN(load_relaxed(&w->memory->interval), (u64)GREATEST_BLOCK);
}

/* The block that an instruction belongs to: the last one, or a new one. */
static const struct block *block_at(struct footprint_work *w, u64 insn)
{
    const struct block *b = w->blocks.n ? &w->blocks.v[w->blocks.n - 1] : NULL;
    if (b && insn - b->begin < w->block_limit)
        return b;
    struct block *new = vec_grow(&w->blocks, 1);
    new->begin = insn;
    for (u32 k = 0; k < KINDS; k++)
        new->first[k] = w->kinds[k].list.n;
    return new;
}

/* Most touches come to what is in the list already; the filter may fail to find it, then it is there twice. */
static inline void touch(struct touched_list *t, size_t first, u64 unit, u32 at, u64 address, u32 ref)
{
    u32 *hint = &t->filter[unit % FILTER];
    if (*hint >= first && *hint < t->list.n && t->list.v[*hint].unit == unit) {
        t->list.v[*hint].last = at;
        return;
    }
    *hint = (u32)t->list.n;
    vec_push(&t->list, ((struct touched){unit, address, at, at, ref}));
}

/* All that lies between two addresses; if the last has wrapped around, only the first. */
static inline void touch_bytes(struct footprint_work *w, u64 address, u32 size, u64 insn, u32 ref)
{
    const struct footprint *x = w->memory->footprint;
    const struct block *b = block_at(w, insn);
    w->end = MAX(w->end, insn + 1);
    for (u32 k = 0; k < KINDS; k++) {
        u64 unit = address >> x->log2[k], last = (address + size - 1) >> x->log2[k];
        do
            touch(&w->kinds[k], b->first[k], unit, (u32)(insn - b->begin),
                  MAX(address, unit << x->log2[k]), ref);
        while (unit++ < last);
    }
}

static void add_ref(void *work, const struct reference *r, u32 i)
{
    struct footprint_work *w = work;
    touch_bytes(w, r->address, r->size, w->insns + i, r->id);
}

static void add_insn(void *work, u32 id, u32 i)
{
    struct footprint_work *w = work;
    const struct unit_insn *in = &w->memory->table->insns.v[id];
    touch_bytes(w, in->pc, in->len, w->insns + i, VARIABLE_NO_REF);
}

static void end_record(void *work, u32 insns)
{
    struct footprint_work *w = work;
    w->insns += insns;
}

static void footprint_add(void *work, const struct events *e)
{
    struct footprint_work *w = work;
    variables_add(&w->variables, e);
    accesses_walk(e, w->memory->footprint->of,
                  (struct accessor){add_insn, add_ref, end_record}, w);
}

/* -- Intervals ---------------------------------------------------------------------------------- */

static void halve(void *context, u64 unit, u32 *stamp)
{
    (void)context, (void)unit;
    *stamp = (*stamp - 1) / 2 + 1;
}

/* Every two rows become one. What was counted at the lowest level was in both of them. */
static void join_rows(struct counted *c)
{
    for (size_t i = 0; i < c->rows.n; i++) {
        struct row from = c->rows.v[i], *to = &c->rows.v[i / 2];
        if (i % 2 == 0)
            *to = (struct row){0};
        to->new += from.new;
        for (u32 k = 1; k < LEVELS; k++)
            to->again[k - 1] += from.again[k];
    }
    c->rows.n = (c->rows.n + 1) / 2;
    stamps_each(&c->stamps, halve, NULL);
}

/* Let there be a row for each instruction before `end`. */
static void make_rows(struct footprint_memory *m, u64 end)
{
    while (!m->footprint->interval && end > ROWS * m->interval) {
        for (u32 k = 0; k < KINDS; k++)
            join_rows(&m->kinds[k]);
        store_relaxed(&m->interval, 2 * m->interval);
    }
    u64 rows = (end + m->interval - 1) / m->interval;
    for (u32 k = 0; k < KINDS; k++) {
        size_t more = rows - MIN(rows, m->kinds[k].rows.n);
        memset(vec_grow(&m->kinds[k].rows, more), 0, more * sizeof(struct row));
    }
}

/* Whether it is new. */
static inline bool count(struct counted *c, u64 unit, u32 interval, bool joins)
{
    u32 *stamp = stamps_of(&c->stamps, unit), last = *stamp - 1;
    const bool is_new = !*stamp;
    if (is_new)
        c->rows.v[interval].new++;
    else if (last != interval) /* if rows are never joined, levels do not matter, and might be too many */
        c->rows.v[interval].again[joins ? 31 - __builtin_clz(last ^ interval) : 0]++;
    *stamp = interval + 1;
    return is_new;
}

/* A line or page is part of what it was touched as first. */
static void name(struct counted *c, struct variable_part *v, const struct touched *t, u64 at)
{
    variables_until_insn(v, at);
    const u32 number = variables_at(v, t->address, t->ref);
    if (variables_is_vague(v, number)) {
        vec_push(&c->unnamed, t->address);
        return;
    }
    vec_reach(&c->by, number);
    c->by.v[number]++;
}

static void name_late(struct counted *c, struct variable_part *v)
{
    for (size_t i = 0; i < c->unnamed.n; i++) {
        const u32 number = variables_late(v, c->unnamed.v[i]);
        vec_reach(&c->by, number);
        c->by.v[number]++;
    }
    vec_fini(&c->unnamed);
}

/* The touches of a block, in which an interval may end. */
static void take_block(struct footprint_memory *m, const struct footprint_work *w, const struct block *b,
                       const struct block *next, struct variable_part *const *v)
{
    const u64 begin = m->now + b->begin, interval = begin / m->interval;
    const u64 end = (interval + 1) * m->interval - begin;
    for (u32 k = 0; k < KINDS; k++) {
        size_t n = next ? next->first[k] : w->kinds[k].list.n;
        stamps_reserve(&m->kinds[k].stamps, n - b->first[k]);
        for (size_t i = b->first[k]; i < n; i++) {
            const struct touched *t = &w->kinds[k].list.v[i];
            if (count(&m->kinds[k], t->unit, (u32)interval + (t->first >= end), !m->footprint->interval))
                name(&m->kinds[k], v[k], t, b->begin + t->first);
            if (t->first < end && t->last >= end)
                count(&m->kinds[k], t->unit, (u32)interval + 1, !m->footprint->interval);
        }
    }
}

static void footprint_take(void *memory, void *work, u32 part)
{
    struct footprint_memory *m = memory;
    const struct footprint_work *w = work;
    struct variable_part *v[KINDS];
    (void)part;
    for (u32 k = 0; k < KINDS; k++)
        v[k] = variables_take(m->variables, k, &w->variables);
    make_rows(m, m->now + MAX(w->insns, w->end));
    for (size_t i = 0; i < w->blocks.n; i++)
        take_block(m, w, &w->blocks.v[i], i + 1 < w->blocks.n ? &w->blocks.v[i + 1] : NULL, v);
    for (u32 k = 0; k < KINDS; k++)
        variables_taken(v[k]);
    m->now += w->insns;
}

static void footprint_merge(void *memory, void *work)
{
    struct footprint_work *w = work;
    (void)memory;
    vec_fini(&w->blocks);
    for (u32 k = 0; k < KINDS; k++)
        vec_fini(&w->kinds[k].list);
    variables_work_fini(&w->variables);
    free(w);
}

static void footprint_end(void *memory)
{
    struct footprint_memory *m = memory;
    struct process_rows p = {.process = m->number, .interval = m->interval, .insns = m->now};
    for (u32 k = 0; k < KINDS; k++) {
        memcpy(&p.rows[k], &m->kinds[k].rows, sizeof p.rows[k]);
        stamps_fini(&m->kinds[k].stamps);
        name_late(&m->kinds[k], variables_part(m->variables, k));
        for (size_t i = 0; i < m->kinds[k].by.n; i++) {
            vec_reach(&m->footprint->by[k], i);
            m->footprint->by[k].v[i] += m->kinds[k].by.v[i];
        }
        vec_fini(&m->kinds[k].by);
    }
    variables_end(m->variables);
    vec_push(&m->footprint->processes, p);
    free(m);
}

/* -- Results ------------------------------------------------------------------------------------ */

static u64 touched_in(const struct row *r)
{
    u64 n = r->new;
    for (u32 k = 0; k < LEVELS; k++)
        n += r->again[k];
    return n;
}

/* How many there were in all, and most in an interval. */
struct summary {
    u64 all, most;
};

static struct summary sum_up(const struct process_rows *p, enum kind k)
{
    struct summary s = {0};
    for (size_t i = 0; i < p->rows[k].n; i++) {
        u64 n = touched_in(&p->rows[k].v[i]);
        s.all += p->rows[k].v[i].new;
        s.most = MAX(s.most, n);
    }
    return s;
}

static int by_process(const void *a, const void *b)
{
    const struct process_rows *x = a, *y = b;
    return x->process < y->process ? -1 : x->process > y->process;
}

static void add_total(const struct footprint *x, struct result *r)
{
    struct table *t = result_table(r, TABLE_facts, "total", "in all");
    u64 insns = 0, all[KINDS] = {0}, most[KINDS] = {0};
    for (size_t i = 0; i < x->processes.n; i++) {
        insns += x->processes.v[i].insns;
        for (u32 k = 0; k < KINDS; k++) {
            struct summary s = sum_up(&x->processes.v[i], k);
            all[k] += s.all;
            most[k] = MAX(most[k], s.most);
        }
    }
    fact_count(t, "processes", NULL, x->processes.n);
    fact_count(t, "instructions", NULL, insns);
    fact_count(t, "line", "bytes of a line", 1ull << x->log2[KIND_lines]);
    fact_count(t, "lines", "different lines", all[KIND_lines]);
    fact_count(t, "most_lines", "most lines in an interval", most[KIND_lines]);
    fact_count(t, "page", "bytes of a page", 1ull << x->log2[KIND_pages]);
    fact_count(t, "pages", "different pages", all[KIND_pages]);
    fact_count(t, "most_pages", "most pages in an interval", most[KIND_pages]);
    if (variables_trouble(x->variables))
        fact_text(t, "missing", "not known", variables_trouble(x->variables));
}

static void add_processes(const struct footprint *x, struct result *r)
{
    struct table *t = result_table(r, TABLE_series, "processes", "processes");
    table_add_column(t, CELL_count, "process", NULL);
    table_add_column(t, CELL_count, "instructions", NULL);
    table_add_column(t, CELL_count, "interval", "instructions of an interval");
    table_add_column(t, CELL_count, "lines", NULL);
    table_add_column(t, CELL_count, "most_lines", "in an interval");
    table_add_column(t, CELL_count, "pages", NULL);
    table_add_column(t, CELL_count, "most_pages", "in an interval");
    for (size_t i = 0; i < x->processes.n; i++) {
        const struct process_rows *p = &x->processes.v[i];
        struct summary lines = sum_up(p, KIND_lines), pages = sum_up(p, KIND_pages);
        table_row(t, (u64)p->process, p->insns, p->interval, lines.all, lines.most, pages.all, pages.most);
    }
}

static void add_rows(const struct process_rows *p, struct table *t)
{
    u64 all[KINDS] = {0};
    for (size_t i = 0; i < p->rows[KIND_lines].n; i++) {
        union cell *c = table_cells(t);
        (c++)->count = p->process;
        (c++)->count = i * p->interval;
        for (u32 k = 0; k < KINDS; k++) {
            const struct row *x = &p->rows[k].v[i];
            all[k] += x->new;
            (c++)->count = touched_in(x);
            (c++)->count = x->new;
            (c++)->count = all[k];
        }
    }
}

/* A variable, and how much was touched first as part of it. */
struct named {
    struct variable_name name;
    u64 n[KINDS];
};

static int by_lines(const void *a, const void *b)
{
    const struct named *x = a, *y = b;
    for (u32 k = 0; k < KINDS; k++)
        if (x->n[k] != y->n[k])
            return x->n[k] > y->n[k] ? -1 : 1;
    return strcmp(x->name.text, y->name.text);
}

static void add_variables(struct footprint *x, struct result *r)
{
    VEC(struct named) all = {0};
    struct table *t = result_table(r, TABLE_rows, "variables", "what the lines and pages were touched as first");
    table_add_column(t, CELL_count, "lines", NULL);
    table_add_column(t, CELL_count, "pages", NULL);
    table_add_column(t, CELL_text, "kind", NULL);
    table_add_column(t, CELL_text, "variable", NULL);
    table_add_column(t, CELL_text, "type", NULL);
    table_add_column(t, CELL_text, "file", NULL);
    table_add_column(t, CELL_count, "line", NULL);
    for (u32 i = 0; i < variables_count(x->variables); i++) {
        struct named n = {.name = variables_name(x->variables, i)};
        for (u32 k = 0; k < KINDS; k++)
            n.n[k] = i < x->by[k].n ? x->by[k].v[i] : 0;
        if (n.n[KIND_lines] || n.n[KIND_pages])
            vec_push(&all, n);
    }
    if (all.n)
        qsort(all.v, all.n, sizeof *all.v, by_lines);
    for (size_t i = 0; i < all.n; i++) {
        const struct variable_name *n = &all.v[i].name;
        table_row(t, all.v[i].n[KIND_lines], all.v[i].n[KIND_pages], n->kind, n->text, n->type, n->file,
                  (u64)n->line);
    }
    vec_fini(&all);
}

static void footprint_finish(void *footprint, struct sources *s, struct result *r)
{
    struct footprint *x = footprint;
    (void)s;
    if (x->processes.n)
        qsort(x->processes.v, x->processes.n, sizeof *x->processes.v, by_process);
    add_total(x, r);
    add_processes(x, r);
    struct table *t = result_table(r, TABLE_series, "footprint", "what was touched in each interval");
    table_add_column(t, CELL_count, "process", NULL);
    table_add_column(t, CELL_count, "from", "instructions before the interval");
    for (u32 k = 0; k < KINDS; k++) {
        char name[16];
        table_add_column(t, CELL_count, kind_names[k], "touched in it");
        snprintf(name, sizeof name, "new_%s", kind_names[k]);
        table_add_column(t, CELL_count, name, "touched for the first time");
        snprintf(name, sizeof name, "all_%s", kind_names[k]);
        table_add_column(t, CELL_count, name, "touched so far");
    }
    for (size_t i = 0; i < x->processes.n; i++)
        add_rows(&x->processes.v[i], t);
    add_variables(x, r);
}

const struct analysis analysis_footprint = {
    .name = "footprint",
    .options = options,
    .wants_memory = true,
    .wants_watch = true,
    .make = footprint_make,
    .set = footprint_set,
    .finish = footprint_finish,
    .drop = footprint_drop,
    .memory = footprint_memory,
    .mapped = footprint_mapped,
    .end = footprint_end,
    .work = footprint_work,
    .open = footprint_open,
    .add = footprint_add,
    .take = footprint_take,
    .merge = footprint_merge,
};
