/* SPDX-License-Identifier: MIT */
/* A formed unit becomes code.
 *
 *   entry:  cmp r11, gs:[limit] ; ja -> gate stub          the one gate
 *           mov [r11+4+8k], reg ; the instruction           slots, then the instruction they are
 * for
 *           ...
 *           mov dword [r11], id<<8|slots ; lea r11, [...]   the exit writes the header and advances
 *           jmp next unit                                   patched by link.c; first to a stub that
 * asks
 *
 * The state of the program at entry and at every exit is exact, but for flags that nobody will
 * read. */
#include "translate/state.h"

#include <stdio.h>
#include <string.h>

enum { CC_E = 4, CC_NE = 5, CC_A = 7 };

/* -- Exits ------------------------------------------------------------------------------------ */

static bool records(const struct builder *b)
{
    return b->t->config.events != EVENTS_none;
}

static u32 exit_id(const struct builder *b, u32 k)
{
    return (u32)(FIRST_EXIT_ID + b->t->table.exits.n + k);
}

static s32 record_size(const struct builder *b)
{
    return RECORD_SLOTS_AT + 8 * (s32)b->n_slots;
}

/* The code that asks the host where an exit leads. */
static u32 emit_ask_stub(struct builder *b, u32 k)
{
    struct emit *c = &b->t->cold;
    u32 at = cache_offset(b->t, emit_here(c));
    emit_gs_store(c, R11, T_PTR);
    emit_imm(c, R11, exit_id(b, k));
    emit_jmp(c, b->t->config.guest.exit);
    return at;
}

/* Say what leaving after the first n instructions means; rsp must be settled. */
static void fill_exit(struct builder *b, u32 k, u32 n, enum exit_kind kind, u64 target)
{
    const struct value *rsp = &b->values.reg[RSP];
    bool has_rsp = b->t->config.events == EVENTS_memory;
    b->exit[k] = (struct unit_exit){.insns = (u16)n,
                                    .refs = (u16)b->n_refs,
                                    .slots = (u8)b->n_slots,
                                    .kind = kind,
                                    .rsp_term = has_rsp ? rsp->a : TERM_NONE,
                                    .rsp_disp = has_rsp ? rsp->c : 0,
                                    .target = target};
}

static u32 add_exit(struct builder *b, u32 n, enum exit_kind kind, u64 target)
{
    u32 k = b->n_exits++;
    fill_exit(b, k, n, kind, target);
    b->link[k] = (struct link){0};
    if (kind != EXIT_INDIRECT) /* a branch to address 0 asks like any other */
        b->link[k].stub = emit_ask_stub(b, k);
    return k;
}

static void emit_exit_header(struct builder *b, struct emit *e, u32 k, s32 disp)
{
    if (records(b))
        emit_header(e, exit_id(b, k) << RECORD_ID_SHIFT | b->n_slots, disp);
}

static void emit_advance(struct builder *b, struct emit *e)
{
    if (records(b))
        emit_lea(e, R11, R11, record_size(b));
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
        places_get(&t->places, target)->unit)
        return false;
    b->adjacent = k + 1;
    return true;
}

/* jmp to where exit k leads, patchable. */
static void emit_linked_jmp(struct builder *b, struct emit *e, u32 k)
{
    emit_align_patch(e, 1);
    emit_jmp(e, b->t->cache + b->link[k].stub);
    note_site(b, e, k);
}

static void emit_linked_jcc(struct builder *b, u8 cc, u32 k)
{
    emit_align_patch(b->e, 2);
    emit_jcc(b->e, cc, b->t->cache + b->link[k].stub);
    note_site(b, b->e, k);
}

/* The last jmp of a unit. */
static void emit_way_on(struct builder *b, u32 k)
{
    if (!runs_on(b, k))
        emit_linked_jmp(b, b->e, k);
}

