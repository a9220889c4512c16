/* SPDX-License-Identifier: MIT */
/* Links between units, and the two tables the program finds units in.
 *
 * An exit's jump alternates between two valid targets, its stub and the next unit, by one aligned
 * 4-byte store; a jump table entry alternates between the guest's miss entry and a door, by one
 * 8-byte store. The program may be running through either at the moment of the change. */
#include "translate/state.h"

#include <string.h>
#include <sys/mman.h>

u32 cache_offset(const struct translator *t, u64 cache_address)
{
    return (u32)(cache_address - t->cache);
}

struct link *link_of(struct translator *t, u32 exit)
{
    return &t->links[exit];
}

u64 link_key(const struct translator *t, u32 exit)
{
    const struct unit_exit *x = &t->table.exits.v[exit];
    return x->target ? place_key(x->target, t->quiet[x->unit] ^ t->links[exit].crosses) : 0;
}

static void patch(struct translator *t, struct link *l, u32 to)
{
    s32 rel = (s32)(to - (l->site + 4));
    store_release((s32 *)(t->config.wire + WIRE_CACHE_OFF + l->site), rel);
    t->stats.links += to != l->stub && !l->linked;
    l->linked = to != l->stub;
}

/* Every way round a loop passes a gate, and what can be stored between two gates is bounded. A
 * direct branch may enter a unit behind its gate only if
 * - the unit is a line, which arrives at a gate by itself, at a door or a landing; or
 * - it leads forward, within one block of GATE_BLOCK bytes, out of a unit that itself only went
 *   forward: then the way ends with the block.
 * Where indirect branches lead to the guest while the gates are closed, so may landings. (Calls that lead forward may not: units share a call,
 * and what is forward for one is a recursion for another.) */
