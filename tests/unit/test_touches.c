/* SPDX-License-Identifier: MIT */
/* Caches that are shown touches of lines miss the same lines, for the same events, in the same order, as caches that are shown every byte range of every event; where writes
 * are told, they also give up the same lines, written or not. */
#include "analyze/touches.h"
#include "test.h"
#include "wire/wire.h"

#include <string.h>

enum { UNITS = 40, INSNS = 12, SLOTS = 4, RECORDS = 500, LINE = 64, WAYS = 4, SETS_LIMIT = 64 };

static u64 seed;
static u64 rnd(u64 below)
{
    seed = seed * 6364136223846793005ull + 1442695040888963407ull;
    return (seed >> 24) % below;
}

/* -- A small cache ------------------------------------------------------------------------------ */

struct small {
    u32 sets;
    u64 line[SETS_LIMIT][WAYS]; /* plus 1; the latest first */
    bool written[SETS_LIMIT][WAYS];
};

/* *lost is the line that was written and had to go, plus 1, or 0. */
static bool has_missed(struct small *c, u64 line, bool writes, u64 *lost)
{
    u64 *set = c->line[line % c->sets];
    bool *written = c->written[line % c->sets];
    u32 k = 0;
    while (k < WAYS - 1 && set[k] != line + 1)
        k++;
    const bool there = set[k] == line + 1, was_written = written[k];
    *lost = !there && was_written ? set[k] : 0;
    memmove(set + 1, set, k * sizeof *set);
    memmove(written + 1, written, k * sizeof *written);
    set[0] = line + 1;
    written[0] = writes || (there && was_written);
    return !there;
}

/* Of code and of data. */
struct pair {
    struct small side[2];
};

static void forget(struct pair *p, u32 sets)
{
    memset(p, 0, sizeof *p);
    p->side[0].sets = p->side[1].sets = sets;
}

/* -- Code --------------------------------------------------------------------------------------- */

/* Mostly near others of the same base; now and then anywhere. */
static s64 any_disp(void)
{
    switch (rnd(8)) {
    case 0:
        return (s64)rnd(6000) - 3000;
    case 1:
        return (s64)(64 * rnd(40));
    default:
        return (s64)rnd(180) - 60;
    }
}

static struct ref any_ref(u16 insn)
{
    static const u32 sizes[] = {1, 2, 4, 8, 8, 8, 16, 32, 64, 200, 512};
    static const u8 terms[] = {0, 1, 2, 3, TERM_RSP, TERM_RSP};
    return (struct ref){.disp = any_disp(),
                        .size = sizes[rnd(ARRAY_LEN(sizes))],
                        .insn = insn,
                        .kind = (u8)(rnd(4) ? REF_LOAD : rnd(3)),
                        .op = REF_PLAIN,
                        .a = terms[rnd(ARRAY_LEN(terms))],
                        .b = rnd(4) ? TERM_NONE : (u8)rnd(2),
                        .shift = (u8)rnd(2),
                        .seg = TERM_NONE};
}

/* Each unit has an exit behind each of its instructions. */
static void make_table(struct unit_table *t)
{
    for (u32 i = 0; i < UNITS; i++) {
        u64 pc = 0x400000 + 16 * rnd(2000);
        const u32 most = rnd(6) ? 3 : 8;
        struct unit u = {.pc = pc, .insn0 = (u32)t->insns.n, .n_insns = INSNS, .ref0 = (u32)t->refs.n, .exit0 = (u32)t->exits.n, .n_exits = INSNS};
        for (u16 k = 0; k < INSNS; k++) {
            const u8 length = (u8)(1 + rnd(15));
            vec_push(&t->insns, ((struct unit_insn){.pc = pc, .len = length}));
            pc += rnd(8) ? length : 100 + rnd(5000);
            for (u64 n = rnd(most); n; n--) {
                const u32 made = (u32)t->refs.n - u.ref0, round = 1 + (u32)(i % 4);
                struct ref r = any_ref(k);
                if (i % 2 && made >= round && rnd(8)) { /* a loop that is laid out several times */
                    r = t->refs.v[t->refs.n - round];
                    r.insn = k;
                    r.disp += 8 * (s64)rnd(2);
                }
                vec_push(&t->refs, r);
            }
            vec_push(&t->exits, ((struct unit_exit){.unit = i, .insns = (u16)(k + 1), .refs = (u16)(t->refs.n - u.ref0)}));
        }
        u.n_refs = (u32)t->refs.n - u.ref0;
        vec_push(&t->units, u);
    }
}

