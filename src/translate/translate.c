/* SPDX-License-Identifier: MIT */
/* The translator: from a request to a unit in the cache, its links, and the units that will be
 * asked for next. */
#include "translate/translate.h"
#include "base/vast.h"
#include "translate/state.h"

#include <cpuid.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* No unit takes more of either part of the cache; nor does what comes with it, its door and its call. */
enum { UNIT_ROOM = 32768, EXTRA_ROOM = 4096 };
/* How many units may be translated ahead of one request. Measured with bench/speed. */
enum { AHEAD_BUDGET = 64 };
/* Room for the unit table, in elements: address space only, until it is used. */
enum { UNITS_CAP = 1 << 23, INSNS_CAP = 1 << 26, REFS_CAP = 1 << 25, CODE_CAP = 1 << 29, MARKS_CAP = 1 << 26 };

static void detect_features(struct translator *t)
{
    u32 a, b, c, d;
    t->has_bmi2 = t->has_avx512bw = t->has_quick_loop = false;
    if (t->config.older || !__get_cpuid_count(7, 0, &a, &b, &c, &d))
        return;
    t->has_bmi2 = b & (1u << 8);
    t->has_avx512bw = b & (1u << 30);
    __cpuid(0, a, b, c, d);
    t->has_quick_loop = b == signature_AMD_ebx;
}

/* Half of the cache is for unit bodies, the rest for stubs. */
static void begin_cache(struct translator *t)
{
    u8 *cache = t->config.wire + WIRE_CACHE_OFF;
    u64 size = t->config.cache_size ? t->config.cache_size : WIRE_CACHE_SIZE;
    s64 to_app = (s64)(t->cache - (u64)(uintptr_t)cache);
    t->warm_at = (u32)ALIGN_DOWN(size / 2, 64);
    t->cold_at = (u32)ALIGN_DOWN(size / 4 * 3, 64);
    /* Offset 0 means "none" in several tables, so the first bytes stay unused. */
    t->hot = (struct emit){.p = cache + 64, .end = cache + t->warm_at, .to_app = to_app};
    t->warm = (struct emit){.p = cache + t->warm_at, .end = cache + t->cold_at, .to_app = to_app};
    t->cold = (struct emit){.p = cache + t->cold_at, .end = cache + size, .to_app = to_app};
}

/* The decoder reads the table while we append to it, so its arrays must never move. */
#define RESERVE(vec, elements)                              \
    do {                                                    \
        (vec)->cap = (elements);                            \
        (vec)->v = vast_new((vec)->cap * sizeof *(vec)->v); \
    } while (0)
#define RELEASE(vec) vast_free((vec)->v, (vec)->cap * sizeof *(vec)->v)

static void reserve_table(struct unit_table *table)
{
    RESERVE(&table->units, UNITS_CAP);
    RESERVE(&table->insns, INSNS_CAP);
    RESERVE(&table->refs, REFS_CAP);
    RESERVE(&table->exits, EXIT_ID_LIMIT);
    RESERVE(&table->code, CODE_CAP);
}

static void release_table(struct unit_table *table)
{
    RELEASE(&table->units);
    RELEASE(&table->insns);
    RELEASE(&table->refs);
    RELEASE(&table->exits);
    RELEASE(&table->code);
}

/* All but what lasts. */
static void begin_program(struct translator *t, const struct translate_config *config)
{
    t->config = *config;
    t->cache = config->base + WIRE_CACHE_OFF;
    t->age++;
    t->stats = (struct translate_stats){0};
    t->ahead_next = t->ahead_budget = t->n_chained = 0;
    t->hot_ready = t->warm_ready = t->cold_ready = NULL;
    t->is_full = false;
    begin_cache(t);
    detect_features(t);
    jump_begin(t);
}

/* What has grown with the program. */
static void end_program(struct translator *t)
{
    free(t->numbers.v);
    t->numbers = (struct numbers){0};
    novel_fini(t);
    places_fini(&t->places);
    pages_fini(&t->pages);
    vec_fini(&t->ahead);
    vec_fini(&t->watched);
    vec_fini(&t->looked);
    vec_fini(&t->bindings);
    vec_fini(&t->gone);
}

