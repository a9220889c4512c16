/* SPDX-License-Identifier: MIT */
/* A formed unit becomes code.
 *
 *   entry:  cmp r11, gs:[limit] ; ja -> gate stub           the one gate; in volatile code, before
 *                                                           it a check of the bytes: volatile.c
 *           mov [r11+4+8k], reg ; the instruction           slots, then what they are for
 *           ...
 *           mov dword [r11], id<<8|slots ; lea r11, [...]   an exit: see exits.c
 *           jmp next unit
 *
 * The state of the program at entry and at every exit is exact, but for flags that nobody will
 * read. */
#include "translate/state.h"

#include <string.h>

enum { CC_E = 4, CC_A = 7 };
enum { LEAST_USES = 2 };
enum { DENSEST = 32 }; /* bytes of slots for a byte of code, which BUFFER_SLACK has room for */

/* -- The gate --------------------------------------------------------------------------------- */

void body_save_flags(struct emit *e)
{
    const u8 save[] = {0x9f, 0x0f, 0x90, 0xc0}; /* lahf ; seto al */
    emit_gs_store(e, RAX, T_SPILL0);
    emit_bytes(e, save, sizeof save);
}

void body_restore_flags(struct emit *e)
{
    const u8 restore[] = {0x04, 0x7f, 0x9e}; /* add al, 0x7f ; sahf */
    emit_bytes(e, restore, sizeof restore);
    emit_gs_load(e, RAX, T_SPILL0);
}

/* The way out to the guest, before the unit has done anything: r11 = which unit it is. */
void body_head_exit(struct builder *b, u64 entry, u64 guest)
{
    struct emit *c = &b->t->cold;
    emit_gs_store(c, R11, T_PTR);
    const u8 lea[] = {0x4c, 0x8d, 0x1d, 5, 0, 0, 0}; /* lea r11, [rip + 5]: past the jmp */
    emit_bytes(c, lea, sizeof lea);
    emit_jmp(c, guest);
    s32 to_entry = (s32)(entry - emit_here(c));
    struct gate g = {.pc = b->pc, .entry = to_entry, .inner = to_entry};
    emit_bytes(c, &g, sizeof g);
}

/* What the latest head exit's gate has behind it. */
void body_note_inner(struct builder *b)
{
    struct emit *c = &b->t->cold;
    u64 gate = emit_here(c) - sizeof(struct gate);
    s32 inner = (s32)(emit_here(b->e) - gate);
    if (!c->full && !b->is_volatile)
        memcpy(c->p - sizeof(struct gate) + offsetof(struct gate, inner), &inner, sizeof inner);
}

static u64 emit_gate_stub(struct builder *b, u64 entry, bool flags_are_live)
{
    struct emit *c = &b->t->cold;
    u64 at = emit_here(c);
    if (flags_are_live)
        body_restore_flags(c);
    body_head_exit(b, entry, b->t->config.guest.gate);
    return at;
}

static u64 emit_stale_stub(struct builder *b, u64 entry)
{
    struct emit *c = &b->t->cold;
    u64 at = emit_here(c);
    volatile_restore(c);
    body_head_exit(b, entry, b->t->config.guest.stale);
    return at;
}

/* Where there is no pointer, the gate is closed when the limit is 0. */
static void emit_gate_test(struct builder *b, struct emit *e, u64 stub)
{
    if (exit_has_pointer(b)) {
        emit_gate_compare(e);
        emit_jcc(e, CC_A, stub);
        return;
    }
    const u8 cmp[] = {0x65, 0x83, 0x3c, 0x25}; /* cmp dword gs:[T_LIMIT], 0 */
    emit_bytes(e, cmp, sizeof cmp);
    emit_32(e, T_LIMIT);
    emit_8(e, 0);
    emit_jcc(e, CC_E, stub);
}

