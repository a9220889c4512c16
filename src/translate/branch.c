/* SPDX-License-Identifier: MIT */
/* Indirect branches, returns and calls: how the program finds the unit of an address, and how the
 * processor's return predictor stays right. */
#include "translate/state.h"

#include <string.h>

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
                           0xf5, 0x14, 0x25}; /* pext r10, r10, gs:[mask] */
        emit_bytes(e, pext, sizeof pext);
        emit_32(e, masks_gate(t) ? T_LIMIT : T_JUMP_MASK);
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

static u64 jump_table(const struct translator *t, bool quiet)
{
    return t->config.jump + (quiet ? WIRE_JUMP_PAIR : 0);
}

static void emit_table_jmp(struct translator *t, struct emit *e, bool quiet)
{
    emit_table_load(t, e, jump_table(t, quiet));
    const u8 jmp[] = {0x41, 0xff, 0xe2}; /* jmp r10 */
    emit_bytes(e, jmp, sizeof jmp);
}

void branch_table_jmp(struct builder *b, struct emit *e)
{
    emit_table_jmp(b->t, e, b->quiet);
}

/* Where loop is quick, a target that is right takes no branch: taken ones cost the processor its memory of others. The way out is hidden
 * in the operand of a nop. */
static void emit_leave_unless_one(struct emit *e, u64 miss)
{
    const u8 loop[] = {0xe2, 3 + 3};       /* over the move and the nop's opcode */
    const u8 hide[] = {0x0f, 0x1f, 0x84}; /* nop [base + index * scale + disp32] */
    emit_bytes(e, loop, sizeof loop);
    emit_move(e, RCX, R10);
    emit_bytes(e, hide, sizeof hide);
    emit_jmp(e, miss - MISS_MOVE);
}

static void emit_leave_unless_zero(struct emit *e, u64 miss)
{
    const u8 jrcxz[] = {0xe3, 3 + 5}; /* over the way out */
    emit_bytes(e, jrcxz, sizeof jrcxz);
    emit_move(e, RCX, R10);
    emit_jmp(e, miss);
    emit_move(e, RCX, R10);
}

/* Verify that the target is pc, leave to the guest if not, and restore the program's r10. A return
 * has left a cache address below the stack pointer, where the program has its return address: put
 * that back.
 *
 * The flags are not touched: if this is not the target, whoever is may read them. rcx waits in r10
 * meanwhile, which takes no time; in memory it would. The lowest 16 bits need no test: they brought
 * us here. Neither do the highest, which no address of the program has. */
static void emit_verify(struct translator *t, struct emit *e, u64 pc, enum arrival by)
{
    u64 miss = by == BY_RETURN ? t->config.guest.landing : t->config.guest.indirect;
    const u8 load[] = {0x65, 0x8b, 0x0c, 0x25}; /* mov ecx, gs:[T_TARGET + 2] */
    const u8 lea[] = {0x8d, 0x89};              /* lea ecx, [rcx - (pc >> 16)], or one more */
    emit_move(e, R10, RCX);
    emit_bytes(e, load, sizeof load);
    emit_32(e, T_TARGET + 2);
    emit_bytes(e, lea, sizeof lea);
    emit_32(e, t->has_quick_loop - (u32)(pc >> 16));
    if (t->has_quick_loop)
        emit_leave_unless_one(e, miss);
    else
        emit_leave_unless_zero(e, miss);
    if (by == BY_RETURN) {
        emit_gs_load(e, R10, T_TARGET);
        emit_store(e, R10, RSP, -8);
    }
    emit_gs_load(e, R10, T_R10);
}

