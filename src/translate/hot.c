/* SPDX-License-Identifier: MIT */
/* Hot units: the path that several records took, as one unit.
 *
 * Such a path goes through what ends other units: taken branches, calls and their returns, indirect jumps, its own head. A
 * return or an indirect branch in it is compared with where it went when the path was seen; if it goes elsewhere, the unit is
 * left before it, to the ordinary unit that begins with it. A call pushes what it must, and no more; its return needs no
 * comparison where nothing in between can have overwritten what was pushed. */
#include "translate/state.h"

/* -- The path --------------------------------------------------------------------------------- */

static bool leads_to(const struct insn *in, u64 pc)
{
    switch (in->class) {
    case INSN_PLAIN:
        return pc == in->pc + in->len;
    case INSN_JMP:
    case INSN_CALL:
        return pc == in->target;
    case INSN_JCC:
        return pc == in->target || pc == in->pc + in->len;
    case INSN_JMP_IND:
    case INSN_CALL_IND:
    case INSN_RET:
        return true;
    default:
        return false;
    }
}

static bool may_be_in_path(const struct insn *in)
{
    return in->class != INSN_REFUSED && in->class != INSN_TRAP;
}

/* Add the instructions of one exit; false if the path ends before one of them, at b->next. */
static bool add_exit(struct builder *b, const struct unit_exit *x)
{
    struct translator *t = b->t;
    const struct unit_insn *from = &t->table.insns.v[t->table.units.v[x->unit].insn0];
    for (u32 i = 0; i < x->insns; i++) {
        u64 pc = from[i].pc;
        if (b->n_insns && !leads_to(&b->insn[b->n_insns - 1], pc))
            return false;
        b->next = pc;
        if (b->n_insns == UNIT_INSNS)
            return false;
        const struct insn *in = &b->insn[b->n_insns];
        if (!path_take(b, pc) || volatile_insn(t, in) || !may_be_in_path(in) ||
            (b->n_insns && version_tells(b, in)))
            return false;
        b->n_insns++;
        b->next = in->class == INSN_JMP ? in->target : pc + in->len;
    }
    return true;
}

static void end_at(struct builder *b, u32 i)
{
    b->n_insns = i + 1;
    b->next = b->insn[i].pc + b->insn[i].len;
    b->falls_off = false;
}

/* The path ends behind its last instruction, or goes on from there where that leads only one way. */
static void end_falling(struct builder *b)
{
    const struct insn *last = &b->insn[b->n_insns - 1];
    b->falls_off = last->class == INSN_PLAIN || last->class == INSN_JMP;
    if (!b->falls_off)
        end_at(b, b->n_insns - 1);
}

/* A path that comes by its own head again ends there, the last time: so does the loop that it is, which would go on in other units else. */
static void cut_to_rounds(struct builder *b)
{
    u32 depth = 0, end = 0;
    for (u32 i = 0; i < b->n_insns; i++) {
        const enum insn_class class = b->insn[i].class;
        if (i && !depth && b->insn[i].pc == b->pc)
            end = i;
        depth += class == INSN_CALL || class == INSN_CALL_IND;
        depth -= class == INSN_RET && depth;
    }
    if (!end || (!depth && b->insn[b->n_insns - 1].class != INSN_RET && leads_to(&b->insn[b->n_insns - 1], b->pc)))
        return; /* it is no loop, or of whole rounds as it is */
    b->n_insns = end;
    b->next = b->pc;
    end_falling(b);
}

bool hot_path(struct builder *b, const u32 *exits, u32 n)
{
    const struct unit_exit *x = b->t->table.exits.v;
    b->n_insns = 0;
    b->is_volatile = b->stack_stores = false;
    for (u32 k = 0; k < n && add_exit(b, &x[exits[k]]); k++)
        ;
    if (b->n_insns <= x[exits[0]].insns || b->insn[0].pc != b->pc)
        return false;
    end_falling(b);
    cut_to_rounds(b);
    hot_trim(b);
    return b->n_insns > x[exits[0]].insns;
}

/* A jump through a word: does that lead where the path goes? */
static bool goes_that_way(struct builder *b, u32 i)
{
    u64 target;
    return linkage_goes_on(b->t, &b->insn[i], &target) && target == path_way_on(b, i);
}

