/* SPDX-License-Identifier: MIT */
/* A ledger counts what a plain list does, however few rows it may have: coarser places, and others, have what does not fit. */
#include "analyze/ledger.h"
#include "test.h"

enum { EVENTS = 20000 };

struct event {
    u64 a, b, n;
};
static struct event events[EVENTS];

static u64 seed;
static u64 rnd(u64 below)
{
    seed = seed * 6364136223846793005ull + 1442695040888963407ull;
    return (seed >> 24) % below;
}

static u64 any_place(u64 spread)
{
    return (1 + rnd(3)) << PLACE_SHIFT | (rnd(2) ? rnd(spread) : PLACE_ADDRESS - rnd(spread));
}

static bool is_within(const struct ledger *l, u64 place, u64 first)
{
    return place >= first && place - first < 1ull << l->shift;
}

/* The events that a row is of, by looking at all of them. */
static u64 plain_sum(const struct ledger *l, u64 a, u64 b)
{
    u64 sum = 0;
    for (u32 i = 0; i < EVENTS; i++)
        if (is_within(l, events[i].a, ledger_place(l, a)) &&
            is_within(l, events[i].b, ledger_place(l, b)))
            sum += events[i].n;
    return sum;
}

static void places_become_coarser(size_t limit, u64 spread)
{
    struct ledger l = {.counts = 2, .is_places = true, .limit = limit};
    u64 all = 0, found = 0;
    for (u32 i = 0; i < EVENTS; i++) {
        events[i] = (struct event){any_place(spread), any_place(spread), rnd(5)};
        u64 *n = ledger_row(&l, events[i].a, events[i].b);
        n[0] += events[i].n;
        n[1]++;
        all += events[i].n;
    }
    CHECK_CASE(ledger_rows(&l) <= MAX(limit, (size_t)36), "%zu rows, limit %zu", ledger_rows(&l),
               limit);
    for (size_t i = 0; i < ledger_rows(&l); i++) {
        const u64 *row = ledger_at(&l, i);
        found += row[2];
        if (i < 50)
            CHECK_CASE(row[2] == plain_sum(&l, row[0], row[1]), "limit %zu, row %zu", limit, i);
    }
    CHECK_CASE(found == all, "limit %zu: %lu of %lu", limit, (unsigned long)found,
               (unsigned long)all);
    CHECK_CASE((l.shift == 0) == (limit > EVENTS), "limit %zu, shift %u", limit, l.shift);
    ledger_fini(&l);
}

static void others_have_what_does_not_fit(void)
{
    struct ledger l = {.counts = 1, .limit = 100};
    u64 all = 0;
    for (u32 i = 0; i < EVENTS; i++)
        ++*ledger_row(&l, 1 + rnd(10), 1 + rnd(1000));
    for (size_t i = 0; i < ledger_rows(&l); i++)
        all += ledger_at(&l, i)[2];
    CHECK(all == EVENTS);
    CHECK(ledger_rows(&l) == 110);
    for (u64 a = 1; a <= 10; a++)
        CHECK(*ledger_row(&l, a, 0) > 1000);
    ledger_fini(&l);
}

int main(void)
{
    places_become_coarser(SIZE_MAX, 1000);
    places_become_coarser(1000, 1000);
    places_become_coarser(1000, 1ull << 40);
    places_become_coarser(100, 1ull << 30);
    places_become_coarser(40, 1 << 20);
    others_have_what_does_not_fit();
    return test_end("test_ledger");
}
