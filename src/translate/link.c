/* SPDX-License-Identifier: MIT */
/* Links between units, and the two tables the program finds units in.
 *
 * An exit's jump alternates between two valid targets, its stub and the next unit, by one aligned
 * 4-byte store; a jump table entry alternates between the guest's miss entry and a door, by one
 * 8-byte store. The program may be running through either at the moment of the change. */
#include "translate/state.h"

u32 cache_offset(const struct translator *t, u64 cache_address)
{
    return (u32)(cache_address - t->cache);
}

void link_patch(struct translator *t, u32 exit, u32 to)
{
    struct link *l = &t->links.v[exit];
    s32 rel = (s32)(to - (l->site + 4));
    store_release((s32 *)(t->config.wire + WIRE_CACHE_OFF + l->site), rel);
    l->linked = to != l->stub;
    t->stats.links += l->linked;
}

/* Every way round a loop passes a gate, and what can be stored between two gates is bounded. A
 * direct branch may enter a unit behind its gate only if
 * - the unit is a line, which arrives at a gate by itself, at a door or a landing; or
 * - it leads forward, within one block of GATE_BLOCK bytes, out of a unit that itself only went
 *   forward: then the way ends with the block. */
static bool may_skip_gate(const struct translator *t, u32 exit, const struct place *to)
{
    const struct unit_exit *x = &t->table.exits.v[exit];
    const struct unit *u = &t->table.units.v[x->unit];
    const struct unit_insn *in = &t->table.insns.v[u->insn0];
    if (x->kind != EXIT_DIRECT || t->config.all_gates)
        return false;
    if (to->is_line)
        return true;
    if (x->is_call || x->insns == 0 || x->target / GATE_BLOCK != u->pc / GATE_BLOCK)
        return false;
    for (u32 i = 1; i < x->insns; i++)
        if (in[i].pc <= in[i - 1].pc)
            return false;
    return x->target > in[x->insns - 1].pc;
}

static u32 entry_for(const struct translator *t, u32 exit, const struct place *p)
{
    return may_skip_gate(t, exit, p) ? p->inner : p->entry;
}

/* Link an exit to its target's unit, or let it wait for it. */
void link_exit(struct translator *t, u32 exit)
{
    struct link *l = &t->links.v[exit];
    u64 target = t->table.exits.v[exit].target;
    if (!target || !l->site || t->config.no_link)
        return;
    struct place *p = places_get(&t->places, target);
    if (p->unit) {
        link_patch(t, exit, entry_for(t, exit, p));
    } else {
        l->next = p->waiting;
        p->waiting = exit + 1;
    }
}

void link_waiting(struct translator *t, struct place *p)
{
    u32 exit = p->waiting;
    p->waiting = 0;
    while (exit) {
        u32 next = t->links.v[exit - 1].next;
        link_patch(t, exit - 1, entry_for(t, exit - 1, p));
        exit = next;
    }
}

/* -- Tables read by the program --------------------------------------------------------------- */

static struct index_entry *index_probe(struct translator *t, u64 pc)
{
    struct index_entry *v = (struct index_entry *)(t->config.wire + WIRE_INDEX_OFF);
    u32 mask = (1u << WIRE_INDEX_LOG2) - 1, i = index_hash(pc);
    for (u32 tries = 0; tries <= mask; tries++, i = (i + 1) & mask)
        if (!v[i].pc || v[i].pc == pc)
            return &v[i];
    return NULL;
}

/* Tell the program where a pc is: the index, and, where there are doors, the jump tables. */
void publish(struct translator *t, const struct place *p)
{
    struct index_entry *x = index_probe(t, p->pc);
    if (x) {
        store_relaxed(&x->entry, p->entry);
        store_relaxed(&x->door, p->door);
        store_relaxed(&x->landing, p->landing);
        store_release(&x->pc, p->pc);
    }
    u64 *jump = (u64 *)(t->config.wire + WIRE_JUMP_OFF),
        at = p->pc & (t->has_bmi2 ? JUMP_MASK : 0xffff);
    if (p->door)
        store_release(&jump[at], t->cache + p->door);
    if (p->landing)
        store_release(&jump[JUMP_MASK + 1 + at], t->cache + p->landing);
}

void unpublish(struct translator *t, const struct place *p)
{
    struct index_entry *x = index_probe(t, p->pc);
    if (x && x->pc == p->pc) {
        store_relaxed(&x->entry, 0);
        store_relaxed(&x->door, 0);
        store_relaxed(&x->landing, 0);
    }
    u64 *jump = (u64 *)(t->config.wire + WIRE_JUMP_OFF),
        at = p->pc & (t->has_bmi2 ? JUMP_MASK : 0xffff);
    if (p->door && jump[at] == t->cache + p->door)
        store_release(&jump[at], t->config.guest.indirect);
    at += JUMP_MASK + 1;
    if (p->landing && jump[at] == t->cache + p->landing)
        store_release(&jump[at], t->config.guest.landing);
}

void ahead_push(struct translator *t, u64 pc)
{
    if (!t->config.no_ahead && pc)
        vec_push(&t->ahead, pc);
}
