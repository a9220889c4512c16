/* SPDX-License-Identifier: MIT */
/* Pages of writers, found by number. */
#include "analyze/shadow.h"
#include "base/err.h"

#include <stdlib.h>

#define NO_PAGE UINT64_MAX /* no page has this number */
/* The time of four bytes with different writers; `ref` says where these are. */
#define DIFFERENT UINT64_MAX

enum { FIRST_SLOTS = 256 };

void shadow_init(struct shadow *s)
{
    *s = (struct shadow){0};
    for (u32 i = 0; i < SHADOW_NEAR; i++)
        s->near[i].number = NO_PAGE;
}

void shadow_fini(struct shadow *s)
{
    for (u64 i = 0; i < s->n_slots; i++)
        free(s->slots[i].page);
    free(s->slots);
    vec_fini(&s->bytes);
    vec_fini(&s->unused);
}

/* -- Pages -------------------------------------------------------------------------------------- */

/* Where a page is, or would be. */
static struct shadow_slot *slot_of(const struct shadow *s, u64 number)
{
    u64 i = number * 0x9e3779b97f4a7c15 >> 32;
    for (;; i++) {
        struct shadow_slot *x = &s->slots[i & (s->n_slots - 1)];
        if (!x->page || x->number == number)
            return x;
    }
}

static void double_slots(struct shadow *s)
{
    struct shadow_slot *old = s->slots;
    u64 n = s->n_slots;
    s->n_slots = n ? 2 * n : FIRST_SLOTS;
    s->slots = zeros(s->n_slots, sizeof *s->slots);
    for (u64 i = 0; i < n; i++)
        if (old[i].page)
            *slot_of(s, old[i].number) = old[i];
    free(old);
}

/* NULL if nothing was written there. */
static struct shadow_page *find_page(struct shadow *s, u64 number)
{
    struct shadow_slot *near = &s->near[number % SHADOW_NEAR];
    if (near->number != number)
        *near = (struct shadow_slot){number, s->n_slots ? slot_of(s, number)->page : NULL};
    return near->page;
}

static struct shadow_page *make_page(struct shadow *s, u64 number)
{
    if (2 * s->n_pages >= s->n_slots)
        double_slots(s);
    s->n_pages++;
    struct shadow_slot made = {number, zeros(1, sizeof *made.page)};
    *slot_of(s, number) = s->near[number % SHADOW_NEAR] = made;
    return made.page;
}

/* -- Writing ------------------------------------------------------------------------------------ */

/* Let each of four bytes have a writer of its own. */
static void part_grain(struct shadow *s, struct writer *g)
{
    u32 at = s->unused.n ? s->unused.v[--s->unused.n] : (u32)s->bytes.n;
    if (at == s->bytes.n)
        vec_push(&s->bytes, (struct shadow_bytes){0});
    for (u32 i = 0; i < SHADOW_GRAIN; i++)
        s->bytes.v[at].byte[i] = *g;
    *g = (struct writer){.time = DIFFERENT, .ref = at};
}

static void write_bytes(struct shadow *s, struct writer *g, u32 from, u32 to, struct writer by)
{
    if (g->time != DIFFERENT)
        part_grain(s, g);
    for (u32 i = from; i < to; i++)
        s->bytes.v[g->ref].byte[i] = by;
}

static void write_grain(struct shadow *s, struct writer *g, struct writer by)
{
    if (g->time == DIFFERENT)
        vec_push(&s->unused, g->ref);
    *g = by;
}

void shadow_write(struct shadow *s, u64 address, u32 size, struct writer by)
{
    struct shadow_page *page = find_page(s, address >> SHADOW_LOG2);
    u32 at = address % SHADOW_PAGE, end = at + size;
    if (!page)
        page = make_page(s, address >> SHADOW_LOG2);
    while (at < end) {
        u32 from = at % SHADOW_GRAIN, to = MIN((u32)SHADOW_GRAIN, from + end - at);
        struct writer *g = &page->grain[at / SHADOW_GRAIN];
        if (to - from == SHADOW_GRAIN)
            write_grain(s, g, by);
        else
            write_bytes(s, g, from, to, by);
        at += to - from;
    }
}

/* -- Reading ------------------------------------------------------------------------------------ */

static u32 find_writer(struct writer *found, u32 n, struct writer w)
{
    if (!w.time)
        return n;
    for (u32 i = n; i-- > 0;)
        if (found[i].time == w.time)
            return n;
    found[n] = w;
    return n + 1;
}

static u32 read_apart(const struct shadow *s, const struct shadow_page *page, u32 at, u32 end,
                      struct writer *found)
{
    u32 n = 0;
    for (; at < end; at++) {
        struct writer w = page->grain[at / SHADOW_GRAIN];
        n = find_writer(found, n,
                        w.time == DIFFERENT ? s->bytes.v[w.ref].byte[at % SHADOW_GRAIN] : w);
    }
    return n;
}

u32 shadow_read(struct shadow *s, u64 address, u32 size, struct writer *found)
{
    const struct shadow_page *page = find_page(s, address >> SHADOW_LOG2);
    u32 at = address % SHADOW_PAGE, end = at + size;
    if (!page)
        return 0;
    /* Most often all have the same. */
    const struct writer *g = &page->grain[at / SHADOW_GRAIN],
                        *last = &page->grain[(end - 1) / SHADOW_GRAIN];
    u64 time = g->time;
    for (const struct writer *x = g; x <= last; x++)
        if (x->time != time || x->time == DIFFERENT)
            return read_apart(s, page, at, end, found);
    *found = *g;
    return time != 0;
}