/* -- Records ------------------------------------------------------------------------------------ */

/* What stands in the slots of a record, and rsp: often what stood there before, or near it. */
struct bases {
    u64 slot[SLOTS], rsp;
};

static u64 any_base(u64 before)
{
    switch (rnd(8)) {
    case 0:
        return 0x10000 + rnd(1 << 12);
    case 1:
        return 0x7fff0000 + 8 * rnd(1 << 9);
    case 2:
        return before + 8 * rnd(8);
    case 3:
        return before + 64 * (rnd(3) - 1);
    case 4:
    case 5:
        return 0x40000 + 4096 * rnd(6) + 8 * rnd(4); /* all of one set */
    default:
        return before;
    }
}

static u64 term(const struct bases *b, u8 t)
{
    return t == TERM_RSP ? b->rsp : t == TERM_NONE ? 0 : b->slot[t];
}

static void any_record(struct batch *b, const struct unit_table *t, struct bases *bases)
{
    const u32 exit = (u32)rnd(t->exits.n), i = b->n_records++;
    const struct unit_exit *x = &t->exits.v[exit];
    for (u32 k = 0; k < SLOTS; k++)
        bases->slot[k] = any_base(bases->slot[k]);
    bases->rsp += rnd(3) ? 0 : 16 * rnd(5) - 32;
    b->exit[i] = exit + FIRST_EXIT_ID;
    b->first[i] = b->n_refs;
    for (u32 k = t->units.v[x->unit].ref0, end = k + x->refs; k < end; k++) {
        const struct ref *r = &t->refs.v[k];
        b->addr[b->n_refs] = term(bases, r->a) + (term(bases, r->b) << r->shift) + (u64)r->disp;
        b->ref[b->n_refs++] = k;
    }
    b->first[i + 1] = b->n_refs;
}

/* -- What is missed ----------------------------------------------------------------------------- */

struct missed {
    u64 line, lost;
    u32 id, event; /* events are told apart by this, and nothing else */
};
typedef VEC(struct missed) missed_list;

static void see(struct pair *caches, missed_list *to, u32 side, u64 address, u32 size, bool writes, u32 id, u32 event)
{
    u64 lost;
    for (u64 line = address / LINE; line <= (address + size - 1) / LINE; line++)
        if (has_missed(&caches->side[side], line, writes, &lost))
            vec_push(to, ((struct missed){line, lost, id, event}));
}

static void see_each(const struct unit_table *t, const struct batch *b, struct pair *caches, bool writes, missed_list *to)
{
    u32 event = 0;
    for (u32 i = 0; i < b->n_records; i++) {
        const struct unit_exit *x = &t->exits.v[b->exit[i] - FIRST_EXIT_ID];
        const struct unit *u = &t->units.v[x->unit];
        u32 j = b->first[i];
        for (u32 k = 0; k < x->insns; k++) {
            const struct unit_insn *in = &t->insns.v[u->insn0 + k];
            see(caches, to, 0, in->pc, in->len, false, (u->insn0 + k) | TOUCH_CODE, event++);
            for (; j < b->first[i + 1] && t->refs.v[b->ref[j]].insn == k; j++) {
                const struct ref *r = &t->refs.v[b->ref[j]];
                see(caches, to, 1, b->addr[j], r->size, writes && r->kind != REF_LOAD, b->ref[j], event++);
            }
        }
    }
}

static int by_place(const void *a, const void *b)
{
    const u32 x = ((const struct touch *)a)->at & ~TOUCH_CROSSING, y = ((const struct touch *)b)->at & ~TOUCH_CROSSING;
    return x < y ? -1 : x > y;
}