static bool may_skip_gate(const struct translator *t, u32 exit, const struct place *to)
{
    const struct unit_exit *x = &t->table.exits.v[exit];
    const struct unit *u = &t->table.units.v[x->unit];
    const struct unit_insn *in = &t->table.insns.v[u->insn0];
    if (masks_gate(t) && x->kind == EXIT_LANDING)
        return true;
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

/* -- Exits, by where they lead ---------------------------------------------------------------- */

static void list_exit(struct translator *t, u32 exit, struct place *p)
{
    struct link *l = link_of(t, exit);
    l->listed = true;
    l->prev = 0;
    l->next = p->exits;
    if (p->exits)
        link_of(t, p->exits - 1)->prev = exit + 1;
    p->exits = exit + 1;
}

static void unlist_exit(struct translator *t, u32 exit, struct place *p)
{
    struct link *l = link_of(t, exit);
    l->listed = false;
    if (l->next)
        link_of(t, l->next - 1)->prev = l->prev;
    if (l->prev)
        link_of(t, l->prev - 1)->next = l->next;
    else
        p->exits = l->next;
}

void link_exit(struct translator *t, u32 exit)
{
    struct link *l = link_of(t, exit);
    u64 key = link_key(t, exit);
    if (!key || !l->site || t->config.no_link)
        return;
    struct place *p = places_get(&t->places, key);
    list_exit(t, exit, p);
    if (p->unit)
        patch(t, l, entry_for(t, exit, p));
}

void link_forget(struct translator *t, u32 exit)
{
    struct link *l = link_of(t, exit);
    if (!l->listed)
        return;
    unlist_exit(t, exit, places_find(&t->places, link_key(t, exit)));
    if (l->linked)
        patch(t, l, l->stub);
}

void links_forget(struct translator *t)
{
    for (size_t exit = 0; exit < t->table.exits.n; exit++)
        link_of(t, (u32)exit)->listed = false;
}

void link_place(struct translator *t, const struct place *p)
{
    u32 next;
    for (u32 exit = p->exits; exit; exit = next) {
        struct link *l = link_of(t, exit - 1);
        next = l->next;
        patch(t, l, p->unit ? entry_for(t, exit - 1, p) : l->stub);
    }
}

void link_head(struct translator *t, u32 from, u32 to)
{
    u8 *cell = t->config.wire + WIRE_CACHE_OFF + ALIGN_DOWN(from, 8);
    u32 at = from & 7, rel = to - (from + 5);
    u64 code;
    memcpy(&code, cell, 8);
    memset((u8 *)&code + at, 0xe9, 1);
    memcpy((u8 *)&code + at + 1, &rel, 4);
    store_release((u64 *)(void *)cell, code);
}

/* -- Tables read by the program --------------------------------------------------------------- */

static struct index_entry *index_probe(struct translator *t, u64 key)
{
    struct index_entry *v = (struct index_entry *)(t->config.wire + WIRE_INDEX_OFF);
    u32 mask = (1u << WIRE_INDEX_LOG2) - 1, i = index_hash(key);
    for (u32 tries = 0; tries <= mask; tries++, i = (i + 1) & mask)
        if (!v[i].pc || v[i].pc == key)
            return &v[i];
    return NULL;
}

/* Where a place is in the index; it keeps its entry. */
static struct index_entry *index_entry(struct translator *t, struct place *p)
{
    struct index_entry *v = (struct index_entry *)(t->config.wire + WIRE_INDEX_OFF);
    if (!p->index) {
        struct index_entry *x = index_probe(t, p->pc);
        if (!x)
            return NULL;
        p->index = (u32)(x - v) + 1;
    }
    return &v[p->index - 1];
}

/* The jump tables begin small and grow with the number of units: most processes are short, and filling
 * the whole tables would be most of what they cost. A thread may go on with a smaller mask for a while: it
 * finds other entries, and doors verify. So a unit that is dropped is looked for under every mask there
 * was. Without bmi2 the emitted code takes the low 16 bits. */
enum { JUMP_FIRST = (1 << 16) - 1 /* doors do not test these bits */, JUMP_STEP = 2 };

static u64 *jump_table(struct translator *t)
{
    return (u64 *)(t->config.wire + WIRE_JUMP_OFF);
}

static u64 jump_index(u64 key, u64 mask, enum arrival by)
{
    u64 table = (by == BY_RETURN) + (key & PC_QUIET ? 2 : 0);
    return (key & mask) + (table << WIRE_JUMP_LOG2);
}

static bool is_landing(u64 jump_index)
{
    return jump_index >> WIRE_JUMP_LOG2 & 1;
}

static u64 smaller_mask(const struct translator *t, u64 mask)
{
    return t->has_bmi2 && mask > JUMP_FIRST ? mask >> JUMP_STEP : 0;
}

static void set_jump_mask(struct translator *t, u64 from, u64 mask)
{
    struct control *c = (struct control *)(t->config.wire + WIRE_CTL_OFF);
    for (u64 table = 0; table < (t->config.selection ? 4 : 2); table++) {
        u64 *jump = jump_table(t) + (table << WIRE_JUMP_LOG2);
        u8 *page = (u8 *)ALIGN_DOWN((uintptr_t)(jump + from), 4096ul);
        madvise(page, (size_t)((u8 *)(jump + mask + 1) - page), MADV_POPULATE_WRITE); /* their pages in one go */
        for (u64 i = from; i <= mask; i++)
            jump[i] = table & 1 ? t->config.guest.landing : t->config.guest.indirect;
    }
    t->jump_mask = mask;
    for (u32 i = 0; i < MIN(load_acquire(&c->blocks), (u32)WIRE_THREADS); i++) {
        u8 *block = t->config.wire + WIRE_THREAD_OFF + (u64)i * WIRE_THREAD_SIZE;
        store_release(&((struct thread *)(void *)block)->jump_mask, mask);
    }
}

void jump_begin(struct translator *t)
{
    set_jump_mask(t, 0, t->has_bmi2 ? JUMP_FIRST : 0xffff);
}

static void jump_grow(struct translator *t)
{
    u64 mask = t->jump_mask;
    if (t->has_bmi2 && mask < JUMP_MASK && t->table.units.n > mask / 8)
        set_jump_mask(t, mask + 1, (mask << JUMP_STEP | ((1 << JUMP_STEP) - 1)));
}

u64 translator_jump_mask(const struct translator *t)
{
    return t->jump_mask;
}

static u64 *jump_entry(struct translator *t, u64 key, enum arrival by)
{
    return &jump_table(t)[jump_index(key, t->jump_mask, by)];
}

/* Tell the program where a pc is: the index, and, where there are doors, the jump tables. */
void publish(struct translator *t, struct place *p)
{
    struct index_entry *x = index_entry(t, p);
    jump_grow(t);
    if (x) {
        store_relaxed(&x->entry, p->entry);
        store_relaxed(&x->door, p->door);
        store_relaxed(&x->landing, p->landing);
        store_release(&x->pc, p->pc);
    }
    if (masks_gate(t) && !(p->pc & t->jump_mask)) /* closed gates lead there */
        return;
    if (p->door)
        store_release(jump_entry(t, p->pc, BY_JUMP), t->cache + p->door);
    if (p->landing)
        store_release(jump_entry(t, p->pc, BY_RETURN), t->cache + p->landing);
}

static void note_gone(struct translator *t, const struct place *p, enum arrival by, u32 door)
{
    for (u64 mask = t->jump_mask; mask && door; mask = smaller_mask(t, mask)) {
        struct gone g = {jump_index(p->pc, mask, by), t->cache + door};
        vec_push(&t->gone, g);
    }
}

void unpublish_landing(struct translator *t, const struct place *p)
{
    struct index_entry *v = (struct index_entry *)(t->config.wire + WIRE_INDEX_OFF);
    if (p->index)
        store_relaxed(&v[p->index - 1].landing, 0);
    note_gone(t, p, BY_RETURN, p->landing);
}

void unpublish(struct translator *t, const struct place *p)
{
    struct index_entry *v = (struct index_entry *)(t->config.wire + WIRE_INDEX_OFF);
    if (p->index) {
        store_relaxed(&v[p->index - 1].entry, 0);
        store_relaxed(&v[p->index - 1].door, 0);
    }
    note_gone(t, p, BY_JUMP, p->door);
    unpublish_landing(t, p);
}

void replace_landing(struct translator *t, struct place *p, u32 landing)
{
    note_gone(t, p, BY_RETURN, p->landing);
    p->landing = landing;
    p->call = 0;
}

void unpublish_end(struct translator *t)
{
    u64 *jump = jump_table(t);
    if (t->gone.n && t->config.settle)
        t->config.settle(t->config.ctx);
    for (size_t i = 0; i < t->gone.n; i++) {
        const struct gone *g = &t->gone.v[i];
        u64 miss = is_landing(g->at) ? t->config.guest.landing : t->config.guest.indirect;
        if (load_relaxed(&jump[g->at]) == g->address)
            store_release(&jump[g->at], miss);
    }
    t->gone.n = 0;
}

/* Nobody reads the tables now. They are large and mostly empty: what is there belongs to a place. */
void unpublish_all(struct translator *t)
{
    struct index_entry *v = (struct index_entry *)(t->config.wire + WIRE_INDEX_OFF);
    for (u32 i = 0; i < t->places.cap; i++) {
        const struct place *p = &t->places.v[i];
        if (!p->index)
            continue;
        v[p->index - 1] = (struct index_entry){0};
        for (u64 mask = t->jump_mask; mask; mask = smaller_mask(t, mask)) {
            jump_table(t)[jump_index(p->pc, mask, BY_JUMP)] = t->config.guest.indirect;
            jump_table(t)[jump_index(p->pc, mask, BY_RETURN)] = t->config.guest.landing;
        }
    }
    t->gone.n = 0;
}

void ahead_push(struct translator *t, u64 key)
{
    if (!t->config.no_ahead && key)
        vec_push(&t->ahead, key);
}