struct translator *translator_new(const struct translate_config *config)
{
    struct translator *t = calloc(1, sizeof *t);
    check(t != NULL);
    reserve_table(&t->table);
    RESERVE(&t->marks, MARKS_CAP);
    t->links = vast_new(EXIT_ID_LIMIT * sizeof *t->links);
    t->below = vast_new(UNITS_CAP * sizeof *t->below);
    t->quiet = vast_new(UNITS_CAP * sizeof *t->quiet);
    t->decoded = vast_new(DECODED * sizeof *t->decoded);
    t->moulds = moulds_new();
    begin_program(t, config);
    return t;
}

void translator_renew(struct translator *t, const struct translate_config *config)
{
    struct unit_table *x = &t->table;
    memset(t->links, 0, x->exits.n * sizeof *t->links); /* nothing else is read before it is written */
    end_program(t);
    x->units.n = x->insns.n = x->refs.n = x->exits.n = x->code.n = t->marks.n = 0;
    begin_program(t, config);
}

void translator_free(struct translator *t)
{
    end_program(t);
    release_table(&t->table);
    RELEASE(&t->marks);
    vast_free(t->links, EXIT_ID_LIMIT * sizeof *t->links);
    vast_free(t->below, UNITS_CAP * sizeof *t->below);
    vast_free(t->quiet, UNITS_CAP * sizeof *t->quiet);
    vast_free(t->decoded, DECODED * sizeof *t->decoded);
    moulds_free(t->moulds);
    free(t);
}

/* -- One unit --------------------------------------------------------------------------------- */

/* Up to where the parts of the cache are filled. */
struct ends {
    struct emit hot, warm, cold;
};

static struct ends ends_of(const struct translator *t)
{
    return (struct ends){t->hot, t->warm, t->cold};
}

/* What was emitted since is not needed. */
static void back_to(struct translator *t, const struct ends *e)
{
    t->hot = e->hot;
    t->warm = e->warm;
    t->cold = e->cold;
}

static bool is_overfull(const struct translator *t)
{
    return t->hot.full || t->warm.full || t->cold.full;
}

/* Emit, and where an instruction in the middle cannot be translated, end the unit before it and
 * emit again. */
static bool emit_or_shorten(struct builder *b, u32 *entry)
{
    const struct ends before = ends_of(b->t);
    for (;;) {
        if (b->is_hot)
            hot_trim(b);
        if (body_emit(b, entry))
            break;
        back_to(b->t, &before);
        if (b->failed == 0)
            return false;
        b->n_insns = b->failed;
        b->next = b->insn[b->failed].pc;
        b->falls_off = true;
    }
    return true;
}

static void commit_insns(struct builder *b, struct unit *u)
{
    struct unit_table *table = &b->t->table;
    u->insn0 = (u32)table->insns.n;
    u->n_insns = b->n_insns;
    for (u32 i = 0; i < b->n_insns; i++) {
        const struct insn *in = &b->insn[i];
        struct unit_insn x = {
            .pc = in->pc, .len = in->len, .refs = b->insn_refs[i], .watch = b->insn_watch[i],
            .slot = b->insn_slot[i], .bytes = (u32)table->code.n};
        vec_push(&table->insns, x);
        memcpy(vec_grow(&table->code, in->len), in->bytes, in->len);
        b->t->stats.app_bytes += in->len;
    }
    b->t->stats.insns += b->n_insns;
}

/* Enter the finished unit into the table; from here on its ids are final. */
static u32 commit_unit(struct builder *b)
{
    struct unit_table *table = &b->t->table;
    u32 number = (u32)table->units.n;
    struct unit u = {.pc = b->pc};
    commit_insns(b, &u);
    u.ref0 = (u32)table->refs.n;
    u.n_refs = b->n_refs;
    memcpy(vec_grow(&table->refs, b->n_refs), b->ref, b->n_refs * sizeof b->ref[0]);
    u.exit0 = b->exit0;
    u.n_exits = b->n_exits;
    u64 *target = (u64 *)(b->t->config.wire + WIRE_TARGET_OFF);
    for (u32 k = 0; k < b->n_exits; k++) {
        b->exit[k].unit = number;
        target[FIRST_EXIT_ID + table->exits.n] = b->exit[k].target;
        vec_push(&table->exits, b->exit[k]);
    }
    /* The drain takes the table's length from here: the element first, then the count. */
    check(number < table->units.cap);
    b->t->quiet[number] = b->quiet;
    table->units.v[number] = u;
    store_release(&table->units.n, number + 1);
    return number;
}

