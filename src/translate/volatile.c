/* SPDX-License-Identifier: MIT */
/* Code that may change at any moment: it can be written, or is shared with who knows whom.
 *
 *   entry:  mov ecx, [code+0] ; lea ecx, [rcx - 0x...]        the bytes that were translated
 *           mov ecx, [code+4] ; lea ecx, [rcx - 0x...] ; lea rdx, [rdx + rcx]
 *           ...
 *           mov rcx, rdx ; jrcxz over a jump to the stale stub
 *           the gate, the body
 *
 * The flags are not touched, even where the unit does not need them: what is there instead of it may.
 * Each four bytes' difference is a number without sign, and all are added up in 64 bits: the sum is 0
 * if nothing has changed.
 *
 * All ways into the unit pass the check. It holds for the whole unit, because the unit ends behind
 * the first instruction that may write to its code: the next one is checked anew. Stores relative to
 * the stack pointer are let through; the check makes sure that the stack is not near. What other
 * threads write is seen at the next entry, which is all that the processor promises. */
#include "translate/state.h"

/* How far from the stack pointer at the unit's entry a store may be, to be one to the stack; and how
 * far a path may lead away from the unit's entry. */
enum { STACK_REACH = 4096, CODE_REACH = 1 << 20 };

bool volatile_at(const struct translator *t, u64 pc)
{
    return t->config.kind && t->config.kind(t->config.ctx, pc) == CODE_VOLATILE;
}

bool volatile_insn(const struct translator *t, const struct insn *in)
{
    return volatile_at(t, in->pc) ||
           ((in->pc & 4095) + in->len > 4096 && volatile_at(t, in->pc + in->len - 1));
}

/* -- The path --------------------------------------------------------------------------------- */

static bool is_stack_store(const struct builder *b, const struct insn *in, const struct access *a)
{
    const struct value *rsp = &b->values.reg[RSP];
    if (b->careful || !b->t->has_bmi2 || a->base != RSP || a->index != REG_NONE ||
        a->seg != TERM_NONE || a->op != REF_PLAIN || a->flags || in->is_rep)
        return false;
    if (!rsp->known || rsp->a != TERM_RSP || rsp->b != TERM_NONE)
        return false;
    s64 at = rsp->c + a->disp;
    return at >= -STACK_REACH && at + (s64)a->size <= STACK_REACH;
}

bool volatile_goes_on(struct builder *b, const struct insn *in)
{
    struct access a[ACCESS_LIMIT];
    int n = insn_accesses(in, a);
    if (b->n_insns == 1)
        values_enter(&b->values);
    for (int k = 0; k < n; k++) {
        if (a[k].kind == REF_LOAD)
            continue;
        if (!is_stack_store(b, in, &a[k]))
            return false;
        b->stack_stores = true;
    }
    values_step(&b->values, in);
    s64 away = (s64)(b->next - b->pc);
    return n >= 0 && away > -CODE_REACH && away < CODE_REACH;
}

/* -- The check -------------------------------------------------------------------------------- */

static void check_piece(struct emit *e, s32 disp, u32 value, u32 size)
{
    const u8 lea[] = {0x48, 0x8d, 0x14, 0x0a}; /* lea rdx, [rdx + rcx] */
    emit_load_narrow(e, RCX, R10, disp, size);
    emit_lea_narrow(e, RCX, RCX, (s32)(0 - value));
    emit_bytes(e, lea, sizeof lea);
}

/* Compare a run of bytes at r10 + disp, four at a time; the last four may overlap. */
static void check_run(struct emit *e, s32 disp, const u8 *byte, u32 n)
{
    u32 step = n < 4 ? 1 : 4;
    for (u32 at = 0; at < n; at += step) {
        u32 from = MIN(at, n - step), value = 0;
        for (u32 i = 0; i < step; i++)
            value |= (u32)byte[from + i] << 8 * i;
        check_piece(e, disp + (s32)from, value, step);
    }
}