/* Returns where its branch has the way to the stub. */
static u8 *emit_gate(struct builder *b, struct emit *e, u64 stub, bool flags_are_live)
{
    if (flags_are_live)
        body_save_flags(e);
    emit_gate_test(b, e, stub);
    u8 *field = e->p - 4;
    if (flags_are_live)
        body_restore_flags(e);
    return field;
}

/* A unit's first instruction can be replaced by a jump at once, whoever is about to run it: see link_head. */
static void align_head(struct emit *e)
{
    u64 at = emit_here(e) & 7;
    if (at > 3)
        emit_nops(e, 8 - at);
}

/* -- Other ends ------------------------------------------------------------------------------- */

static u8 condition_of(const struct insn *in)
{
    /* 70+cc rel8 and 0F 80+cc rel32 */
    return in->z.opcode & 15;
}

/* A conditional branch in the middle: the way on costs nothing, the side exit writes its record out
 * of line. On a hot path the way on may be the one that the branch takes. */
static void emit_side_exit(struct builder *b, u32 i)
{
    const struct insn *in = &b->insn[i];
    struct emit *c = &b->t->warm;
    u64 fall = in->pc + in->len;
    bool falls = path_way_on(b, i) == fall;
    u8 condition = condition_of(in) ^ !falls;
    slots_settle_rsp(b);
    u32 k = exit_add(b, i + 1, EXIT_DIRECT, falls ? in->target : fall);
    if (!exit_records(b) && !b->n_frames && b->pointer == R11) {
        exit_jcc(b, condition, k);
        return;
    }
    u64 stub = emit_here(c);
    exit_header(b, c, k, 0);
    exit_advance(b, c);
    hot_balance(b, c);
    exit_jmp(b, c, k);
    emit_jcc(b->e, condition, stub);
}

/* A conditional branch at the end. The taken side's header is written first and overwritten when it
 * falls through: a second store to a hot line is cheaper than a second jump. */
static void emit_last_jcc(struct builder *b, u32 i)
{
    const struct insn *in = &b->insn[i];
    slots_settle_rsp(b);
    u32 taken = exit_add(b, i + 1, EXIT_DIRECT, in->target),
        fall = exit_add(b, i + 1, EXIT_DIRECT, in->pc + in->len);
    exit_header(b, b->e, taken, 0);
    exit_advance(b, b->e);
    exit_jcc(b, condition_of(in), taken);
    exit_header(b, b->e, fall, -exit_record_size(b));
    exit_way_on(b, fall);
}

/* loop, jrcxz and their kin reach only 127 bytes: hop over the fall-through exit. */
static void emit_jcx(struct builder *b, u32 i)
{
    const struct insn *in = &b->insn[i];
    values_step(&b->values, in);
    slots_settle_rsp(b);
    u32 fall = exit_add(b, i + 1, EXIT_DIRECT, in->pc + in->len),
        taken = exit_add(b, i + 1, EXIT_DIRECT, in->target);
    exit_header(b, b->e, fall, 0);
    exit_advance(b, b->e);
    emit_bytes(b->e, in->bytes, in->len);
    u8 *field = b->e->p - 1;
    exit_jmp(b, b->e, fall);
    if (!b->e->full)
        *field = (u8)(b->e->p - field - 1);
    exit_header(b, b->e, taken, -exit_record_size(b));
    exit_jmp(b, b->e, taken);
}

static void emit_syscall(struct builder *b, u32 i)
{
    const struct insn *in = &b->insn[i];
    u64 next = in->pc + in->len;
    values_step(&b->values, in);
    slots_settle_rsp(b);
    u32 k = exit_add(b, i + 1, EXIT_SYSCALL, next);
    exit_header(b, b->e, k, 0);
    exit_advance(b, b->e);
    const u8 lea[] = {0x48, 0x8d, 0x0d, 5, 0, 0, 0}; /* lea rcx, [rip + 5]: past the jmp */
    emit_imm(b->e, RCX, next);                       /* rcx is the kernel's to spoil */
    emit_gs_store(b->e, RCX, T_PC);
    emit_bytes(b->e, lea, sizeof lea);
    emit_jmp(b->e, b->t->config.guest.syscall);
    exit_way_on(b, k);
}