/* What the caches of code and of data miss, put together as cascade.c does it. */
static void see_touches(const struct touches *touches, u32 part, struct pair *caches, missed_list *to)
{
    struct touch_list missed = {0};
    VEC(u64) lost = {0}; /* of each of them */
    u64 one;
    for (u32 side = 0; side < 2; side++) {
        const struct touch_list *list = touches_of_lines(touches, part, side ? TOUCH_OF_DATA : TOUCH_OF_CODE);
        for (size_t i = 0; i < list->v.n; i++)
            if (has_missed(&caches->side[side], list->v.v[i].line & ~TOUCH_WRITTEN, list->v.v[i].line & TOUCH_WRITTEN, &one)) {
                vec_push(&missed.v, list->v.v[i]);
                vec_push(&lost, one);
            }
    }
    /* Stable, as no two of a different side have the same place. */
    struct touch *sorted = malloc((missed.v.n + 1) * sizeof *sorted);
    u64 *sorted_lost = malloc((missed.v.n + 1) * sizeof *sorted_lost);
    for (size_t i = 0; i < missed.v.n; i++) {
        size_t k = i;
        for (; k && by_place(&sorted[k - 1], &missed.v.v[i]) > 0; k--) {
            sorted[k] = sorted[k - 1];
            sorted_lost[k] = sorted_lost[k - 1];
        }
        sorted[k] = missed.v.v[i];
        sorted_lost[k] = lost.v[i];
    }
    for (size_t i = 0, event = 0; i < missed.v.n; i++) {
        const struct touch *y = &sorted[i];
        const u32 id = y->at & TOUCH_CROSSING ? touches->crossings.v[y->id & ~TOUCH_CODE].id : y->id;
        event += !i || !touch_goes_on(y, y - 1);
        vec_push(to, ((struct missed){y->line & ~TOUCH_WRITTEN, sorted_lost[i], id, (u32)event}));
    }
    free(sorted);
    free(sorted_lost);
    vec_fini(&lost);
    vec_fini(&missed.v);
}

static bool are_equal(const missed_list *a, const missed_list *b)
{
    bool equal = a->n == b->n;
    for (size_t i = 0; equal && i < a->n; i++)
        equal = a->v[i].line == b->v[i].line && a->v[i].lost == b->v[i].lost && a->v[i].id == b->v[i].id &&
                (!i || (a->v[i].event == a->v[i - 1].event) == (b->v[i].event == b->v[i - 1].event));
    return equal;
}

/* Those of one part of several. */
static void keep_part(missed_list *list, u32 part, u32 parts)
{
    size_t n = 0;
    for (size_t i = 0; i < list->n; i++)
        if (list->v[i].line % parts == part)
            list->v[n++] = list->v[i];
    list->n = n;
}

static void lines_are_as_each_event(u64 with, u32 sets, u32 parts, bool vectors, bool ahead, bool writes)
{
    static struct batch b;
    struct unit_table t = {0};
    struct touch_maker maker;
    struct touches touches;
    struct pair plain, quick;
    struct bases bases = {.slot = {0x10000, 0x10040, 0x20000, 0x7fff0000}, .rsp = 0x7fff0800};
    const struct touch_rule rule = {.sets = sets, .line = LINE, .keeps_four = ahead, .writes = writes};
    seed = with;
    make_table(&t);
    forget(&plain, sets);
    forget(&quick, sets);
    touch_maker_init(&maker, &t, rule, rule);
    maker.by_line = true;
    maker.has_vectors &= vectors;
    touches_init(&touches, parts, LINE);
    u32 plainly = 0;
    for (u32 round = 0; round < 4; round++) {
        missed_list a = {0}, all = {0};
        b.n_records = b.n_refs = 0;
        while (b.n_records < RECORDS)
            any_record(&b, &t, &bases);
        maker.ahead_pays = ahead;
        touches_open(&touches, &maker);
        touches_add(&touches, &(struct events){.table = &t, .batch = &b});
        see_each(&t, &b, &plain, writes, &all);
        for (u32 part = 0; part < parts; part++) {
            missed_list ours = {0};
            a.n = 0;
            for (size_t i = 0; i < all.n; i++)
                vec_push(&a, all.v[i]);
            keep_part(&a, part, parts);
            see_touches(&touches, part, &quick, &ours);
            CHECK_CASE(are_equal(&a, &ours), "seed %lu, %u sets, part %u of %u, round %u: %zu missed, %zu by touches", with, sets, part, parts, round, a.n, ours.n);
            vec_fini(&ours);
        }
        plainly += (u32)all.n;
        vec_fini(&a);
        vec_fini(&all);
    }
    CHECK(plainly > RECORDS);
    touches_fini(&touches);
    touch_maker_fini(&maker);
    unit_table_fini(&t);
}

int main(void)
{
    for (u64 i = 1; i <= 60; i++)
        for (u64 writes = 0; writes < 2; writes++) {
            lines_are_as_each_event(i, 64, 1, i % 3, i % 2, writes);
            lines_are_as_each_event(100 + i, 16, 1, i % 3, i % 2, writes);
            lines_are_as_each_event(200 + i, 2, 1, i % 3, i % 2, writes);
            lines_are_as_each_event(300 + i, 64, 2, i % 3, i % 2, writes);
        }
    return test_end("touches");
}