static void check_bytes(struct builder *b)
{
    u8 run[VOLATILE_INSNS * ZYDIS_MAX_INSTRUCTION_LENGTH];
    u32 n = 0;
    u64 start = b->pc;
    for (u32 i = 0; i < b->n_insns; i++) {
        const struct insn *in = &b->insn[i];
        if (in->pc != start + n) {
            check_run(b->e, (s32)(start - b->pc), run, n);
            start = in->pc;
            n = 0;
        }
        for (u32 k = 0; k < in->len; k++)
            run[n++] = in->bytes[k];
    }
    check_run(b->e, (s32)(start - b->pc), run, n);
}

/* How many bits the stack pointer's distance from the code has, at most, if the stack is near. */
static u8 near_bits(u64 low, u64 high)
{
    u8 bits = 0;
    while (high - low + 2 * STACK_REACH > 1ull << bits)
        bits++;
    return bits;
}

enum { JMP_SIZE = 5 };

static void leave_unless_zero(struct emit *e, u64 stub)
{
    const u8 jrcxz[] = {0xe3, JMP_SIZE};
    emit_bytes(e, jrcxz, sizeof jrcxz);
    emit_jmp(e, stub);
}

static void leave_if_zero(struct emit *e, u64 stub)
{
    const u8 jrcxz_over_jmp[] = {0xe3, 2, 0xeb, JMP_SIZE};
    emit_bytes(e, jrcxz_over_jmp, sizeof jrcxz_over_jmp);
    emit_jmp(e, stub);
}

/* Leave if rsp - STACK_REACH .. rsp + STACK_REACH may meet the code. */
static void check_stack(struct builder *b, u64 stub)
{
    u64 low = b->pc, high = b->pc;
    for (u32 i = 0; i < b->n_insns; i++) {
        low = MIN(low, b->insn[i].pc);
        high = MAX(high, b->insn[i].pc + b->insn[i].len);
    }
    const u8 distance[] = {0x4a, 0x8d, 0x0c,
                           0x14, /* lea rcx, [rsp + r10] */
                           0x41, 0xba, near_bits(low, high),
                           0,    0,    0, /* mov r10d, bits */
                           0xc4, 0xe2, 0xab,
                           0xf7, 0xc9}; /* shrx rcx, rcx, r10 */
    emit_imm(b->e, R10, STACK_REACH - low);
    emit_bytes(b->e, distance, sizeof distance);
    leave_if_zero(b->e, stub);
}

bool volatile_near_stack(const struct translator *t, const struct unit *u, u64 rsp)
{
    const struct unit_insn *in = &t->table.insns.v[u->insn0];
    u64 low = u->pc, high = u->pc;
    for (u32 i = 0; i < u->n_insns; i++) {
        low = MIN(low, in[i].pc);
        high = MAX(high, in[i].pc + in[i].len);
    }
    return (rsp - low + STACK_REACH) >> near_bits(low, high) == 0;
}

const u8 volatile_loans[4] = {REG_NONE, R10, RCX, RDX};

void volatile_restore(struct emit *e)
{
    emit_gs_load(e, R10, T_SPILL1);
    emit_gs_load(e, RCX, T_SPILL2);
    emit_gs_load(e, RDX, T_SPILL3);
}

void volatile_check(struct builder *b, u64 stub)
{
    emit_gs_store(b->e, R10, T_SPILL1);
    emit_gs_store(b->e, RCX, T_SPILL2);
    emit_gs_store(b->e, RDX, T_SPILL3);
    if (b->stack_stores)
        check_stack(b, stub);
    emit_imm(b->e, R10, b->pc);
    emit_imm(b->e, RDX, 0);
    check_bytes(b);
    emit_move(b->e, RCX, RDX);
    leave_unless_zero(b->e, stub);
    volatile_restore(b->e);
}
