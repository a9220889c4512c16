/* SPDX-License-Identifier: MIT */
/* Two versions of units, for partial traces: one records, the quiet one does not.
 *
 * Both keep the record pointer in r11, so that a thread may go from one to the other anywhere between two units, and each has
 * jump tables of its own, so that it stays in its version until it is led to the other:
 * - by the guest, at a gate, when the window opens or closes;
 * - SELECT_places: quiet units of selected code begin with the way to the recording ones; code that is not selected has,
 *   as its recording version, nothing but the way to the quiet one;
 *   If it is recorded only while it is new, each of both looks whether that is so; see novel.c;
 * - SELECT_scopes: the quiet unit at a selected function's head begins with the way to the recording one, and notes the stack
 *   pointer; a return of the recording ones that has come up to it, or a jump that has gone above it, leads back.
 * None of these touches the flags. */
#include "translate/state.h"

#include <string.h>

static u32 spot_at(const struct builder *b, u64 pc)
{
    const struct translate_config *c = &b->t->config;
    return c->selection != SELECT_all ? c->spot(c->ctx, pc) : 0;
}

static bool is_mark(const struct insn *in)
{
    u64 bytes;
    memcpy(&bytes, in->bytes, sizeof bytes);
    return in->len == sizeof bytes && mark_is(bytes);
}

bool version_tells(const struct builder *b, const struct insn *in)
{
    return exit_has_pointer(b) && (is_mark(in) || spot_at(b, in->pc) & SPOT_TELL);
}

/* By way of the guest, which leads the thread back here. */
static void emit_tell(struct builder *b)
{
    u64 stub = emit_here(&b->t->cold);
    body_head_exit(b, emit_here(b->e), b->t->config.guest.tell);
    emit_jmp(b->e, stub);
    body_note_inner(b);
}

void version_begin(struct builder *b)
{
    const struct translate_config *c = &b->t->config;
    bool counts = c->novel && c->selection == SELECT_places && spot_at(b, b->pc) & SPOT_SELECTED;
    b->count = counts ? novel_count(b->t, b->pc) : 0;
    b->is_familiar = b->count && !load_relaxed(c->wire + b->count);
}

/* Behind a branch that was always taken so far there may be new code, though what is before it is familiar. */
static bool is_news(const struct builder *b, u64 pc)
{
    return b->quiet && b->count && b->insn[b->n_insns - 1].class == INSN_JCC && !novel_is_familiar(b->t, pc);
}

bool version_parts(const struct builder *b, u64 pc)
{
    u32 differs = (spot_at(b, pc) ^ spot_at(b, b->pc)) & SPOT_SELECTED;
    return differs || (b->quiet && spot_at(b, pc) & SPOT_HEAD) || is_news(b, pc);
}

bool version_is_crossing(const struct builder *b)
{
    return b->t->config.selection == SELECT_places && !b->quiet &&
           !(spot_at(b, b->pc) & SPOT_SELECTED);
}

bool version_asks(const struct builder *b)
{
    return b->quiet && b->count && !b->is_familiar;
}

/* -- Heads ------------------------------------------------------------------------------------- */

static void emit_gs_store_imm(struct emit *e, u32 value, u32 off)
{
    const u8 mov[] = {0x65, 0xc7, 0x04, 0x25}; /* mov dword gs:[off], value */
    emit_bytes(e, mov, sizeof mov);
    emit_32(e, off);
    emit_32(e, value);
}

/* From here on the thread is quiet. Where there is a budget, its clock is stopped at the next gate. */
static void emit_hush(struct builder *b)
{
    const u8 close[] = {0x65, 0x48, 0xc7, 0x04, 0x25}; /* mov qword gs:[T_LIMIT], 0 */
    emit_gs_store_imm(b->e, 1, T_QUIET);
    if (!b->t->config.has_budget)
        return;
    emit_bytes(b->e, close, sizeof close);
    emit_32(b->e, T_LIMIT);
    emit_32(b->e, 0);
}

/* A jump if rcx is 0, over less than 128 bytes; its field. */
static u8 *emit_jrcxz(struct emit *e)
{
    emit_8(e, 0xe3);
    emit_8(e, 0);
    return e->p - 1;
}

/* Such a jump leads here. */
static void fill_short(struct emit *e, u8 *field)
{
    if (e->full)
        return;
    check(e->p - field - 1 < 128);
    *field = (u8)(e->p - field - 1);
}

/* On to the other version of this unit. */
static void emit_cross(struct builder *b)
{
    u32 k = b->n_exits++;
    b->exit[k] =
        (struct unit_exit){.kind = EXIT_LANDING, .rsp_term = TERM_NONE, .target = b->pc};
    b->link[k] = (struct link){.stub = exit_ask_stub(b, k), .crosses = true};
    exit_jmp(b, b->e, k);
}

/* What the decoder must know, and that there is a gap before. rcx is free. */
static void emit_resumed(struct emit *e, bool is_head)
{
    u32 id = is_head ? RECORD_entered : RECORD_resumed;
    const u8 rdfsbase[] = {0xf3, 0x48, 0x0f, 0xae, 0xc1}; /* rdfsbase rcx */
    const u8 zero[] = {0x49, 0xc7, 0x43, RECORD_SLOTS_AT + 24, 0, 0, 0, 0}; /* mov qword [r11 + 28], 0 */
    emit_store(e, RSP, R11, RECORD_SLOTS_AT);
    emit_bytes(e, rdfsbase, sizeof rdfsbase);
    emit_store(e, RCX, R11, RECORD_SLOTS_AT + 8);
    emit_gs_load(e, RCX, T_APP_GS);
    emit_store(e, RCX, R11, RECORD_SLOTS_AT + 16);
    emit_bytes(e, zero, sizeof zero);
    emit_header(e, id << RECORD_ID_SHIFT | RECORD_resumed_slots, 0);
    emit_lea(e, R11, R11, RECORD_SLOTS_AT + 8 * RECORD_resumed_slots);
}

