/* SPDX-License-Identifier: MIT */
/* working-set: how many pages the program touches in each interval of its execution.
 * What was touched before matters, so there is one state, which sees everything in order. */
#include <gait.h>
#include <stdlib.h>

enum { TABLE = 1 << 16 };

struct page {
    struct page *next;
    uint64_t number, when; /* number of the interval that touched it last, from 1 */
    uint32_t process;
};

struct state {
    uint64_t interval, bytes; /* instructions of an interval, bytes of a page */
    uint64_t now, n, pages;   /* instructions so far, intervals that are over, pages of this one */
    uint64_t *point, room;    /* pages of each interval; how many there is room for */
    struct page *table[TABLE];
};

static void *begin(struct gait_setup *setup)
{
    struct state *s = calloc(1, sizeof *s);
    s->interval = strtoull(gait_option(setup, "interval"), NULL, 10);
    s->bytes = strtoull(gait_option(setup, "page"), NULL, 10);
    if (!s->interval || !s->bytes)
        return gait_refuse(setup, "interval and page are numbers above 0"), NULL;
    return s;
}

static void touch(struct state *s, uint32_t process, uint64_t number)
{
    struct page **p = &s->table[number % TABLE];
    while (*p && ((*p)->number != number || (*p)->process != process))
        p = &(*p)->next;
    if (!*p)
        *(*p = calloc(1, sizeof **p)) = (struct page){.number = number, .process = process};
    s->pages += (*p)->when != s->n + 1;
    (*p)->when = s->n + 1;
}

static void next_interval(struct state *s)
{
    if (s->n == s->room)
        s->point = realloc(s->point, (s->room = s->room * 2 + 64) * sizeof *s->point);
    s->point[s->n++] = s->pages;
    s->pages = 0;
}

static void batch(void *state, const struct gait_batch *b)
{
    struct state *s = state;
    for (const struct gait_run *r = b->runs; r < b->runs + b->n_runs; s->now += r++->n_insns)
        for (const struct gait_access *a = b->accesses + r->access; a < b->accesses + r->access + r->n_accesses; a++) {
            while (s->now + a->insn >= (s->n + 1) * s->interval + r->insn)
                next_interval(s);
            for (uint64_t p = a->address / s->bytes; p <= (a->address + a->bytes - 1) / s->bytes; p++)
                touch(s, b->process, p);
        }
}

static void finish(void *state, struct gait_result *r)
{
    struct state *s = state;
    struct gait_table *t = gait_table(r, GAIT_SERIES, "working_set", "pages touched in each interval");
    gait_column(t, GAIT_COUNT, "instructions");
    gait_column(t, GAIT_COUNT, "pages");
    while (s->n * s->interval < s->now)
        next_interval(s);
    for (uint64_t i = 1; i <= s->n; i++)
        gait_row(t, i < s->n ? i * s->interval : s->now, s->point[i - 1]);
}

static const struct gait_option options[] = {
    {"interval", "1000000", "instructions of an interval"}, {"page", "4096", "bytes of a page"}, {0}};

const struct gait_tool gait_tool = {GAIT_API, "working-set", options, GAIT_SPLIT_NONE, 0, begin, batch, 0, finish};