u32 branch_door(struct translator *t, struct emit *e, u64 pc, enum arrival by)
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
    if (exit_takes_r11(b) && in->names & LIVE_REG(R11)) {
        rw.r11_as = b->r11_in = loan_take(b, in, &loan, true);
        emit_gs_load(b->e, rw.r11_as, T_APP_R11);
    }
    if (!slots_before(b, i))
        return plain_refuse(b, in);
    b->r11_in = REG_NONE;
    if (through_gs && !plain_enter_gs(b, in, &loan))
        return plain_refuse(b, in);
    if (insn_rip_target(in, &address) && !plain_is_near(b, address)) {
        emit_imm(b->e, R10, address);
        if (through_gs || in->op[0].mem.segment == ZYDIS_REGISTER_FS)
            emit_8(b->e, through_gs ? 0x65 : 0x64);
        emit_load(b->e, R10, R10, 0);
    } else {
        rewrite_target_load(b->e, in, R10, rw);
    }
    if (through_gs)
        plain_leave_gs(b, &loan);
    loan_return(b, &loan);
    copies_target(b, i);
    return true;
}

bool branch_load_target(struct builder *b, u32 i)
{
    const struct insn *in = &b->insn[i];
    emit_gs_store(b->e, R10, T_R10);
    mark(b, i, MARK_R10);
    if (in->op[0].type == ZYDIS_OPERAND_TYPE_REGISTER) {
        u8 from = insn_gpr(in->op[0].reg.value);
        if (!slots_before(b, i))
            return plain_refuse(b, in);
        if (from == R11 && exit_takes_r11(b))
            emit_gs_load(b->e, R10, T_APP_R11);
        else if (from != R10)
            emit_move(b->e, R10, from);
    } else if (!emit_target_load(b, i)) {
        return false;
    }
    return true;
}

/* The same; and the thread block knows the target too. */
static bool emit_target(struct builder *b, u32 i)
{
    if (!branch_load_target(b, i))
        return false;
    emit_gs_store(b->e, R10, T_TARGET);
    return true;
}

bool branch_jmp(struct builder *b, u32 i)
{
    if (!emit_target(b, i))
        return false;
    values_step(&b->values, &b->insn[i]);
    slots_settle_rsp(b);
    u32 k = exit_add(b, i + 1, EXIT_INDIRECT, 0);
    exit_header(b, b->e, k, 0);
    exit_advance(b, b->e);
    u8 *leave = version_leave_test(b, false);
    emit_table_jmp(b->t, b->e, b->quiet);
    if (leave) {
        version_leave(b, leave);
        emit_table_jmp(b->t, b->e, true);
    }
    return true;
}