/* After an instruction that changed a segment base the guest states it anew; after one that may have set the alignment flag it
 * sees to it that what follows does not run from the cache. */
static bool emit_state_change(struct builder *b, u32 i)
{
    const struct insn *in = &b->insn[i];
    if (in->z.mnemonic == ZYDIS_MNEMONIC_WRGSBASE)
        plain_gsbase(b, in);
    else if (plain_writes_gs(in) ? !plain_gs_selector(b, i) : !plain_emit(b, i))
        return false;
    slots_settle_rsp(b);
    u32 k = exit_add(b, i + 1, EXIT_STATE, in->pc + in->len);
    exit_header(b, b->e, k, 0);
    exit_advance(b, b->e);
    exit_ask(b, b->e, k, b->t->config.guest.state);
    return true;
}

/* An instruction that faults: if it does not after all, go on behind it. */
static bool emit_trap(struct builder *b, u32 i)
{
    const struct insn *in = &b->insn[i];
    bool after = in->z.mnemonic == ZYDIS_MNEMONIC_INT3 || in->z.mnemonic == ZYDIS_MNEMONIC_INT1;
    mark(b, i, after ? MARK_AFTER : 0);
    emit_bytes(b->e, in->bytes, in->len);
    slots_settle_rsp(b);
    exit_direct(b, i + 1, in->pc + in->len);
    return true;
}

static bool emit_one(struct builder *b, u32 i)
{
    const struct insn *in = &b->insn[i];
    bool last = i + 1 == b->n_insns && !b->falls_off;
    mark(b, i, 0);
    if (b->t->watched.n && !watch_emit(b, i))
        return false;
    if (b->is_hot && !last && in->class >= INSN_CALL && in->class <= INSN_RET)
        return hot_branch(b, i);
    switch (in->class) {
    case INSN_PLAIN:
        if (in->z.mnemonic != ZYDIS_MNEMONIC_RDGSBASE)
            return plain_emit(b, i);
        plain_gsbase(b, in);
        values_step(&b->values, in);
        return true;
    case INSN_JMP:
        return true;
    case INSN_JCC:
        return last ? emit_last_jcc(b, i) : emit_side_exit(b, i), true;
    case INSN_JCX:
        return emit_jcx(b, i), true;
    case INSN_CALL:
    case INSN_CALL_IND:
        return branch_call(b, i);
    case INSN_JMP_IND:
        return last ? branch_jmp(b, i) : linkage_emit(b, i);
    case INSN_RET:
        return branch_ret(b, i);
    case INSN_SYSCALL:
        return emit_syscall(b, i), true;
    case INSN_STATE:
        return emit_state_change(b, i);
    case INSN_TRAP:
        return emit_trap(b, i);
    default:
        return plain_refuse(b, in);
    }
}

/* A straight line that ends in an indirect branch or a return arrives at a door or a landing, and
 * so at a gate; so does one that ends in a call of such a line, as of an entry of the procedure
 * linkage table. */
static bool is_line(const struct builder *b)
{
    if (b->is_hot)
        return false;
    const struct insn *last = &b->insn[b->n_insns - 1];
    for (u32 i = 0; i < b->n_insns; i++)
        if (b->insn[i].class == INSN_JCC)
            return false;
    if (b->falls_off)
        return false;
    switch (last->class) {
    case INSN_JMP_IND:
    case INSN_CALL_IND:
    case INSN_RET:
        return true;
    case INSN_CALL:
        return path_is_trampoline(b->t, last->target);
    default:
        return false;
    }
}

/* -- The record pointer ------------------------------------------------------------------------ */