/* The same for what is only about the code that was emitted for it. A unit that is made anew may be the one that it was: then the links of
 * its old code are given up, and whoever is still in that asks. */
static void commit_code(struct builder *b, u32 number)
{
    b->t->below[number] = 0;
    for (u32 k = 0; k < b->n_exits; k++) {
        link_forget(b->t, b->exit0 + k);
        *link_of(b->t, b->exit0 + k) = b->link[k];
    }
    for (u32 k = 0; k < b->n_marks; k++) {
        b->mark[k].unit = number;
        vec_push(&b->t->marks, b->mark[k]);
    }
    b->t->stats.units++;
}

/* Note a unit that is emitted but that nothing leads to yet. */
static void note_chained(struct builder *b, u32 number, u32 entry)
{
    struct translator *t = b->t;
    u64 key = place_key(b->pc, b->quiet);
    struct place *p = places_get(&t->places, key);
    p->unit = number + 1;
    p->entry = entry;
    p->inner = b->inner;
    p->is_line = b->is_line;
    p->asks = version_asks(b) && !b->is_volatile;
    drop_note(t, key);
    struct chained *c = &t->chained[t->n_chained++];
    *c = (struct chained){.unit = number, .pad = b->pad, .pad_pc = b->pad_pc, .call = b->call};
    c->call.exit += t->table.units.v[number].exit0;
}

/* Link a unit both ways and tell the program of it. */
static void connect(struct translator *t, const struct chained *c)
{
    const struct unit *u = &t->table.units.v[c->unit];
    for (u32 k = 0; k < u->n_exits; k++) {
        link_exit(t, u->exit0 + k);
        ahead_push(t, link_key(t, u->exit0 + k));
    }
    bool quiet = t->quiet[c->unit];
    struct place *p = places_get(&t->places, place_key(u->pc, quiet));
    link_place(t, p);
    publish(t, p);
    if (c->pad) {
        struct place *r = places_get(&t->places, place_key(c->pad_pc, quiet));
        replace_landing(t, r, c->pad);
        r->call = c->pad - CALL_SIZE;
        r->callee = c->call.direct ? t->table.exits.v[c->call.exit].target : 0;
        publish(t, r);
    }
}

/* Finish a chain: its calls' ways on, then everything that makes it reachable. */
static void connect_chain(struct translator *t)
{
    for (u32 i = 0; i < t->n_chained; i++)
        if (t->chained[i].call.field)
            branch_call_stub(t, &t->chained[i].call);
    check(!is_overfull(t));
    for (u32 i = 0; i < t->n_chained; i++)
        connect(t, &t->chained[i]);
    t->n_chained = 0;
}

static bool has_room(const struct translator *t, ptrdiff_t room)
{
    return t->hot.end - t->hot.p >= room && t->warm.end - t->warm.p >= room && t->cold.end - t->cold.p >= room &&
           t->marks.n + UNIT_MARKS <= t->marks.cap && t->places.n <= (3u << WIRE_INDEX_LOG2) / 4;
}

/* The unit table only grows: records that name its exits may still be on their way. */
static bool table_has_room(struct translator *t, struct err *e)
{
    const struct unit_table *x = &t->table;
    u32 limit = t->config.exit_limit ? t->config.exit_limit : EXIT_ID_LIMIT;
    if (x->exits.n + UNIT_EXITS + FIRST_EXIT_ID <= limit && x->units.n < UNITS_CAP &&
        x->insns.n + UNIT_INSNS <= INSNS_CAP && x->refs.n + UNIT_REFS <= REFS_CAP &&
        x->code.n + UNIT_INSNS * 15 <= CODE_CAP)
        return true;
    t->is_full = true;
    err_set(e, "the unit table is full after %llu units", (unsigned long long)t->stats.units);
    return false;
}

bool translate_flush(struct translator *t, struct err *e)
{
    if (t->config.stop && !t->config.stop(t->config.ctx)) {
        err_set(e, "the code cache is full after %llu units, and a thread does not leave it",
                (unsigned long long)t->stats.units);
        return false;
    }
    unpublish_all(t);
    novel_forget_volatile(t);
    links_forget(t);
    places_fini(&t->places);
    pages_fini(&t->pages);
    t->marks.n = 0;
    t->ahead.n = t->ahead_next = 0;
    t->age++;
    begin_cache(t);
    t->stats.flushes++;
    if (t->config.go)
        t->config.go(t->config.ctx);
    return true;
}