void body_late_jump(struct translator *t, u32 exit)
{
    struct link *l = &t->links.v[exit];
    l->stub = cache_offset(t, emit_here(&t->cold));
    emit_gs_store(&t->cold, R11, T_PTR);
    emit_imm(&t->cold, R11, exit + FIRST_EXIT_ID);
    emit_jmp(&t->cold, t->config.guest.exit);
    emit_align_patch(&t->hot, 1);
    emit_jmp(&t->hot, t->cache + l->stub);
    l->site = cache_offset(t, emit_here(&t->hot)) - 4;
}

static void emit_direct_exit(struct builder *b, u32 n, u64 target)
{
    u32 k = add_exit(b, n, EXIT_DIRECT, target);
    emit_exit_header(b, b->e, k, 0);
    emit_advance(b, b->e);
    emit_way_on(b, k);
}

/* -- The gate --------------------------------------------------------------------------------- */

static u64 emit_gate_stub(struct builder *b, u64 entry, bool flags_are_live)
{
    struct emit *c = &b->t->cold;
    u64 at = emit_here(c);
    if (flags_are_live) {                        /* undo the saving below before leaving */
        const u8 restore[] = {0x04, 0x7f, 0x9e}; /* add al, 0x7f ; sahf */
        emit_bytes(c, restore, sizeof restore);
        emit_gs_load(c, RAX, T_SPILL0);
    }
    emit_gs_store(c, R11, T_PTR);
    s64 back = (s64)(entry - (emit_here(c) + 7));
    const u8 lea_rip[] = {0x4c, 0x8d, 0x1d};
    emit_bytes(c, lea_rip, sizeof lea_rip); /* lea r11, [rip + back] */
    emit_32(c, (u32)back);
    emit_jmp(c, b->t->config.guest.gate);
    return at;
}

/* Without records there is no pointer: the gate is closed when the limit is 0. */
static void emit_gate_test(struct builder *b, u64 stub)
{
    if (records(b)) {
        emit_gate_compare(b->e);
        emit_jcc(b->e, CC_A, stub);
        return;
    }
    const u8 cmp[] = {0x65, 0x83, 0x3c, 0x25}; /* cmp dword gs:[T_LIMIT], 0 */
    emit_bytes(b->e, cmp, sizeof cmp);
    emit_32(b->e, T_LIMIT);
    emit_8(b->e, 0);
    emit_jcc(b->e, CC_E, stub);
}

static void emit_gate(struct builder *b, bool flags_are_live)
{
    u64 stub = emit_gate_stub(b, emit_here(b->e), flags_are_live);
    if (flags_are_live) {
        const u8 save[] = {0x9f, 0x0f, 0x90, 0xc0}; /* lahf ; seto al */
        const u8 restore[] = {0x04, 0x7f, 0x9e};    /* add al, 0x7f ; sahf */
        emit_gs_store(b->e, RAX, T_SPILL0);
        emit_bytes(b->e, save, sizeof save);
        emit_gate_test(b, stub);
        emit_bytes(b->e, restore, sizeof restore);
        emit_gs_load(b->e, RAX, T_SPILL0);
        return;
    }
    emit_gate_test(b, stub);
}

/* -- Plain instructions ----------------------------------------------------------------------- */

/* Borrowed registers for one instruction, put back after it. */
enum { LOAN_LIMIT = 4 };
struct loan {
    u8 reg[LOAN_LIMIT];
    u8 n;
};
static const u32 loan_slot[LOAN_LIMIT] = {T_SPILL0, T_SPILL1, T_SPILL2, T_SPILL3};

/* Borrow a register that the instruction does not name; one of the low ones if it is to stand in an
 * operand's place. */