static void emit_return(struct builder *b, u32 i, bool quiet)
{
    const struct insn *in = &b->insn[i];
    bool has_count = in->op[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
    if (b->t->config.strict ||
        has_count) { /* with a count, the landing would not know where the return slot was */
        emit_lea(b->e, RSP, RSP, 8 + (has_count ? (s32)(u16)in->op[0].imm.value.u : 0));
        emit_table_jmp(b->t, b->e, quiet);
        return;
    }
    emit_table_load(b->t, b->e, jump_table(b->t, quiet) + WIRE_JUMP_SIZE);
    mark(b, i, MARK_RETURN);
    emit_store(b->e, R10, RSP, 0);
    emit_8(b->e, 0xc3);
}

/* ret: the return slot gets the cache address of the landing and a real ret goes there, so that the
 * processor's return predictor, fed by the real call at the call site, is right. */
bool branch_ret(struct builder *b, u32 i)
{
    const struct insn *in = &b->insn[i];
    if (!slots_before(b, i))
        return plain_refuse(b, in);
    emit_gs_store(b->e, R10, T_R10);
    mark(b, i, MARK_R10);
    emit_load(b->e, R10, RSP, 0);
    emit_gs_store(b->e, R10, T_TARGET);
    copies_target(b, i);
    values_step(&b->values, in);
    slots_settle_rsp(b);
    u32 k = exit_add(b, i + 1, EXIT_INDIRECT, 0);
    exit_header(b, b->e, k, 0);
    exit_advance(b, b->e);
    u8 *leave = version_leave_test(b, true);
    emit_return(b, i, b->quiet);
    if (leave) {
        mark(b, i, MARK_R10);
        version_leave(b, leave);
        emit_return(b, i, true);
    }
    return true;
}

/* -- Calls ------------------------------------------------------------------------------------
 *
 *           call stub                         the processor remembers what follows:
 *           landing pad of the return         then, if it can, the code the program returns to
 *           ...
 *   stub:   lea rsp, [rsp+8]                  behind the last unit of the chain
 *           push [return pc] ; jmp callee
 *
 * The way back costs no jump; the way to the callee lies where nothing runs on into it. */

/* What the program's call pushes overwrites what the real call pushed. */
static void emit_push_return(struct translator *t, struct emit *e, u64 return_pc, u64 return_const)
{
    bool strict = t->config.strict;
    if ((s64)return_pc == (s32)return_pc) {
        const u8 mov[] = {0x48, 0xc7, 0x44, 0x24,
                          strict ? 0xf8 : 0}; /* mov qword [rsp - 8 or 0], imm32 */
        emit_bytes(e, mov, sizeof mov);
        emit_32(e, (u32)return_pc);
        if (strict) /* after the store: that may fault */
            emit_lea(e, RSP, RSP, -8);
        return;
    }
    if (!strict)
        emit_lea(e, RSP, RSP, 8);
    const u8 push[] = {0xff, 0x35}; /* push [rip + return_const] */
    emit_bytes(e, push, sizeof push);
    emit_32(e, (u32)(return_const - (emit_here(e) + 4)));
}

void branch_call_stub(struct translator *t, const struct call_site *c)
{
    struct emit *e = &t->hot;
    u64 return_const = emit_here(e);
    emit_64(e, c->return_pc);
    s32 over = (s32)(e->p - (c->field + 4));
    memcpy(c->field, &over, 4);
    emit_push_return(t, e, c->return_pc, return_const);
    if (!c->direct) {
        emit_table_jmp(t, e, c->quiet);
        return;
    }
    struct link *l = link_of(t, c->exit);
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
    b->link[k] = (struct link){.stub = exit_ask_stub(b, k)};
    b->pad = b->link[k].pad = cache_offset(b->t, emit_here(b->e));
    b->pad_pc = return_pc;
    emit_verify(b->t, b->e, return_pc, BY_RETURN);
    exit_way_on(b, k);
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
        exit_jmp(b, b->e, k);
    else
        emit_table_jmp(b->t, b->e, b->quiet);
}

/* The real call that another unit has for the same call: the processor would remember another place behind a second one, and
 * the program returns to the first. Before it is used, the stack is touched here: there, a fault would seem to be the other's. */
static bool emit_shared_call(struct builder *b, u64 return_pc, u64 callee)
{
    const struct place *r = places_find(&b->t->places, place_key(return_pc, b->quiet));
    if (!r || !r->call || r->callee != callee || b->t->config.no_link)
        return false;
    emit_store(b->e, RSP, RSP, -8);
    emit_jmp(b->e, b->t->cache + r->call);
    return true;
}

bool branch_call(struct builder *b, u32 i)
{
    const struct insn *in = &b->insn[i];
    bool direct = in->class == INSN_CALL;
    u64 return_pc = in->pc + in->len;
    if (direct ? !slots_before(b, i) : !emit_target(b, i))
        return plain_refuse(b, in);
    values_step(&b->values, in);
    slots_settle_rsp(b);
    u32 k = exit_add(b, i + 1, direct ? EXIT_DIRECT : EXIT_INDIRECT, direct ? in->target : 0);
    b->exit[k].is_call = true;
    exit_header(b, b->e, k, 0);
    exit_advance(b, b->e);
    mark(b, i, (u8)(MARK_DONE | (direct ? 0 : MARK_R10)));
    if (b->t->config.strict) {
        emit_strict_call(b, k, direct, return_pc);
        return true;
    }
    if (emit_shared_call(b, return_pc, direct ? in->target : 0))
        return true;
    emit_8(b->e, 0xe8);
    b->call = (struct call_site){
        .field = b->e->p, .return_pc = return_pc, .exit = k, .direct = direct, .quiet = b->quiet};
    emit_32(b->e, 0);
    emit_pad(b, return_pc);
    return true;
}