/* Emit the formed unit, under the numbers it had before if it is still the same; its number. */
static bool number_and_emit(struct builder *b, u32 *entry, u32 *number)
{
    struct translator *t = b->t;
    const struct ends before = ends_of(t);
    u32 known = numbers_find(b);
    if (known) {
        *number = known - 1;
        b->exit0 = t->table.units.v[*number].exit0;
        if (!emit_or_shorten(b, entry))
            return false;
        if (numbers_hold(b, *number))
            return true;
        back_to(t, &before);
    }
    b->exit0 = (u32)t->table.exits.n;
    if (!table_has_room(t, b->err) || !emit_or_shorten(b, entry))
        return false;
    *number = commit_unit(b);
    return true;
}

/* Translate one unit at the end of the hot part; false with a sentence. */
static bool translate_one(struct translator *t, u64 key, u32 chain, bool aside, struct err *e)
{
    struct builder *b = &t->builder;
    u32 entry, number;
    if (!has_room(t, UNIT_ROOM + EXTRA_ROOM))
        return false;
    b->t = t;
    b->err = e;
    b->pc = key & ~PC_QUIET;
    b->quiet = key & PC_QUIET;
    b->is_hot = false;
    b->chain = chain;
    b->aside = aside && masks_gate(t);
    b->careful = places_get(&t->places, key)->careful;
    b->e = &t->hot;
    version_begin(b);
    if (t->config.begin)
        t->config.begin(t->config.ctx);
    if (!path_form(b) || !number_and_emit(b, &entry, &number))
        return false;
    check(!is_overfull(t));
    commit_code(b, number);
    note_chained(b, number, entry);
    return true;
}

/* The pages that code goes to next are made in one go, not by a fault each. */
static void make_ready(const struct emit *e, u8 **ready)
{
    enum { STEP = 256 << 10, PAGE = 4096 };
    if (e->p + UNIT_ROOM <= *ready || *ready >= e->end)
        return;
    u8 *from = MAX(*ready, (u8 *)ALIGN_DOWN((uintptr_t)e->p, PAGE));
    size_t size = MIN((size_t)STEP, ALIGN_DOWN((size_t)(e->end - from), PAGE));
    if (size)
        madvise(from, size, MADV_POPULATE_WRITE); /* where the kernel cannot, they are made by faults */
    *ready = from + STEP;
}

#define READY(vec, to) vast_ready((vec).v, (vec).cap * sizeof *(vec).v, (vec).n * sizeof *(vec).v, to)

static void make_all_ready(struct translator *t)
{
    make_ready(&t->hot, &t->hot_ready);
    make_ready(&t->warm, &t->warm_ready);
    make_ready(&t->cold, &t->cold_ready);
    READY(t->table.units, &t->ready.units);
    READY(t->table.insns, &t->ready.insns);
    READY(t->table.refs, &t->ready.refs);
    READY(t->table.exits, &t->ready.exits);
    READY(t->table.code, &t->ready.code);
    READY(t->marks, &t->ready.marks);
    vast_ready(t->links, EXIT_ID_LIMIT * sizeof *t->links, t->table.exits.n * sizeof *t->links, &t->ready.links);
}

/* Translate the unit of a place, and after it, without a jump between them, those that its last exit
 * runs on into. */
static bool translate_unit(struct translator *t, u64 key, enum arrival by, struct err *e)
{
    make_all_ready(t);
    struct emit before = t->hot;
    t->looked.n = 0;
    while (emit_here(&t->hot) & 15)
        emit_8(&t->hot, 0xcc);
    /* A unit first reached by an indirect branch will be again: its door runs on into it. */
    u32 door = by == BY_LINK ? 0 : branch_door(t, &t->hot, key & ~PC_QUIET, by);
    if (!translate_one(t, key, CHAIN_LIMIT, door != 0, e)) {
        t->hot = before;
        return false;
    }
    if (door) {
        struct place *p = places_get(&t->places, key);
        if (by == BY_JUMP)
            p->door = door;
        else
            replace_landing(t, p, door);
    }
    for (u32 chain = CHAIN_LIMIT; t->builder.adjacent; chain--) {
        struct err ignored;
        u32 exit = t->builder.exit0 + t->builder.adjacent - 1;
        u64 next = link_key(t, exit);
        if (translate_one(t, next, chain - 1, t->table.exits.v[exit].kind == EXIT_LANDING, &ignored)) {
            places_get(&t->places, next)->before = exit + 1;
            continue;
        }
        exit_late_jump(t, exit);
        break;
    }
    connect_chain(t);
    unpublish_end(t);
    return true;
}