static u8 borrow(struct builder *b, const struct insn *in, struct loan *l, bool stands_in)
{
    static const u8 candidates[] = {RBX, RAX, RCX, RDX, RSI, RDI, RBP,
                                    R8,  R9,  R10, R12, R13, R14, R15};
    for (size_t i = 0; i < (stands_in ? 6 : sizeof candidates); i++) {
        u8 r = candidates[i];
        bool taken = in->names & LIVE_REG(r);
        for (u8 k = 0; k < l->n; k++)
            taken |= l->reg[k] == r;
        if (taken)
            continue;
        emit_gs_store(b->e, r, loan_slot[l->n]);
        l->reg[l->n++] = r;
        return r;
    }
    return REG_NONE;
}

static void give_back(struct builder *b, const struct loan *l)
{
    for (u8 k = 0; k < l->n; k++)
        emit_gs_load(b->e, l->reg[k], loan_slot[k]);
}

static bool is_near(const struct builder *b, u64 target)
{
    s64 d = (s64)(target - emit_here(b->e));
    return d > -0x7ff00000ll && d < 0x7ff00000ll;
}

/* lea r64,[rip+d] and mov r,[rip+d] need no borrowed register when the data is far away. */
static bool emit_far_in_place(struct builder *b, const struct insn *in, u64 target)
{
    u8 to =
        in->op[0].type == ZYDIS_OPERAND_TYPE_REGISTER ? insn_gpr(in->op[0].reg.value) : REG_NONE;
    if (to == REG_NONE || (to == R11 && records(b)) || to == RSP || in->z.address_width != 64)
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

static bool refuse(struct builder *b, const struct insn *in)
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
static bool emit_enter_gs(struct builder *b, const struct insn *in, struct loan *l)
{
    u8 ours = borrow(b, in, l, false), theirs = borrow(b, in, l, false);
    if (ours == REG_NONE || theirs == REG_NONE)
        return false;
    emit_gs_load(b->e, ours, T_SELF);
    emit_gs_load(b->e, theirs, T_APP_GS);
    emit_wrgsbase(b->e, theirs);
    return true;
}

static void emit_leave_gs(struct builder *b, const struct loan *l)
{
    emit_wrgsbase(b->e, l->reg[l->n - 2]);
}

static bool emit_plain(struct builder *b, u32 i)
{
    const struct insn *in = &b->insn[i];
    struct rewrite rw = {REG_NONE, REG_NONE};
    struct loan loan = {.n = 0};
    u64 target;
    bool through_gs = insn_uses_gs(in), uses_r11 = records(b) && in->names & LIVE_REG(R11);
    bool far = insn_rip_target(in, &target) && !is_near(b, target);
    if (uses_r11) {
        rw.r11_as = b->r11_in = borrow(b, in, &loan, true);
        if (rw.r11_as == REG_NONE)
            return refuse(b, in);
        if (in->reads & LIVE_REG(R11))
            emit_gs_load(b->e, rw.r11_as, T_APP_R11);
    }
    if (!slots_before(b, i))
        return refuse(b, in);
    if (far && !through_gs && emit_far_in_place(b, in, target))
        goto done;
    if (far) {
        rw.rip_as = borrow(b, in, &loan, true);
        if (rw.rip_as == REG_NONE)
            return refuse(b, in);
        emit_imm(b->e, rw.rip_as, target);
    }
    if (through_gs && !emit_enter_gs(b, in, &loan))
        return refuse(b, in);
    if (!rewrite_insn(b->e, in, rw))
        return refuse(b, in);
    if (through_gs)
        emit_leave_gs(b, &loan);
done:
    if (uses_r11 && (in->changes & LIVE_REG(R11)))
        emit_gs_store(b->e, rw.r11_as, T_APP_R11);
    slots_after(b, i);
    give_back(b, &loan);
    b->r11_in = REG_NONE;
    values_step(&b->values, in);
    return true;
}

/* -- Indirect branches ------------------------------------------------------------------------ */

/* An indirect branch has its target in r10, which hardly any code has in use at a branch, and in
 * the thread block; r10 becomes the index of a jump table, and where it arrives, at a door or a
 * landing, the target is verified. Nothing here changes the flags before the flags are known to be
 * dead. */

/* r10 := index of the jump tables for the target in r10. */
static void emit_table_index(struct translator *t, struct emit *e)
{
    if (t->has_bmi2) {
        const u8 pext[] = {0x65, 0xc4, 0x62, 0xaa,
                           0xf5, 0x14, 0x25}; /* pext r10, r10, gs:[T_JUMP_MASK] */
        emit_bytes(e, pext, sizeof pext);
        emit_32(e, T_JUMP_MASK);
    } else {
        const u8 movzx[] = {0x45, 0x0f, 0xb7, 0xd2}; /* movzx r10d, r10w */
        emit_bytes(e, movzx, sizeof movzx);
    }
}

static void emit_table_load(struct translator *t, struct emit *e, u64 table)
{
    emit_table_index(t, e);
    const u8 load[] = {0x4e, 0x8b, 0x14, 0xd5}; /* mov r10, [r10*8 + table] */
    emit_bytes(e, load, sizeof load);
    emit_32(e, (u32)table);
}

static void emit_table_jmp(struct translator *t, struct emit *e)
{
    emit_table_load(t, e, t->config.jump);
    const u8 jmp[] = {0x41, 0xff, 0xe2}; /* jmp r10 */
    emit_bytes(e, jmp, sizeof jmp);
}

/* Verify the target with flags that somebody will read: rcx is borrowed for a branch that needs
 * none. */
static void emit_flagless_verify(struct emit *e, u64 pc, u64 miss)
{
    emit_gs_store(e, RCX, T_SPILL0);
    emit_gs_load(e, R10, T_TARGET);
    emit_imm(e, RCX, 0 - pc);
    const u8 lea[] = {0x4a, 0x8d, 0x0c, 0x11}; /* lea rcx, [rcx + r10] */
    emit_bytes(e, lea, sizeof lea);
    u8 *jump = e->p;
    const u8 jrcxz[] = {0xe3, 0x00};
    emit_bytes(e, jrcxz, sizeof jrcxz);
    emit_gs_load(e, RCX, T_SPILL0);
    emit_jmp(e, miss);
    if (!e->full)
        jump[1] = (u8)(e->p - jump - 2);
    emit_gs_load(e, RCX, T_SPILL0);
}

/* Verify that the target is pc, leave to the guest if not, and restore the program's r10. A return
 * has left a cache address below the stack pointer, where the program has its return address: put
 * that back. */
static void emit_verify(struct translator *t, struct emit *e, u64 pc, enum arrival by)
{
    u64 miss = by == BY_RETURN ? t->config.guest.landing : t->config.guest.indirect;
    if (flags_live_at(t, pc, LIVE_FLAGS)) {
        emit_flagless_verify(e, pc, miss);
    } else {
        const u8 cmp[] = {0x65, 0x4c, 0x3b, 0x14, 0x25}; /* cmp r10, gs:[T_TARGET] */
        emit_imm(e, R10, pc);
        emit_bytes(e, cmp, sizeof cmp);
        emit_32(e, T_TARGET);
        emit_jcc(e, CC_NE, miss);
    }
    if (by == BY_RETURN)
        emit_store(e, R10, RSP, -8);
    emit_gs_load(e, R10, T_R10);
}

u32 body_door(struct translator *t, struct emit *e, u64 pc, enum arrival by)
{
    u32 at = cache_offset(t, emit_here(e));
    emit_verify(t, e, pc, by);
    return at;
}

/* r10 := the memory operand of an indirect jump or call. */
static bool emit_target_load(struct builder *b, u32 i)
{
    const struct insn *in = &b->insn[i];
    struct rewrite rw = {REG_NONE, REG_NONE};
    struct loan loan = {.n = 0};
    bool through_gs = insn_uses_gs(in);
    u64 address;
    if (records(b) && in->names & LIVE_REG(R11)) {
        rw.r11_as = b->r11_in = borrow(b, in, &loan, true);
        emit_gs_load(b->e, rw.r11_as, T_APP_R11);
    }
    if (!slots_before(b, i))
        return refuse(b, in);
    b->r11_in = REG_NONE;
    if (through_gs && !emit_enter_gs(b, in, &loan))
        return refuse(b, in);
    if (insn_rip_target(in, &address) && !is_near(b, address)) {
        emit_imm(b->e, R10, address);
        if (through_gs || in->op[0].mem.segment == ZYDIS_REGISTER_FS)
            emit_8(b->e, through_gs ? 0x65 : 0x64);
        emit_load(b->e, R10, R10, 0);
    } else {
        rewrite_target_load(b->e, in, R10, rw);
    }
    if (through_gs)
        emit_leave_gs(b, &loan);
    give_back(b, &loan);
    return true;
}

/* r10 := where an indirect jump or call goes; and the thread block knows it too. */
static bool emit_target(struct builder *b, u32 i)
{
    const struct insn *in = &b->insn[i];
    emit_gs_store(b->e, R10, T_R10);
    if (in->op[0].type == ZYDIS_OPERAND_TYPE_REGISTER) {
        u8 from = insn_gpr(in->op[0].reg.value);
        if (!slots_before(b, i))
            return refuse(b, in);
        if (from == R11 && records(b))
            emit_gs_load(b->e, R10, T_APP_R11);
        else if (from != R10)
            emit_move(b->e, R10, from);
    } else if (!emit_target_load(b, i)) {
        return false;
    }
    emit_gs_store(b->e, R10, T_TARGET);
    return true;
}

static bool emit_jmp_indirect(struct builder *b, u32 i)
{
    if (!emit_target(b, i))
        return false;
    values_step(&b->values, &b->insn[i]);
    slots_settle_rsp(b);
    u32 k = add_exit(b, i + 1, EXIT_INDIRECT, 0);
    emit_exit_header(b, b->e, k, 0);
    emit_advance(b, b->e);
    emit_table_jmp(b->t, b->e);
    return true;
}

/* ret: the return slot gets the cache address of the landing and a real ret goes there, so that the
 * processor's return predictor, fed by the real call at the call site, is right. */
static bool emit_ret(struct builder *b, u32 i)
{
    const struct insn *in = &b->insn[i];
    if (!slots_before(b, i))
        return refuse(b, in);
    values_step(&b->values, in);
    slots_settle_rsp(b);
    u32 k = add_exit(b, i + 1, EXIT_INDIRECT, 0);
    emit_exit_header(b, b->e, k, 0);
    emit_advance(b, b->e);
    emit_gs_store(b->e, R10, T_R10);
    emit_load(b->e, R10, RSP, 0);
    emit_gs_store(b->e, R10, T_TARGET);
    bool has_count = in->op[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
    if (b->t->config.strict ||
        has_count) { /* with a count, the landing would not know where the return slot was */
        emit_lea(b->e, RSP, RSP, 8 + (has_count ? (s32)(u16)in->op[0].imm.value.u : 0));
        emit_table_jmp(b->t, b->e);
        return true;
    }
    emit_table_load(b->t, b->e, b->t->config.jump + WIRE_JUMP_SIZE);
    emit_store(b->e, R10, RSP, 0);
    emit_8(b->e, 0xc3);
    return true;
}

/* -- Calls ------------------------------------------------------------------------------------
 *
 *           call stub                                               the processor remembers the
 * landing pad landing pad of the return, then, if it can, the code the program returns to
 *           ...
 *   stub:   lea rsp, [rsp+8] ; push [return pc] ; jmp callee        behind the last unit of the
 * chain
 *
 * The way back costs no jump; the way to the callee lies where nothing runs on into it. */

/* What the program's call pushes overwrites what the real call pushed. */
static void emit_push_return(struct translator *t, struct emit *e, u64 return_pc, u64 return_const)
{
    bool strict = t->config.strict;
    if ((s64)return_pc == (s32)return_pc) {
        const u8 mov[] = {0x48, 0xc7, 0x04, 0x24}; /* mov qword [rsp], imm32 */
        if (strict)
            emit_lea(e, RSP, RSP, -8);
        emit_bytes(e, mov, sizeof mov);
        emit_32(e, (u32)return_pc);
        return;
    }
    if (!strict)
        emit_lea(e, RSP, RSP, 8);
    const u8 push[] = {0xff, 0x35}; /* push [rip + return_const] */
    emit_bytes(e, push, sizeof push);
    emit_32(e, (u32)(return_const - (emit_here(e) + 4)));
}

void body_call_stub(struct translator *t, const struct call_site *c)
{
    struct emit *e = &t->hot;
    u64 return_const = emit_here(e);
    emit_64(e, c->return_pc);
    s32 over = (s32)(e->p - (c->field + 4));
    memcpy(c->field, &over, 4);
    emit_push_return(t, e, c->return_pc, return_const);
    if (!c->direct) {
        emit_table_jmp(t, e);
        return;
    }
    struct link *l = &t->links.v[c->exit];
    emit_align_patch(e, 1);
    emit_jmp(e, t->cache + l->stub);
    l->site = cache_offset(t, emit_here(e)) - 4;
}

/* The landing pad behind a real call. */
static void emit_pad(struct builder *b, u64 return_pc)
{
    u32 k = b->n_exits++;
    b->exit[k] =
        (struct unit_exit){.kind = EXIT_LANDING, .rsp_term = TERM_NONE, .target = return_pc};
    b->link[k] = (struct link){.stub = emit_ask_stub(b, k)};
    b->pad = cache_offset(b->t, emit_here(b->e));
    b->pad_pc = return_pc;
    emit_verify(b->t, b->e, return_pc, BY_RETURN);
    emit_way_on(b, k);
}

/* Without a pad the way to the callee is straight on. */
static void emit_strict_call(struct builder *b, u32 k, bool direct, u64 return_pc)
{
    u64 return_const = emit_here(b->e) + 2;
    const u8 jmp_over[] = {0xeb, 8};
    emit_bytes(b->e, jmp_over, sizeof jmp_over);
    emit_64(b->e, return_pc);
    emit_push_return(b->t, b->e, return_pc, return_const);
    if (direct)
        emit_linked_jmp(b, b->e, k);
    else
        emit_table_jmp(b->t, b->e);
}

static bool emit_call(struct builder *b, u32 i)
{
    const struct insn *in = &b->insn[i];
    bool direct = in->class == INSN_CALL;
    u64 return_pc = in->pc + in->len;
    if (direct ? !slots_before(b, i) : !emit_target(b, i))
        return refuse(b, in);
    values_step(&b->values, in);
    slots_settle_rsp(b);
    u32 k = add_exit(b, i + 1, direct ? EXIT_DIRECT : EXIT_INDIRECT, direct ? in->target : 0);
    b->exit[k].is_call = true;
    emit_exit_header(b, b->e, k, 0);
    emit_advance(b, b->e);
    if (b->t->config.strict) {
        emit_strict_call(b, k, direct, return_pc);
        return true;
    }
    emit_8(b->e, 0xe8);
    b->call =
        (struct call_site){.field = b->e->p, .return_pc = return_pc, .exit = k, .direct = direct};
    emit_32(b->e, 0);
    emit_pad(b, return_pc);
    return true;
}

/* -- Other ends ------------------------------------------------------------------------------- */

static u8 condition(const struct insn *in)
{
    /* 70+cc rel8 and 0F 80+cc rel32 */
    return in->z.opcode & 15;
}

/* A conditional branch in the middle: the way on costs nothing, the side exit writes its record out
 * of line. */
static void emit_side_exit(struct builder *b, u32 i)
{
    const struct insn *in = &b->insn[i];
    struct emit *c = &b->t->cold;
    slots_settle_rsp(b);
    u32 k = add_exit(b, i + 1, EXIT_DIRECT, in->target);
    if (!records(b)) {
        emit_linked_jcc(b, condition(in), k);
        return;
    }
    u64 stub = emit_here(c);
    emit_exit_header(b, c, k, 0);
    emit_advance(b, c);
    emit_linked_jmp(b, c, k);
    emit_jcc(b->e, condition(in), stub);
}

/* A conditional branch at the end. The taken side's header is written first and overwritten when it
 * falls through: a second store to a hot line is cheaper than a second jump. */
static void emit_last_jcc(struct builder *b, u32 i)
{
    const struct insn *in = &b->insn[i];
    slots_settle_rsp(b);
    u32 taken = add_exit(b, i + 1, EXIT_DIRECT, in->target),
        fall = add_exit(b, i + 1, EXIT_DIRECT, in->pc + in->len);
    emit_exit_header(b, b->e, taken, 0);
    emit_advance(b, b->e);
    emit_linked_jcc(b, condition(in), taken);
    emit_exit_header(b, b->e, fall, -record_size(b));
    emit_way_on(b, fall);
}

/* loop, jrcxz and their kin reach only 127 bytes: hop over the fall-through exit. */
static void emit_jcx(struct builder *b, u32 i)
{
    const struct insn *in = &b->insn[i];
    values_step(&b->values, in);
    slots_settle_rsp(b);
    u32 fall = add_exit(b, i + 1, EXIT_DIRECT, in->pc + in->len),
        taken = add_exit(b, i + 1, EXIT_DIRECT, in->target);
    emit_exit_header(b, b->e, fall, 0);
    emit_advance(b, b->e);
    emit_bytes(b->e, in->bytes, in->len);
    u8 *field = b->e->p - 1;
    emit_linked_jmp(b, b->e, fall);
    if (!b->e->full)
        *field = (u8)(b->e->p - field - 1);
    emit_exit_header(b, b->e, taken, -record_size(b));
    emit_linked_jmp(b, b->e, taken);
}

static void emit_syscall(struct builder *b, u32 i)
{
    const struct insn *in = &b->insn[i];
    u64 next = in->pc + in->len;
    values_step(&b->values, in);
    slots_settle_rsp(b);
    u32 k = add_exit(b, i + 1, EXIT_SYSCALL, next);
    emit_exit_header(b, b->e, k, 0);
    emit_advance(b, b->e);
    const u8 lea[] = {0x48, 0x8d, 0x0d, 5, 0, 0, 0}; /* lea rcx, [rip + 5]: past the jmp */
    emit_imm(b->e, RCX, next);                       /* rcx is the kernel's to spoil */
    emit_gs_store(b->e, RCX, T_PC);
    emit_bytes(b->e, lea, sizeof lea);
    emit_jmp(b->e, b->t->config.guest.syscall);
    emit_way_on(b, k);
}

/* rdgsbase and wrgsbase speak of the program's gs, which is a number in the thread block. */
static void emit_gsbase(struct builder *b, const struct insn *in)
{
    u8 reg = insn_gpr(in->op[0].reg.value);
    bool stolen = reg == R11 && records(b);
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
static bool emit_gs_selector(struct builder *b, u32 i)
{
    const struct insn *in = &b->insn[i];
    struct loan loan = {.n = 0};
    if (records(b) && in->names & LIVE_REG(R11)) {
        b->r11_in = borrow(b, in, &loan, true);
        emit_gs_load(b->e, b->r11_in, T_APP_R11);
    }
    if (!slots_before(b, i))
        return refuse(b, in);
    give_back(b, &loan);
    b->r11_in = REG_NONE;
    const u8 clear[] = {0x65, 0x48, 0xc7, 0x04, 0x25}; /* mov qword gs:[T_APP_GS], 0 */
    emit_bytes(b->e, clear, sizeof clear);
    emit_32(b->e, T_APP_GS);
    emit_32(b->e, 0);
    if (in->z.mnemonic == ZYDIS_MNEMONIC_POP)
        emit_lea(b->e, RSP, RSP, in->z.operand_width / 8);
    values_step(&b->values, in);
    return true;
}

static bool writes_gs_selector(const struct insn *in)
{
    return (in->z.mnemonic == ZYDIS_MNEMONIC_POP || in->z.mnemonic == ZYDIS_MNEMONIC_MOV) &&
           in->op[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
           in->op[0].reg.value == ZYDIS_REGISTER_GS;
}

/* After an instruction that changed a segment base the guest states it anew. */
static bool emit_state_change(struct builder *b, u32 i)
{
    const struct insn *in = &b->insn[i];
    if (in->z.mnemonic == ZYDIS_MNEMONIC_WRGSBASE)
        emit_gsbase(b, in);
    else if (writes_gs_selector(in) ? !emit_gs_selector(b, i) : !emit_plain(b, i))
        return false;
    slots_settle_rsp(b);
    u32 k = add_exit(b, i + 1, EXIT_STATE, in->pc + in->len);
    emit_exit_header(b, b->e, k, 0);
    emit_advance(b, b->e);
    if (records(b)) {
        emit_gs_store(b->e, R11, T_PTR);
        const u8 lea[] = {0x4c, 0x8d, 0x1d, 5, 0, 0, 0}; /* lea r11, [rip + 5] */
        emit_bytes(b->e, lea, sizeof lea);
        emit_jmp(b->e, b->t->config.guest.state);
    }
    emit_way_on(b, k);
    return true;
}

/* An instruction that faults: if it does not after all, go on behind it. */
static bool emit_trap(struct builder *b, u32 i)
{
    const struct insn *in = &b->insn[i];
    emit_bytes(b->e, in->bytes, in->len);
    slots_settle_rsp(b);
    emit_direct_exit(b, i + 1, in->pc + in->len);
    return true;
}

static bool emit_one(struct builder *b, u32 i)
{
    const struct insn *in = &b->insn[i];
    bool last = i + 1 == b->n_insns && !b->falls_off;
    switch (in->class) {
    case INSN_PLAIN:
        if (in->z.mnemonic != ZYDIS_MNEMONIC_RDGSBASE)
            return emit_plain(b, i);
        emit_gsbase(b, in);
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
        return emit_call(b, i);
    case INSN_JMP_IND:
        return emit_jmp_indirect(b, i);
    case INSN_RET:
        return emit_ret(b, i);
    case INSN_SYSCALL:
        return emit_syscall(b, i), true;
    case INSN_STATE:
        return emit_state_change(b, i);
    case INSN_TRAP:
        return emit_trap(b, i);
    default:
        return refuse(b, in);
    }
}

/* A straight line that ends in an indirect branch or a return arrives at a door or a landing, and
 * so at a gate; so does one that ends in a call of such a line, as of an entry of the procedure
 * linkage table. */
static bool is_line(const struct builder *b)
{
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

bool body_emit(struct builder *b, u32 *entry)
{
    values_enter(&b->values);
    memset(b->insn_refs, 0, sizeof b->insn_refs);
    b->n_refs = b->n_exits = b->n_slots = b->pad = b->adjacent = 0;
    b->r11_in = REG_NONE;
    b->call.field = NULL;
    *entry = cache_offset(b->t, emit_here(b->e));
    b->is_line = is_line(b);
    emit_gate(b, flags_live_in(b) != 0);
    b->inner = cache_offset(b->t, emit_here(b->e));
    for (u32 i = 0; i < b->n_insns; i++)
        if (!emit_one(b, i)) {
            b->failed = i;
            return false;
        }
    if (b->falls_off) {
        slots_settle_rsp(b);
        emit_direct_exit(b, b->n_insns, b->next);
    }
    return true;
}
