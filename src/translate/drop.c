/* SPDX-License-Identifier: MIT */
/* Forgetting units whose code is gone or changed.
 *
 * A unit depends on the pages its instructions lie in, and on those that were looked at to decide
 * how to translate it: whether flags are dead, whether a call goes to a trampoline. Dropping one
 * costs as much as it has links; its code stays where it is, for the threads that are in it, and
 * all its exits ask again. */
#include "translate/state.h"

/* -- What depends on which page --------------------------------------------------------------- */

bool drop_holds(const struct translator *t, const struct place *p, u32 unit)
{
    for (u32 u = p->unit; u; u = t->below[u - 1])
        if (u == unit + 1)
            return true;
    return false;
}

static bool is_current(const struct translator *t, const struct resident *r)
{
    const struct place *p = places_find(&t->places, r->pc);
    return p && drop_holds(t, p, r->unit);
}

/* Units that are gone leave when the array would grow: the cost is spread over those that came. */
static void sweep(struct translator *t, struct page *page)
{
    size_t kept = 0;
    for (size_t i = 0; i < page->units.n; i++)
        if (is_current(t, &page->units.v[i]))
            page->units.v[kept++] = page->units.v[i];
    page->units.n = kept;
}

static void note_page(struct translator *t, u64 number, u64 key, u32 unit)
{
    struct page *page = pages_get(&t->pages, number);
    size_t n = page->units.n;
    if (n && page->units.v[n - 1].unit == unit) /* noted already */
        return;
    if (n >= 16 && n == page->units.cap)
        sweep(t, page);
    struct resident r = {.pc = key, .unit = unit};
    vec_push(&page->units, r);
}

void drop_note(struct translator *t, u64 key)
{
    u32 unit = places_get(&t->places, key)->unit - 1;
    const struct unit *u = &t->table.units.v[unit];
    const struct unit_insn *in = &t->table.insns.v[u->insn0];
    u64 last = ~0ull;
    for (u32 i = 0; i < u->n_insns; i++) {
        u64 begins = in[i].pc >> 12, ends = (in[i].pc + in[i].len - 1) >> 12;
        if (begins != last)
            note_page(t, begins, key, unit);
        if (ends != begins)
            note_page(t, ends, key, unit);
        last = ends;
    }
    for (size_t i = 0; i < t->looked.n; i++)
        if (t->looked.v[i] != last)
            note_page(t, t->looked.v[i], key, unit);
    t->looked.n = 0;
}

/* -- Dropping --------------------------------------------------------------------------------- */

/* The landing behind a call belongs to the caller's unit and goes with it. */
static void drop_pad(struct translator *t, u32 pad, u64 key)
{
    struct place *r = places_find(&t->places, key);
    if (!r || r->landing != pad)
        return;
    unpublish_landing(t, r);
    r->landing = r->call = 0;
}

static void drop_exits(struct translator *t, u32 unit)
{
    const struct unit *u = &t->table.units.v[unit];
    for (u32 k = u->exit0; k < u->exit0 + u->n_exits; k++) {
        link_forget(t, k);
        if (link_of(t, k)->pad)
            drop_pad(t, link_of(t, k)->pad, link_key(t, k));
    }
}

/* The unit that runs on into this one without a jump, if it is still there; else 0. */
static u64 runs_into(const struct translator *t, const struct place *p)
{
    if (!p->before)
        return 0;
    u32 unit = t->table.exits.v[p->before - 1].unit;
    u64 key = place_key(t->table.units.v[unit].pc, t->quiet[unit]);
    const struct place *own = places_find(&t->places, key);
    return own && drop_holds(t, own, unit) ? key : 0;
}

void drop_unit(struct translator *t, u64 key)
{
    while (key) {
        struct place *p = places_find(&t->places, key);
        if (!p || !p->unit)
            return;
        for (u32 u = p->unit; u; u = t->below[u - 1]) {
            drop_exits(t, u - 1);
            novel_forget(t, u - 1);
        }
        unpublish(t, p);
        key = runs_into(t, p);
        p->unit = p->entry = p->inner = p->door = p->landing = p->call = p->before = 0;
        link_place(t, p);
        t->stats.dropped++;
    }
}

void drop_end(struct translator *t)
{
    if (t->config.dropped)
        t->config.dropped(t->config.ctx);
    unpublish_end(t);
    t->ahead.n = t->ahead_next = 0;
}

static void drop_page(struct translator *t, struct page *page)
{
    for (size_t i = 0; i < page->units.n; i++)
        if (is_current(t, &page->units.v[i]))
            drop_unit(t, page->units.v[i].pc);
    page->units.n = 0;
}

void translate_drop(struct translator *t, u64 start, u64 end)
{
    u64 first = start >> 12, last = (end - 1) >> 12, before = t->stats.dropped;
    t->age++;
    if (end <= start)
        return;
    if (t->stats.flushes)
        novel_forget_range(t, start, end);
    if (last - first < t->pages.n) {
        for (u64 number = first; number <= last; number++) {
            struct page *page = pages_find(&t->pages, number);
            if (page)
                drop_page(t, page);
        }
    } else {
        for (u32 i = 0; i < t->pages.cap; i++)
            if (t->pages.v[i].number > first && t->pages.v[i].number <= last + 1)
                drop_page(t, &t->pages.v[i]);
    }
    if (t->stats.dropped != before)
        drop_end(t);
}
