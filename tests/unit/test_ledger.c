/* SPDX-License-Identifier: MIT */
/* A ledger counts what a plain list does, however few rows it may have: others have what does not fit. */
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

/* The events that a row is of, by looking at all of them. */
static u64 plain_sum(u64 a, u64 b)
{
    u64 sum = 0;
    for (u32 i = 0; i < EVENTS; i++)
        if (events[i].a == a && events[i].b == b)
            sum += events[i].n;
    return sum;
}

static void all_is_counted(u64 spread)
{
    struct ledger l = {.counts = 2, .limit = SIZE_MAX};
    u64 all = 0, found = 0;
    for (u32 i = 0; i < EVENTS; i++) {
        events[i] = (struct event){rnd(spread), rnd(spread), rnd(5)};
        u64 *n = ledger_row(&l, events[i].a, events[i].b);
        n[0] += events[i].n;
        n[1]++;
        all += events[i].n;
    }
    for (size_t i = 0; i < ledger_rows(&l); i++) {
        const u64 *row = ledger_at(&l, i);
        found += row[2];
        if (i < 50)
            CHECK_CASE(row[2] == plain_sum(row[0], row[1]), "spread %lu, row %zu", (unsigned long)spread, i);
    }
    CHECK_CASE(found == all, "spread %lu: %lu of %lu", (unsigned long)spread, (unsigned long)found, (unsigned long)all);
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
    all_is_counted(100);
    all_is_counted(1ull << 40);
    others_have_what_does_not_fit();
    return test_end("test_ledger");
}