/* A path that names r11 again and again is better off with the pointer in a register that it does not name at all. */
static u8 choose_pointer(const struct builder *b)
{
    static const u8 candidates[] = {R15, R14, R13, R12, R9, R8, RBP, RBX};
    u32 named = 0, uses = 0;
    for (u32 i = 0; i < b->n_insns; i++) {
        named |= b->insn[i].names;
        uses += (b->insn[i].names & LIVE_REG(R11)) != 0;
    }
    for (size_t i = 0;
         exit_has_pointer(b) && !b->t->config.stay && uses >= LEAST_USES && i < sizeof candidates; i++)
        if (!(named & LIVE_REG(candidates[i])))
            return candidates[i];
    return R11;
}

static void move_pointer(struct builder *b)
{
    u8 to = choose_pointer(b);
    if (to == R11)
        return;
    emit_gs_store(b->e, to, T_LENT);
    emit_move(b->e, to, R11);
    emit_gs_load(b->e, R11, T_APP_R11);
    b->pointer = to;
}

/* An ordinary path is short enough for everything; a hot one may end here. */
static bool fits(const struct builder *b, u32 i)
{
    return b->n_slots + path_slots(b, &b->insn[i]) + watch_slots(watch_at(b, i)) <= UNIT_SLOTS && b->n_exits + 3 <= UNIT_EXITS;
}

/* Whoever runs on into the unit has passed a gate. The others come here. */
static u64 emit_head_aside(struct builder *b, bool flags_are_live)
{
    struct emit *c = &b->t->cold;
    align_head(c);
    u64 entry = emit_here(c);
    u8 *field = emit_gate(b, c, entry, flags_are_live);
    u64 behind = emit_here(c) - (u64)(c->p - (field + 4));
    emit_jmp(c, emit_here(b->e));
    s32 over = (s32)(emit_gate_stub(b, entry, flags_are_live) - behind);
    if (!c->full)
        memcpy(field, &over, sizeof over);
    body_note_inner(b);
    return entry;
}

/* The gate, and in volatile code the check before it; the entry. */
static u32 emit_head(struct builder *b, bool flags_are_live)
{
    if (!b->is_volatile && !b->aside)
        align_head(b->e);
    u64 entry = emit_here(b->e);
    mark(b, 0, MARK_HEAD);
    if (b->is_volatile) {
        mark(b, 0, MARK_CHECK);
        volatile_check(b, emit_stale_stub(b, entry));
        mark(b, 0, MARK_HEAD);
    }
    if (b->aside && !b->is_volatile) {
        entry = emit_head_aside(b, flags_are_live);
    } else {
        emit_gate(b, b->e, emit_gate_stub(b, entry, flags_are_live), flags_are_live);
        body_note_inner(b);
    }
    b->inner = cache_offset(b->t, b->is_volatile ? entry : emit_here(b->e));
    return cache_offset(b->t, entry);
}

bool body_emit(struct builder *b, u32 *entry)
{
    values_enter(&b->values);
    memset(b->insn_refs, 0, sizeof b->insn_refs);
    memset(b->insn_watch, 0, sizeof b->insn_watch);
    memset(b->insn_slot, 0, sizeof b->insn_slot);
    b->n_refs = b->n_exits = b->n_slots = b->n_marks = b->pad = b->adjacent = 0;
    b->n_frames = 0;
    b->is_large = false;
    b->pointer = R11;
    b->r11_in = REG_NONE;
    b->call.field = NULL;
    b->is_line = is_line(b);
    *entry = emit_head(b, flags_live_in(b) != 0);
    version_head(b);
    if (version_is_crossing(b))
        return true;
    move_pointer(b);
    for (u32 i = 0; i < b->n_insns; i++) {
        if (b->is_hot)
            hot_stores(b, i);
        u32 slots = b->n_slots;
        if (!fits(b, i) || !emit_one(b, i)) {
            b->failed = i;
            return false;
        }
        b->is_large |= 8 * (b->n_slots - slots) > DENSEST * b->insn[i].len;
    }
    if (b->is_large)
        b->inner = *entry;
    if (b->falls_off) {
        slots_settle_rsp(b);
        exit_direct(b, b->n_insns, b->next);
    }
    return true;
}