/* -- Hot units -------------------------------------------------------------------------------- */

/* The new unit takes the place's, whose code stays for those who are in it; who comes to its head is sent on. */
static void take_over(struct translator *t, u32 number, u32 entry)
{
    struct builder *b = &t->builder;
    struct place *p = places_get(&t->places, b->pc);
    u32 old = p->entry;
    t->below[number] = p->unit;
    note_chained(b, number, entry);
    connect_chain(t);
    link_head(t, old, entry);
    unpublish_end(t);
    t->stats.hot++;
}

bool translate_hot(struct translator *t, const u32 *exit_ids, u32 n)
{
    struct builder *b = &t->builder;
    struct err ignored;
    u32 exits[HOT_EXITS], entry, number;
    if (n < 2 || n > HOT_EXITS || t->config.novel || !has_room(t, 2 * UNIT_ROOM))
        return false;
    for (u32 k = 0; k < n; k++) {
        exits[k] = exit_ids[k] - FIRST_EXIT_ID;
        if (exit_ids[k] < FIRST_EXIT_ID || exits[k] >= t->table.exits.n ||
            t->quiet[t->table.exits.v[exits[k]].unit])
            return false;
    }
    b->t = t;
    b->err = &ignored;
    b->pc = t->table.units.v[t->table.exits.v[exits[0]].unit].pc;
    b->quiet = false;
    b->is_hot = true;
    b->aside = false;
    b->chain = 0;
    b->careful = false;
    b->e = &t->hot;
    version_begin(b);
    t->looked.n = 0;
    const struct place *p = places_find(&t->places, b->pc);
    if (!p || !p->unit || !hot_path(b, exits, n))
        return false;
    const struct ends before = ends_of(t);
    while (emit_here(&t->hot) & 15)
        emit_8(&t->hot, 0xcc);
    if (!number_and_emit(b, &entry, &number) ||
        drop_holds(t, places_find(&t->places, b->pc), number)) {
        back_to(t, &before);
        return false;
    }
    commit_code(b, number);
    take_over(t, number, entry);
    return true;
}

/* -- Familiar code ---------------------------------------------------------------------------- */

/* As with a hot unit: who comes to the head of the old one is sent on to the new one. */
static bool settle(struct translator *t, u64 key)
{
    struct emit before = t->hot;
    struct err ignored;
    struct place *p = places_find(&t->places, key);
    u32 old = p->unit, entry = p->entry;
    t->looked.n = 0;
    while (emit_here(&t->hot) & 15)
        emit_8(&t->hot, 0xcc);
    if (!translate_one(t, key, 0, false, &ignored)) {
        t->hot = before;
        return false;
    }
    p = places_find(&t->places, key);
    if (p->unit != old)
        t->below[p->unit - 1] = old;
    connect_chain(t);
    link_head(t, entry, places_find(&t->places, key)->entry);
    unpublish_end(t);
    t->stats.settled++;
    return true;
}

bool translate_bound(struct translator *t)
{
    u64 pc;
    while (t->bindings.n && has_room(t, 2 * UNIT_ROOM) && (pc = linkage_next(t))) {
        const struct place *p = places_find(&t->places, pc);
        if (p && p->unit && settle(t, pc))
            return true;
    }
    return false;
}

bool translate_settle(struct translator *t, bool again)
{
    u64 pc;
    if (again)
        t->novelty.next = 0;
    while (has_room(t, 2 * UNIT_ROOM) && (pc = novel_next(t))) {
        const struct place *p = places_find(&t->places, place_key(pc, true));
        if (p && p->unit && p->asks && settle(t, p->pc))
            return true;
    }
    return false;
}

/* -- Requests --------------------------------------------------------------------------------- */