void hot_trim(struct builder *b)
{
    u32 call[FRAME_LIMIT], open = 0;
    for (u32 i = 0; i < b->n_insns; i++) {
        const struct insn *in = &b->insn[i];
        if (i + 1 == b->n_insns && !b->falls_off)
            break;
        bool indirect = in->class == INSN_CALL_IND || in->class == INSN_RET ||
                        (in->class == INSN_JMP_IND && !goes_that_way(b, i));
        if (indirect && i == 0) { /* left before it, it would come back to itself */
            end_at(b, i);
            return;
        }
        if (in->class == INSN_CALL || in->class == INSN_CALL_IND) {
            if (open == FRAME_LIMIT) {
                end_at(b, call[0]);
                return;
            }
            call[open++] = i;
        }
        if (in->class == INSN_RET) {
            const struct insn *by = open ? &b->insn[call[open - 1]] : NULL;
            if (!by || path_way_on(b, i) != by->pc + by->len) {
                end_at(b, open ? call[0] : i);
                return;
            }
            open--;
        }
    }
    if (open)
        end_at(b, call[0]);
}

/* -- Return addresses ------------------------------------------------------------------------- */

static bool apart(const struct value *frame, const struct value *store, u32 size)
{
    return store->known && frame->known && store->a == frame->a && store->b == TERM_NONE &&
           frame->b == TERM_NONE &&
           ((store->c < frame->c && store->c + (s64)size <= frame->c) || store->c >= frame->c + 8);
}

void hot_stores(struct builder *b, u32 i)
{
    struct access a[ACCESS_LIMIT];
    if (!b->n_frames)
        return;
    int n = insn_accesses(&b->insn[i], a);
    for (int k = 0; k < n; k++) {
        struct value v = {.known = false};
        bool plain =
            a[k].op == REF_PLAIN && a[k].seg == TERM_NONE && !a[k].flags && !b->insn[i].is_rep;
        if (a[k].kind == REF_LOAD)
            continue;
        if (plain && !values_address(&b->values, a[k].base, a[k].index, a[k].shift, a[k].disp, &v))
            v.known = false;
        for (u32 f = 0; f < b->n_frames; f++)
            b->frame[f].overwritten |= !apart(&b->frame[f].at, &v, a[k].size);
    }
    if (n < 0)
        for (u32 f = 0; f < b->n_frames; f++)
            b->frame[f].overwritten = true;
}

/* The calls in the path were not real ones, but the returns from them will be, in the units that come next. Each needs an entry in
 * the processor's return predictor, or all returns after it go wrong too. What these calls push goes to the thread block: below the
 * program's stack pointer it may have data. */
void hot_balance(struct builder *b, struct emit *e)
{
    const u8 call_over[] = {0xe8, 1, 0, 0, 0, 0xcc}; /* call over an int3 */
    if (!b->n_frames || b->t->config.strict)
        return;
    emit_gs_store(e, RSP, T_SPILL1);
    emit_gs_load(e, RSP, T_SELF);
    emit_lea(e, RSP, RSP, T_CALLS);
    for (u32 f = 0; f < b->n_frames; f++)
        emit_bytes(e, call_over, sizeof call_over);
    emit_gs_load(e, RSP, T_SPILL1);
}

/* -- Branches in the middle ------------------------------------------------------------------- */

enum { CC_NE = 5 };

/* An exit before instruction i, to the unit that begins with it; the flags are saved. The address of its code. */
static u64 leave_before(struct builder *b, u32 i, u32 refs, bool r10_saved)
{
    struct emit *c = &b->t->warm;
    u32 k = exit_add(b, i, EXIT_DIRECT, b->insn[i].pc);
    b->exit[k].refs = (u16)refs;
    u64 at = emit_here(c);
    body_restore_flags(c);
    if (r10_saved)
        emit_gs_load(c, R10, T_R10);
    exit_header(b, c, k, 0);
    exit_advance(b, c);
    hot_balance(b, c);
    exit_jmp(b, c, k);
    return at;
}

static void borrow_rax(struct builder *b, u32 i, u8 flags)
{
    mark(b, i, flags);
    struct mark *m = &b->mark[b->n_marks - 1];
    m->loan[m->n_loans++] = RAX;
}

