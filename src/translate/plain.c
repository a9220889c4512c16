/* SPDX-License-Identifier: MIT */
/* Instructions that go on to the next one: copied, with borrowed registers where they name r11, gs
 * or far data. */
#include "translate/state.h"

#include <stdio.h>

enum { IDLE_LIMIT = 16 };

static const u32 loan_slot[LOAN_LIMIT] = {T_SPILL0, T_SPILL1, T_SPILL2, T_SPILL3};

/* How many instructions of the path after this one do not name the register: while they run, it comes back from memory. */
static u32 idle_for(const struct builder *b, const struct insn *in, u8 reg)
{
    u32 at = (u32)(in - b->insn), i = at + 1;
    while (i < b->n_insns && i < at + IDLE_LIMIT && !(b->insn[i].names & LIVE_REG(reg)))
        i++;
    return i - at;
}

static const u8 candidates[] = {RBX, RAX, RCX, RDX, RSI, RDI, RBP, R8, R9, R10, R12, R13, R14, R15};
enum { LOW_CANDIDATES = 6 };

/* Borrow a register that the instruction does not name, the one that is not needed for the longest time. */
static u8 take_among(struct builder *b, const struct insn *in, struct loan *l, size_t from, size_t to)
{
    u8 best = REG_NONE;
    u32 longest = 0;
    for (size_t i = from; i < to; i++) {
        u8 r = candidates[i];
        bool taken = in->names & LIVE_REG(r) || r == b->pointer;
        for (u8 k = 0; k < l->n; k++)
            taken |= l->reg[k] == r;
        u32 idle = taken ? 0 : idle_for(b, in, r);
        if (idle <= longest)
            continue;
        longest = idle;
        best = r;
    }
    if (best == REG_NONE)
        return REG_NONE;
    emit_gs_store(b->e, best, loan_slot[l->n]);
    l->reg[l->n++] = best;
    struct mark *m = &b->mark[b->n_marks - 1];
    m->loan[m->n_loans++] = best;
    return best;
}

/* One of the low ones if it is to stand in an operand's place. */
u8 loan_take(struct builder *b, const struct insn *in, struct loan *l, bool stands_in)
{
    return take_among(b, in, l, 0, stands_in ? LOW_CANDIDATES : ARRAY_LEN(candidates));
}

u8 loan_take_high(struct builder *b, const struct insn *in, struct loan *l)
{
    return take_among(b, in, l, LOW_CANDIDATES, ARRAY_LEN(candidates));
}

void loan_return(struct builder *b, const struct loan *l)
{
    for (u8 k = 0; k < l->n; k++)
        emit_gs_load(b->e, l->reg[k], loan_slot[k]);
}

void loan_return_last(struct builder *b, struct loan *l, u32 n)
{
    while (n--) {
        l->n--;
        emit_gs_load(b->e, l->reg[l->n], loan_slot[l->n]);
    }
    mark_again(b, l->n);
}

bool plain_is_near(const struct builder *b, u64 target)
{
    s64 d = (s64)(target - emit_here(b->e));
    return d > -0x7ff00000ll && d < 0x7ff00000ll;
}

/* lea r64,[rip+d] and mov r,[rip+d] need no borrowed register when the data is far away. */
static bool emit_far_in_place(struct builder *b, const struct insn *in, u64 target)
{
    u8 to =
        in->op[0].type == ZYDIS_OPERAND_TYPE_REGISTER ? insn_gpr(in->op[0].reg.value) : REG_NONE;
    if (to == REG_NONE || (to == R11 && exit_takes_r11(b)) || to == RSP ||
        in->z.address_width != 64)
        return false;
    if (in->z.mnemonic == ZYDIS_MNEMONIC_LEA && in->op[0].size == 64) {
        emit_imm(b->e, to, target);
        return true;
    }
    if (in->z.mnemonic != ZYDIS_MNEMONIC_MOV || in->op[0].size < 32 ||
        in->op[1].mem.segment == ZYDIS_REGISTER_FS)
        return false;
    emit_imm(b->e, to, target);
    if (in->op[0].size == 64) {
        emit_load(b->e, to, to, 0);
        return true;
    }
    ZydisEncoderRequest q = {.mnemonic = ZYDIS_MNEMONIC_MOV, .operand_count = 2};
    q.operands[0].type = ZYDIS_OPERAND_TYPE_REGISTER;
    q.operands[0].reg.value = in->op[0].reg.value;
    q.operands[1].type = ZYDIS_OPERAND_TYPE_MEMORY;
    q.operands[1].mem.base = (ZydisRegister)(ZYDIS_REGISTER_RAX + to);
    q.operands[1].mem.size = 4;
    emit_request(b->e, &q);
    return true;
}

bool plain_refuse(struct builder *b, const struct insn *in)
{
    char name[64];
    snprintf(name, sizeof name, "%s", ZydisMnemonicGetString(in->z.mnemonic));
    err_set(b->err, "the instruction %s at 0x%llx cannot run from the cache in this version", name,
            (unsigned long long)in->pc);
    return false;
}

/* gs is ours. An instruction that goes through it runs with the program's base in place; two
 * borrowed registers hold both bases meanwhile. Slow, but right for every form, and hardly any
 * program uses gs. */
bool plain_enter_gs(struct builder *b, const struct insn *in, struct loan *l)
{
    u8 ours = loan_take(b, in, l, false), theirs = loan_take(b, in, l, false);
    if (ours == REG_NONE || theirs == REG_NONE)
        return false;
    emit_gs_load(b->e, ours, T_SELF);
    emit_gs_load(b->e, theirs, T_APP_GS);
    emit_wrgsbase(b->e, theirs);
    return true;
}

