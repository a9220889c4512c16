/* SPDX-License-Identifier: MIT */
/* working-set: how many pages the program touches in each interval of its execution. */
#include <gait.h>

#include <stdlib.h>
#include <string.h>

enum { TABLE = 1 << 20, POINTS = 1 << 16 };

struct state {
    uint64_t interval, page;      /* instructions, bytes */
    uint64_t now, pages, n;       /* instructions so far; pages of this interval; intervals so far */
    uint64_t *seen;               /* pages, by hash; those of earlier intervals have another stamp */
    uint32_t *stamp;
    uint64_t point[POINTS];
};

static void *begin(struct gait_setup *setup)
{
    struct state *s = calloc(1, sizeof *s);
    s->interval = strtoull(gait_option(setup, "interval"), NULL, 10);
    s->page = strtoull(gait_option(setup, "page"), NULL, 10);
    if (!s->interval || !s->page)
        return gait_refuse(setup, "interval and page are numbers above 0"), NULL;
    s->seen = calloc(TABLE, sizeof *s->seen);
    s->stamp = calloc(TABLE, sizeof *s->stamp);
    return s;
}

static void touch(struct state *s, uint64_t page)
{
    uint64_t at = page * 0x9e3779b97f4a7c15u >> 44;
    while (s->stamp[at] == s->n + 1 && s->seen[at] != page)
        at = (at + 1) % TABLE;
    if (s->stamp[at] == s->n + 1 || s->pages == TABLE - 1)
        return;
    s->stamp[at] = (uint32_t)(s->n + 1);
    s->seen[at] = page;
    s->pages++;
}

static void batch(void *state, const struct gait_batch *b)
{
    struct state *s = state;
    for (const struct gait_run *r = b->runs; r < b->runs + b->n_runs; r++) {
        for (const struct gait_access *a = b->accesses + r->access; a < b->accesses + r->access + r->n_accesses; a++)
            touch(s, a->address / s->page);
        s->now += r->n_insns;
        for (; s->now >= (s->n + 1) * s->interval && s->n < POINTS; s->pages = 0)
            s->point[s->n++] = s->pages;
    }
}

static void finish(void *state, struct gait_result *r)
{
    struct state *s = state;
    struct gait_table *t = gait_table(r, GAIT_SERIES, "working_set", "pages touched in each interval");
    gait_column(t, GAIT_COUNT, "instructions");
    gait_column(t, GAIT_COUNT, "pages");
    for (uint64_t i = 0; i < s->n; i++)
        gait_row(t, (i + 1) * s->interval, s->point[i]);
}

static const struct gait_option options[] = {
    {"interval", "1000000", "instructions of an interval"},
    {"page", "4096", "bytes of a page"},
    {0},
};

const struct gait_tool gait_tool = {GAIT_API, "working-set", options, GAIT_SPLIT_NONE, 0, begin, batch, 0, finish};