/* Put back what the comparison took. */
static void compared(struct builder *b, u32 i)
{
    if (flags_live_at(b->t, path_way_on(b, i), LIVE_FLAGS))
        body_restore_flags(b->e);
    else
        emit_gs_load(b->e, RAX, T_SPILL0);
}

static u64 constant_at(struct builder *b, u64 value)
{
    u64 at = emit_here(&b->t->cold);
    emit_64(&b->t->cold, value);
    return at;
}

/* Leave unless the branch goes where the path does; behind it, all registers are the program's again. */
static bool check_target(struct builder *b, u32 i)
{
    u32 refs = b->n_refs;
    u64 target = path_way_on(b, i);
    slots_settle_rsp(b);
    if (!branch_load_target(b, i))
        return false;
    borrow_rax(b, i, MARK_R10);
    body_save_flags(b->e);
    u64 stub = leave_before(b, i, refs, true), value = constant_at(b, target);
    const u8 cmp[] = {0x4c, 0x3b, 0x15}; /* cmp r10, [rip + value] */
    emit_bytes(b->e, cmp, sizeof cmp);
    emit_32(b->e, (u32)(value - (emit_here(b->e) + 4)));
    emit_jcc(b->e, CC_NE, stub);
    compared(b, i);
    emit_gs_load(b->e, R10, T_R10);
    return true;
}

/* The same for a return. */
static void check_return(struct builder *b, u32 i)
{
    u64 target = path_way_on(b, i);
    slots_settle_rsp(b);
    borrow_rax(b, i, 0);
    body_save_flags(b->e);
    u64 stub = leave_before(b, i, b->n_refs, false);
    for (u32 half = 0; half < 2; half++) {
        const u8 cmp[] = {0x81, 0x7c, 0x24, (u8)(4 * half)}; /* cmp dword [rsp + 4 * half], .. */
        emit_bytes(b->e, cmp, sizeof cmp);
        emit_32(b->e, (u32)(target >> 32 * half));
        emit_jcc(b->e, CC_NE, stub);
    }
    compared(b, i);
}

static void push_return(struct builder *b, u64 return_pc)
{
    if ((s64)return_pc == (s32)return_pc) {
        emit_8(b->e, 0x68); /* push imm32 */
        emit_32(b->e, (u32)return_pc);
        return;
    }
    u64 value = constant_at(b, return_pc);
    const u8 push[] = {0xff, 0x35}; /* push [rip + value] */
    emit_bytes(b->e, push, sizeof push);
    emit_32(b->e, (u32)(value - (emit_here(b->e) + 4)));
}

static bool enter(struct builder *b, u32 i)
{
    const struct insn *in = &b->insn[i];
    u64 return_pc = in->pc + in->len;
    if (in->class == INSN_CALL && !slots_before(b, i))
        return plain_refuse(b, in);
    mark(b, i, 0);
    push_return(b, return_pc);
    values_step(&b->values, in);
    b->frame[b->n_frames++] = (struct frame){.at = b->values.reg[RSP]};
    return true;
}

static bool leave(struct builder *b, u32 i)
{
    const struct insn *in = &b->insn[i];
    s32 count =
        in->op[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE ? (s32)(u16)in->op[0].imm.value.u : 0;
    const struct frame *f = &b->frame[b->n_frames - 1];
    const struct value *rsp = &b->values.reg[RSP];
    bool same = rsp->known && f->at.known && rsp->a == f->at.a && rsp->b == f->at.b &&
                rsp->c == f->at.c && rsp->b == TERM_NONE;
    if (f->overwritten || !same)
        check_return(b, i);
    b->n_frames--;
    if (!slots_before(b, i))
        return plain_refuse(b, in);
    values_step(&b->values, in);
    emit_lea(b->e, RSP, RSP, 8 + count);
    return true;
}

bool hot_branch(struct builder *b, u32 i)
{
    switch (b->insn[i].class) {
    case INSN_CALL:
        return enter(b, i);
    case INSN_CALL_IND:
        return check_target(b, i) && enter(b, i);
    case INSN_RET:
        return leave(b, i);
    default:
        if (goes_that_way(b, i))
            return linkage_emit(b, i);
        if (i == 0 || !check_target(b, i)) /* the word has changed since the path was trimmed */
            return false;
        values_step(&b->values, &b->insn[i]);
        return true;
    }
}