/* An instruction with the unit's count as its operand, which is the last in it. */
static void emit_on_count(struct builder *b, const u8 *opcode, size_t n)
{
    emit_bytes(b->e, opcode, n);
    emit_32(b->e, (u32)(b->t->config.base + b->count - (emit_here(b->e) + 4)));
}

/* A jump if the code is familiar; its field. rcx is free. */
static u8 *emit_if_familiar(struct builder *b)
{
    const u8 load[] = {0x0f, 0xb6, 0x0d}; /* movzx ecx, byte [rip + ..] */
    emit_on_count(b, load, sizeof load);
    return emit_jrcxz(b->e);
}

/* A jump over less than 128 bytes; its field. */
static u8 *emit_over(struct emit *e)
{
    emit_8(e, 0xeb);
    emit_8(e, 0);
    return e->p - 1;
}

/* Recorded once more; if it need not be, and neither what came before, go on quietly. Several threads at once may count less than they record. */
static void emit_count(struct builder *b)
{
    struct emit *e = b->e;
    const u8 store[] = {0x88, 0x0d};            /* mov [rip + ..], cl */
    const u8 load[] = {0x65, 0x8b, 0x0c, 0x25}; /* mov ecx, gs:[T_LINGER] */
    const u8 put[] = {0x65, 0x89, 0x0c, 0x25};  /* mov gs:[T_LINGER], ecx */
    emit_gs_store(e, RCX, T_SPILL0);
    u8 *familiar = emit_if_familiar(b);
    emit_lea(e, RCX, RCX, -1);
    emit_on_count(b, store, sizeof store);
    emit_gs_store_imm(e, b->t->config.linger, T_LINGER);
    u8 *is_new = emit_over(e);
    fill_short(e, familiar);
    emit_bytes(e, load, sizeof load);
    emit_32(e, T_LINGER);
    u8 *leaves = emit_jrcxz(e);
    emit_lea(e, RCX, RCX, -1);
    emit_bytes(e, put, sizeof put);
    emit_32(e, T_LINGER);
    u8 *lingers = emit_over(e);
    fill_short(e, leaves);
    emit_gs_load(e, RCX, T_SPILL0);
    emit_hush(b);
    emit_cross(b);
    fill_short(e, is_new);
    fill_short(e, lingers);
    emit_gs_load(e, RCX, T_SPILL0);
}

static void emit_begin(struct builder *b, bool is_head)
{
    struct emit *e = b->e;
    const u8 load[] = {0x65, 0x8b, 0x0c, 0x25}; /* mov ecx, gs:[T_ARMED] */
    const u8 not[] = {0x48, 0xf7, 0xd1};        /* not rcx */
    emit_gs_store(e, RCX, T_SPILL0);
    u8 *familiar = b->count ? emit_if_familiar(b) : NULL;
    emit_bytes(e, load, sizeof load);
    emit_32(e, T_ARMED);
    u8 *field = emit_jrcxz(e);
    if (b->t->config.selection == SELECT_scopes) {
        emit_move(e, RCX, RSP);
        emit_bytes(e, not, sizeof not);
        emit_gs_store(e, RCX, T_ENTERED);
    }
    emit_resumed(e, is_head);
    emit_gs_store_imm(e, 0, T_QUIET);
    emit_gs_load(e, RCX, T_SPILL0);
    emit_cross(b);
    fill_short(e, field);
    if (familiar)
        fill_short(e, familiar);
    emit_gs_load(e, RCX, T_SPILL0);
}

void version_head(struct builder *b)
{
    u32 spot = spot_at(b, b->pc);
    if (version_tells(b, &b->insn[0]))
        emit_tell(b);
    if (version_is_crossing(b)) {
        emit_hush(b);
        emit_cross(b);
    } else if (b->quiet && !b->is_familiar && spot & (SPOT_SELECTED | SPOT_HEAD)) {
        emit_begin(b, spot & SPOT_HEAD);
    } else if (!b->quiet && b->count) {
        emit_count(b);
    }
}

/* -- Returns ----------------------------------------------------------------------------------- */

/* The stack grows down: at its own return the function's stack pointer is what it was at the head. A jump from there is a tail call, and
 * belongs to it; one from above is a longjmp. What is 4 GB or more above is another stack. */
u8 *version_leave_test(struct builder *b, bool is_return)
{
    const struct translate_config *c = &b->t->config;
    if (c->selection != SELECT_scopes || (b->quiet && !c->has_budget))
        return NULL;
    const u8 compare[] = {
        0x48, 0x8d, 0x4c, 0x0c, is_return ? 1 : 1 - 8, /* lea rcx, [rsp + rcx + ..]: rsp - what it was */
        0x48, 0x0f, 0xc9,                              /* bswap rcx */
        0x89, 0xc9,                                    /* mov ecx, ecx: 0 if that is from 0 to 4 GB */
    };
    emit_gs_store(b->e, RCX, T_SPILL0);
    emit_gs_load(b->e, RCX, T_ENTERED);
    emit_bytes(b->e, compare, sizeof compare);
    u8 *field = emit_jrcxz(b->e);
    emit_gs_load(b->e, RCX, T_SPILL0);
    return field;
}

void version_leave(struct builder *b, u8 *field)
{
    fill_short(b->e, field);
    emit_imm(b->e, RCX, ENTERED_NONE);
    emit_gs_store(b->e, RCX, T_ENTERED);
    emit_hush(b);
    emit_gs_load(b->e, RCX, T_SPILL0);
}
