/* SPDX-License-Identifier: MIT */
/* gait.h's counts of instructions: an array for each process, and its instructions' places at the end. */
#include "analyze/spots.h"
#include "tool/library.h"

#include <stdlib.h>
#include <string.h>

struct counted {
    const struct gait_insn *insns;
    VEC(u64) counts;
};

struct gait_counts {
    u32 each;
    VEC(struct counted) processes;
};

struct gait_counts *gait_counts(uint32_t each)
{
    struct gait_counts *c = calloc(1, sizeof *c);
    check(c != NULL && each && each <= SPOT_COUNTS);
    c->each = each;
    return c;
}

static u64 *reach(struct gait_counts *c, u32 process, const struct gait_insn *insns, size_t n)
{
    vec_reach(&c->processes, process);
    struct counted *p = &c->processes.v[process];
    p->insns = insns;
    if (n > p->counts.n) {
        size_t more = MAX(n, 2 * p->counts.n) - p->counts.n;
        memset(vec_grow(&p->counts, more), 0, more * sizeof *p->counts.v);
    }
    return p->counts.v;
}

uint64_t *gait_counts_of(struct gait_counts *c, const struct gait_batch *b)
{
    return reach(c, b->process, b->insns, (size_t)b->n_insns * c->each);
}

uint64_t *gait_counts_at(struct gait_counts *c, uint32_t process, uint32_t insn)
{
    const size_t at = (size_t)insn * c->each;
    if (process >= c->processes.n || at + c->each > c->processes.v[process].counts.n)
        return NULL;
    return c->processes.v[process].counts.v + at;
}

static void drop(struct gait_counts *c)
{
    for (size_t i = 0; i < c->processes.n; i++)
        vec_fini(&c->processes.v[i].counts);
    vec_fini(&c->processes);
    free(c);
}

void gait_counts_merge(struct gait_counts *into, struct gait_counts *from)
{
    check(into->each == from->each);
    for (size_t p = 0; p < from->processes.n; p++) {
        const struct counted *f = &from->processes.v[p];
        if (!f->insns)
            continue;
        u64 *to = reach(into, (u32)p, f->insns, f->counts.n);
        for (size_t i = 0; i < f->counts.n; i++)
            to[i] += f->counts.v[i];
    }
    drop(from);
}

static void add_process(struct spots *s, u32 process, const struct counted *p)
{
    for (size_t i = 0; i + s->n_counts <= p->counts.n; i += s->n_counts) {
        u64 any = 0;
        for (u32 k = 0; k < s->n_counts; k++)
            any |= p->counts.v[i + k];
        if (any)
            spots_add(s, process, p->insns[i / s->n_counts].pc, &p->counts.v[i]);
    }
}

void gait_counts_table(struct gait_counts *c, struct gait_result *r, enum gait_by by,
                       const char *name, const char *title, const char *const *columns)
{
    struct spots s = {.by = (enum by)by, .n_counts = c->each};
    struct table *t = result_table(&r->result, TABLE_rows, name, title);
    for (u32 k = 0; k < c->each; k++)
        table_add_column(t, CELL_count, columns[k], NULL);
    for (size_t p = 0; p < c->processes.n; p++)
        add_process(&s, (u32)p, &c->processes.v[p]);
    spots_table(&s, &r->names.sources, 1, t);
    spots_fini(&s);
    drop(c);
}