void plain_leave_gs(struct builder *b, const struct loan *l)
{
    emit_wrgsbase(b->e, l->reg[l->n - 2]);
}

bool plain_emit(struct builder *b, u32 i)
{
    const struct insn *in = &b->insn[i];
    struct rewrite rw = {REG_NONE, REG_NONE};
    struct loan loan = {.n = 0};
    struct copies copies;
    u64 target;
    bool through_gs = insn_uses_gs(in), uses_r11 = exit_takes_r11(b) && in->names & LIVE_REG(R11);
    bool far = insn_rip_target(in, &target) && !plain_is_near(b, target);
    if (uses_r11) {
        rw.r11_as = b->r11_in = loan_take(b, in, &loan, true);
        if (rw.r11_as == REG_NONE)
            return plain_refuse(b, in);
        if (in->reads & LIVE_REG(R11))
            emit_gs_load(b->e, rw.r11_as, T_APP_R11);
    }
    if (!slots_before(b, i))
        return plain_refuse(b, in);
    copies_before(b, i, &loan, far + 2u * through_gs, &copies);
    if (far && !through_gs && emit_far_in_place(b, in, target))
        goto done;
    if (far) {
        rw.rip_as = loan_take(b, in, &loan, true);
        if (rw.rip_as == REG_NONE)
            return plain_refuse(b, in);
        emit_imm(b->e, rw.rip_as, target);
    }
    if (through_gs && !plain_enter_gs(b, in, &loan))
        return plain_refuse(b, in);
    if (!rewrite_insn(b->e, in, rw))
        return plain_refuse(b, in);
    if (through_gs)
        plain_leave_gs(b, &loan);
done:
    if (uses_r11 && (in->changes & LIVE_REG(R11)))
        emit_gs_store(b->e, rw.r11_as, T_APP_R11);
    slots_after(b, i);
    copies_after(b, i, &loan, &copies);
    loan_return(b, &loan);
    b->r11_in = REG_NONE;
    if (exit_records(b)) /* nobody else asks */
        values_step(&b->values, in);
    return true;
}

/* -- The program's gs -------------------------------------------------------------------------- */

/* rdgsbase and wrgsbase speak of the program's gs, which is a number in the thread block. */
void plain_gsbase(struct builder *b, const struct insn *in)
{
    u8 reg = insn_gpr(in->op[0].reg.value);
    bool stolen = reg == R11 && exit_takes_r11(b);
    u8 holder = stolen ? RCX : reg;
    bool wide = in->op[0].size == 64, write = in->z.mnemonic == ZYDIS_MNEMONIC_WRGSBASE;
    emit_gs_store(b->e, RCX, T_SPILL0);
    if (write && stolen)
        emit_gs_load(b->e, RCX, T_APP_R11);
    if (write &&
        !wide) { /* the upper half must be clear; a copy, since the register itself must stay */
        u8 mov[] = {holder >= 8 ? 0x44 : 0x40, 0x89,
                    (u8)(0xc1 | (holder & 7) << 3)}; /* mov ecx, holder */
        emit_bytes(b->e, mov, sizeof mov);
        holder = RCX;
    }
    if (write) {
        emit_gs_store(b->e, holder, T_APP_GS);
    } else if (wide) {
        emit_gs_load(b->e, holder, T_APP_GS);
    } else {
        u8 load[] = {0x65, holder >= 8 ? 0x44 : 0x40, 0x8b, (u8)(0x04 | (holder & 7) << 3), 0x25};
        emit_bytes(b->e, load, sizeof load);
        emit_32(b->e, T_APP_GS);
    }
    if (!write && stolen)
        emit_gs_store(b->e, RCX, T_APP_R11);
    if (write || reg != RCX)
        emit_gs_load(b->e, RCX, T_SPILL0);
}

/* Loading the gs selector resets the base. The register keeps our base, so only the program's
 * number changes; a selector that would fault is not noticed. */
bool plain_gs_selector(struct builder *b, u32 i)
{
    const struct insn *in = &b->insn[i];
    struct loan loan = {.n = 0};
    struct copies copies;
    if (exit_takes_r11(b) && in->names & LIVE_REG(R11)) {
        b->r11_in = loan_take(b, in, &loan, true);
        emit_gs_load(b->e, b->r11_in, T_APP_R11);
    }
    if (!slots_before(b, i))
        return plain_refuse(b, in);
    copies_before(b, i, &loan, 0, &copies);
    loan_return(b, &loan);
    b->r11_in = REG_NONE;
    const u8 clear[] = {0x65, 0x48, 0xc7, 0x04, 0x25}; /* mov qword gs:[T_APP_GS], 0 */
    emit_bytes(b->e, clear, sizeof clear);
    emit_32(b->e, T_APP_GS);
    emit_32(b->e, 0);
    if (in->z.mnemonic == ZYDIS_MNEMONIC_POP)
        emit_lea(b->e, RSP, RSP, in->z.operand_width / 8);
    if (exit_records(b)) /* nobody else asks */
        values_step(&b->values, in);
    return true;
}

bool plain_writes_gs(const struct insn *in)
{
    return (in->z.mnemonic == ZYDIS_MNEMONIC_POP || in->z.mnemonic == ZYDIS_MNEMONIC_MOV) &&
           in->op[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
           in->op[0].reg.value == ZYDIS_REGISTER_GS;
}
