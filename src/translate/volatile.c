/* SPDX-License-Identifier: MIT */
/* Code that may change at any moment: it can be written, or is shared with who knows whom.
 *
 *   entry:  the gate
 *           cmp dword [code+0], 0x... ; jne -> stale stub     the bytes that were translated
 *           cmp dword [code+4], 0x... ; jne -> stale stub
 *           ...
 *           the body
 *
 * All ways into the unit pass the check. It holds for the whole unit, because the unit ends behind
 * the first instruction that may write to its code: the next one is checked anew. Stores relative to
 * the stack pointer are let through; the check makes sure that the stack is not near. What other
 * threads write is seen at the next entry, which is all that the processor promises. */
#include "translate/state.h"

/* How far from the stack pointer at the unit's entry a store may be, to be one to the stack; and how
 * far a path may lead away from the unit's entry. */
enum { STACK_REACH = 4096, CODE_REACH = 1 << 20 };

enum { CC_B = 2, CC_NE = 5 };

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
    if (b->careful || a->base != RSP || a->index != REG_NONE || a->seg != TERM_NONE ||
        a->op != REF_PLAIN || a->flags || in->is_rep)
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

/* Compare a run of bytes at r10 + disp, four at a time; the last four may overlap. */
static void check_run(struct emit *e, s32 disp, const u8 *byte, u32 n, u64 stub)
{
    u32 step = n < 4 ? 1 : 4;
    for (u32 at = 0; at < n; at += step) {
        u32 from = MIN(at, n - step), value = 0;
        for (u32 i = 0; i < step; i++)
            value |= (u32)byte[from + i] << 8 * i;
        emit_compare(e, R10, disp + (s32)from, value, step);
        emit_jcc(e, CC_NE, stub);
    }
}

static void check_bytes(struct builder *b, u64 stub)
{
    u8 run[VOLATILE_INSNS * ZYDIS_MAX_INSTRUCTION_LENGTH];
    u32 n = 0;
    u64 start = b->pc;
    for (u32 i = 0; i < b->n_insns; i++) {
        const struct insn *in = &b->insn[i];
        if (in->pc != start + n) {
            check_run(b->e, (s32)(start - b->pc), run, n, stub);
            start = in->pc;
            n = 0;
        }
        for (u32 k = 0; k < in->len; k++)
            run[n++] = in->bytes[k];
    }
    check_run(b->e, (s32)(start - b->pc), run, n, stub);
}

/* Leave if rsp - STACK_REACH .. rsp + STACK_REACH meets the code: one unsigned comparison. */
static void check_stack(struct builder *b, u64 stub)
{
    u64 low = b->pc, high = b->pc;
    for (u32 i = 0; i < b->n_insns; i++) {
        low = MIN(low, b->insn[i].pc);
        high = MAX(high, b->insn[i].pc + b->insn[i].len);
    }
    const u8 add[] = {0x49, 0x01, 0xe2}; /* add r10, rsp */
    const u8 cmp[] = {0x49, 0x81, 0xfa}; /* cmp r10, imm32 */
    emit_imm(b->e, R10, STACK_REACH - low);
    emit_bytes(b->e, add, sizeof add);
    emit_bytes(b->e, cmp, sizeof cmp);
    emit_32(b->e, (u32)(high - low) + 2 * STACK_REACH);
    emit_jcc(b->e, CC_B, stub);
}

bool volatile_near_stack(const struct translator *t, const struct unit *u, u64 rsp)
{
    const struct unit_insn *in = &t->table.insns.v[u->insn0];
    u64 low = u->pc, high = u->pc;
    for (u32 i = 0; i < u->n_insns; i++) {
        low = MIN(low, in[i].pc);
        high = MAX(high, in[i].pc + in[i].len);
    }
    return rsp - low + STACK_REACH < high - low + 2 * STACK_REACH;
}

void volatile_check(struct builder *b, u64 stub)
{
    emit_gs_store(b->e, R10, T_SPILL1);
    if (b->stack_stores)
        check_stack(b, stub);
    emit_imm(b->e, R10, b->pc);
    check_bytes(b, stub);
    emit_gs_load(b->e, R10, T_SPILL1);
}
