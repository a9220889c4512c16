/* SPDX-License-Identifier: MIT */
/* Branches along the paths of units, decoded once. */
#include "analyze/routes.h"
#include "analyze/nature.h"
#include "base/err.h"
#include "wire/wire.h"

#include <stdlib.h>

void routes_init(struct routes *r, const struct unit_table *t)
{
    _Static_assert(EXIT_ID_LIMIT <= ROUTE_BLOCKS << ROUTES_LOG2, "there is a block for each exit");
    *r = (struct routes){.table = t};
    check(pthread_mutex_init(&r->lock, NULL) == 0);
}

void routes_fini(struct routes *r)
{
    for (u32 i = 0; i < ROUTE_BLOCKS; i++)
        free(r->block[i]);
    vec_fini(&r->numbers);
    vec_fini(&r->branches);
    vec_fini(&r->choices);
    vec_fini(&r->hops);
    arena_fini(&r->arena);
    pthread_mutex_destroy(&r->lock);
}

/* -- Making one --------------------------------------------------------------------------------- */

/* Where instructions led, if that is known. */
struct way_on {
    bool known;
    u64 pc;
};

static u32 number_of(struct routes *r, u32 insn, u8 sum)
{
    vec_reach(&r->numbers, insn);
    if (!r->numbers.v[insn]) {
        vec_push(&r->branches, ((struct branch){r->table->insns.v[insn].pc, sum}));
        r->numbers.v[insn] = (u32)r->branches.n;
    }
    return r->numbers.v[insn] - 1;
}

static void add_hop(struct routes *r, u32 insn, enum hop_kind kind, u64 target)
{
    const u8 sum = kind == HOP_ret ? SUM_returns : SUM_indirect;
    const u32 number = kind == HOP_push ? 0 : number_of(r, insn, sum);
    vec_push(&r->hops, ((struct hop){target, (u32)r->table->insns.v[insn].pc, number << 2 | kind}));
}

/* The instruction led there. True if it is a hop whose target is missing. */
static bool add_insn(struct routes *r, u32 insn, struct way_on to)
{
    const struct unit_insn *in = &r->table->insns.v[insn];
    const u64 behind = in->pc + in->len;
    const enum goes goes = nature_goes(r->table, insn);
    if (goes == GOES_cond && to.known) /* only a forged exit leaves it open */
        vec_push(&r->choices,
                 ((struct choice){(u32)in->pc,
                                  number_of(r, insn, SUM_conditional) << 1 | (to.pc != behind)}));
    if (goes == GOES_call || goes == GOES_icall)
        add_hop(r, insn, HOP_push, behind);
    if (goes != GOES_icall && goes != GOES_ijump && goes != GOES_ret)
        return false;
    add_hop(r, insn, goes == GOES_ret ? HOP_ret : HOP_jump, to.pc);
    return !to.known;
}

/* The first n instructions of a unit, of which the last led to `to`. */
static void add_path(struct routes *r, struct route *x, u32 unit, u32 n, struct way_on to)
{
    const u32 insn0 = r->table->units.v[unit].insn0;
    const struct unit_insn *in = &r->table->insns.v[insn0];
    r->choices.n = r->hops.n = 0;
    for (u32 i = 0; i < n; i++)
        x->open = add_insn(r, insn0 + i, i + 1 < n ? (struct way_on){true, in[i + 1].pc} : to);
    x->n_choices = (u32)r->choices.n;
    x->n_hops = (u32)r->hops.n;
}

static size_t choices_size(const struct route *x)
{
    return x->n_choices * sizeof *x->choices;
}

/* Put what was found into memory of its own: the hops, then the choices. */
static void settle(const struct routes *r, struct route *x, void *room)
{
    struct hop *hops = room;
    struct choice *choices = (struct choice *)(hops + x->n_hops);
    if (x->n_hops)
        memcpy(hops, r->hops.v, x->n_hops * sizeof *hops);
    if (x->n_choices)
        memcpy(choices, r->choices.v, choices_size(x));
    x->hops = hops;
    x->choices = choices;
}

static size_t room_for(const struct route *x)
{
    return MAX(x->n_hops * sizeof *x->hops + choices_size(x), 1ul);
}

/* -- Finding one -------------------------------------------------------------------------------- */

static void make(struct routes *r, struct route *x, u32 exit)
{
    const struct unit_exit *e = &r->table->exits.v[exit];
    add_path(r, x, e->unit, e->insns, (struct way_on){e->kind != EXIT_INDIRECT, e->target});
    settle(r, x, arena_alloc(&r->arena, room_for(x)));
    store_release(&x->known, true);
}

static struct route *new_block(void)
{
    struct route *block = calloc(1ul << ROUTES_LOG2, sizeof *block);
    check(block != NULL);
    return block;
}

static struct route *make_locked(struct routes *r, u32 exit)
{
    struct route **block = &r->block[exit >> ROUTES_LOG2];
    pthread_mutex_lock(&r->lock);
    if (!*block)
        store_release(block, new_block());
    struct route *x = &(*block)[exit & ((1u << ROUTES_LOG2) - 1)];
    if (!x->known)
        make(r, x, exit);
    pthread_mutex_unlock(&r->lock);
    return x;
}

const struct route *routes_exit(struct routes *r, u32 exit)
{
    struct route *block = load_acquire(&r->block[exit >> ROUTES_LOG2]);
    struct route *x = block ? &block[exit & ((1u << ROUTES_LOG2) - 1)] : NULL;
    return x && load_acquire(&x->known) ? x : make_locked(r, exit);
}

/* It was left where its path goes on; behind its last instruction there is no path. */
void routes_partial(struct routes *r, const struct ran *ran, struct route *room)
{
    const struct unit *u = &r->table->units.v[ran->unit];
    struct way_on to = {.known = ran->insns < u->n_insns};
    if (to.known)
        to.pc = r->table->insns.v[u->insn0 + ran->insns].pc;
    *room = (struct route){0};
    pthread_mutex_lock(&r->lock);
    add_path(r, room, ran->unit, ran->insns, to);
    void *p = malloc(room_for(room));
    check(p != NULL);
    settle(r, room, p);
    pthread_mutex_unlock(&r->lock);
}

void route_free(struct route *room)
{
    free((void *)room->hops);
}