/* Make the indirect entry of a translated place. */
static void make_door(struct translator *t, u64 key, enum arrival by)
{
    struct place *p = places_get(&t->places, key);
    u32 *door = by == BY_JUMP ? &p->door : &p->landing;
    if (!*door) {
        t->looked.n = 0;
        *door = branch_door(t, &t->warm, key & ~PC_QUIET, by);
        emit_jmp(&t->warm, t->cache + (masks_gate(t) ? p->inner : p->entry));
        drop_note(t, key);
        t->stats.doors++;
    }
    publish(t, p);
}

struct cache_pc translate_pc(struct translator *t, struct app_pc pc, enum arrival by, struct err *e)
{
    struct cache_pc none = {0};
    if (pc.v == 0) {
        err_set(e, "the program jumped to address 0");
        return none;
    }
    if (pc.v >> ADDRESS_BITS && !(t->config.selection && pc.v >> ADDRESS_BITS == PC_QUIET >> ADDRESS_BITS)) {
        err_set(e, "the program jumped to 0x%llx, where no program can be", (unsigned long long)pc.v);
        return none;
    }
    if (!has_room(t, 2 * UNIT_ROOM) && !translate_flush(t, e))
        return none;
    if (!places_get(&t->places, pc.v)->unit) {
        t->ahead.n = t->ahead_next = 0; /* what was worth running ahead of is past */
        t->ahead_budget = AHEAD_BUDGET;
        if (!translate_unit(t, pc.v, by, e))
            return none;
        if (by == BY_JUMP)
            linkage_arrive(t, pc.v);
    }
    if (by != BY_LINK)
        make_door(t, pc.v, by);
    return (struct cache_pc){t->cache + places_get(&t->places, pc.v)->entry};
}

struct cache_pc translate_exit(struct translator *t, u32 exit_id, struct err *e)
{
    u32 exit = exit_id - FIRST_EXIT_ID;
    if (exit_id < FIRST_EXIT_ID || exit >= t->table.exits.n ||
        t->table.exits.v[exit].kind == EXIT_INDIRECT) {
        err_set(e, "the program asked for exit %u, which does not exist", exit_id);
        return (struct cache_pc){0};
    }
    return translate_pc(t, (struct app_pc){link_key(t, exit)}, BY_LINK, e);
}

static bool is_unchanged(struct translator *t, const struct unit *u)
{
    const struct unit_insn *in = &t->table.insns.v[u->insn0];
    u8 now[ZYDIS_MAX_INSTRUCTION_LENGTH];
    if (t->config.begin)
        t->config.begin(t->config.ctx);
    for (u32 i = 0; i < u->n_insns; i++)
        if (t->config.fetch(t->config.ctx, in[i].pc, now, in[i].len) != in[i].len ||
            memcmp(now, &t->table.code.v[in[i].bytes], in[i].len))
            return false;
    return true;
}

struct cache_pc translate_changed(struct translator *t, struct app_pc pc, u64 rsp, struct err *e)
{
    struct place *p = places_find(&t->places, pc.v);
    if (p && p->unit) {
        const struct unit *u = &t->table.units.v[p->unit - 1];
        bool unchanged = is_unchanged(t, u), near = volatile_near_stack(t, u, rsp);
        if (!unchanged || (near && !p->careful)) { /* else another thread was faster */
            p->careful |= near;
            drop_unit(t, pc.v);
            drop_end(t);
            t->stats.changed++;
        }
    }
    return translate_pc(t, pc, BY_LINK, e);
}

bool translate_ahead(struct translator *t)
{
    while (t->ahead_next < t->ahead.n && t->ahead_budget && has_room(t, 2 * UNIT_ROOM)) {
        u64 key = t->ahead.v[t->ahead_next++];
        struct err ignored;
        if (places_get(&t->places, key)->unit)
            continue;
        t->ahead_budget--;
        if (translate_unit(t, key, BY_LINK, &ignored))
            t->stats.ahead++;
        return true;
    }
    return false;
}

bool translator_is_full(const struct translator *t)
{
    return t->is_full;
}

const struct unit_table *translator_table(const struct translator *t)
{
    return &t->table;
}

struct translate_stats translator_stats(const struct translator *t)
{
    struct translate_stats s = t->stats;
    const u8 *cache = t->config.wire + WIRE_CACHE_OFF;
    s.cache_bytes = (u64)(t->hot.p - cache) + (u64)(t->warm.p - (cache + t->warm_at)) + (u64)(t->cold.p - (cache + t->cold_at));
    return s;
}
