/* SPDX-License-Identifier: MIT */
/* The ways out of a unit: what they mean, the header they write, the jump that is linked.
 *
 *     mov dword [r11], id<<8|slots ; lea r11, [...]   the exit writes the header and advances
 *     jmp next unit                                   patched by link.c; at first to a stub that asks
 */
#include "translate/state.h"

bool exit_has_pointer(const struct builder *b)
{
    return b->t->config.events != EVENTS_none;
}

bool exit_records(const struct builder *b)
{
    return exit_has_pointer(b) && !b->quiet;
}

bool exit_tells_memory(const struct builder *b)
{
    return b->t->config.events >= EVENTS_memory && !b->quiet;
}

bool exit_tells_values(const struct builder *b)
{
    return b->t->config.events == EVENTS_values && !b->quiet;
}

bool exit_takes_r11(const struct builder *b)
{
    return exit_has_pointer(b) && b->pointer == R11;
}

static u32 exit_id(const struct builder *b, u32 k)
{
    return FIRST_EXIT_ID + b->exit0 + k;
}

s32 exit_record_size(const struct builder *b)
{
    return RECORD_SLOTS_AT + 8 * (s32)b->n_slots;
}

/* Leave for the guest through exit k. */
void exit_ask(struct builder *b, struct emit *e, u32 k, u64 guest)
{
    emit_gs_store(e, R11, T_PTR);
    emit_imm(e, R11, exit_id(b, k));
    emit_jmp(e, guest);
}

/* The code that asks the host where an exit leads. */
u32 exit_ask_stub(struct builder *b, u32 k)
{
    u32 at = cache_offset(b->t, emit_here(&b->t->cold));
    exit_ask(b, &b->t->cold, k, b->t->config.guest.exit);
    return at;
}

/* Say what leaving after the first n instructions means; rsp must be settled. */
static void fill_exit(struct builder *b, u32 k, u32 n, enum exit_kind kind, u64 target)
{
    const struct value *rsp = &b->values.reg[RSP];
    bool has_rsp = exit_tells_memory(b);
    b->exit[k] = (struct unit_exit){.insns = (u16)n,
                                    .refs = (u16)b->n_refs,
                                    .slots = (u8)b->n_slots,
                                    .kind = kind,
                                    .rsp_term = has_rsp ? rsp->a : TERM_NONE,
                                    .rsp_disp = has_rsp ? rsp->c : 0,
                                    .target = target};
}

u32 exit_add(struct builder *b, u32 n, enum exit_kind kind, u64 target)
{
    u32 k = b->n_exits++;
    fill_exit(b, k, n, kind, target);
    b->link[k] = (struct link){0};
    if (kind != EXIT_INDIRECT) /* a branch to address 0 asks like any other */
        b->link[k].stub = exit_ask_stub(b, k);
    return k;
}

/* r11 is the record pointer again, as it is between units. */
static void take_r11(struct builder *b, struct emit *e)
{
    if (b->pointer == R11)
        return;
    emit_gs_store(e, R11, T_APP_R11);
    emit_move(e, R11, b->pointer);
    emit_gs_load(e, b->pointer, T_LENT);
    if (e == b->e) /* the unit's last words */
        b->pointer = R11;
}

void exit_header(struct builder *b, struct emit *e, u32 k, s32 disp)
{
    if (!exit_has_pointer(b))
        return;
    take_r11(b, e);
    if (exit_records(b))
        emit_header(e, exit_id(b, k) << RECORD_ID_SHIFT | b->n_slots, disp);
}

void exit_advance(struct builder *b, struct emit *e)
{
    if (exit_records(b))
        emit_lea(e, R11, R11, exit_record_size(b));
}

static void note_site(struct builder *b, struct emit *e, u32 k)
{
    b->link[k].site = cache_offset(b->t, emit_here(e)) - 4;
}

/* May exit k simply run on into what is emitted next? Then nothing is emitted for it. */
static bool runs_on(struct builder *b, u32 k)
{
    u64 target = b->exit[k].target;
    struct translator *t = b->t;
    if (!target || !b->chain || t->config.no_link || target == b->pc ||
        places_get(&t->places, place_key(target, b->quiet))->unit)
        return false;
    if (b->is_volatile || volatile_at(t, target)) /* one of them will change before the other */
        return false;
    b->adjacent = k + 1;
    return true;
}

/* jmp to where exit k leads, patchable. */
void exit_jmp(struct builder *b, struct emit *e, u32 k)
{
    emit_align_patch(e, 1);
    emit_jmp(e, b->t->cache + b->link[k].stub);
    note_site(b, e, k);
}

void exit_jcc(struct builder *b, u8 cc, u32 k)
{
    emit_align_patch(b->e, 2);
    emit_jcc(b->e, cc, b->t->cache + b->link[k].stub);
    note_site(b, b->e, k);
}

/* The last jmp of a unit. */
void exit_way_on(struct builder *b, u32 k)
{
    if (!runs_on(b, k))
        exit_jmp(b, b->e, k);
}

void exit_late_jump(struct translator *t, u32 exit)
{
    struct link *l = link_of(t, exit);
    l->stub = cache_offset(t, emit_here(&t->cold));
    emit_gs_store(&t->cold, R11, T_PTR);
    emit_imm(&t->cold, R11, exit + FIRST_EXIT_ID);
    emit_jmp(&t->cold, t->config.guest.exit);
    emit_align_patch(&t->hot, 1);
    emit_jmp(&t->hot, t->cache + l->stub);
    l->site = cache_offset(t, emit_here(&t->hot)) - 4;
}

void exit_direct(struct builder *b, u32 n, u64 target)
{
    u32 k = exit_add(b, n, EXIT_DIRECT, target);
    exit_header(b, b->e, k, 0);
    exit_advance(b, b->e);
    exit_way_on(b, k);
}
