/* SPDX-License-Identifier: MIT */
/* Jumps through words that hardly ever change: libraries call each other through them.
 *
 * Where the dynamic loader has made such words read-only, they are constants: the guest tells us before they can change, and what is
 * translated with them depends on their page. The path simply goes on.
 *
 * Where entries of the procedure linkage table are bound when they are first used, the word can be written at any time. The path goes on
 * where it leads now, behind a comparison:
 *
 *           cmp dword [word], low ; jne elsewhere        flags: whoever binds destroys them, so nobody has any in use here
 *           cmp dword [word + 4], high ; jne elsewhere
 *
 * An entry that is not bound yet makes a unit of its own. When the program first goes on behind it, to have it bound, the unit is noted,
 * and made anew when the word has changed. */
#include "translate/state.h"

#include <string.h>

enum { CC_NE = 5, ENTRY_JUMP = 6 /* bytes */, BIND_TRIES = 1000 };

static bool jumps_through_word(const struct translator *t, const struct insn *in, u64 *address)
{
    return in->class == INSN_JMP_IND && t->config.constant && t->config.events != EVENTS_values && !insn_uses_gs(in) &&
           insn_rip_target(in, address) && in->op[0].mem.segment != ZYDIS_REGISTER_FS && in->op[0].size == 64 && *address % 8 == 0;
}

/* Code may be anywhere but at 0 and beyond all addresses. */
static bool leads_somewhere(u64 target)
{
    return target && !(target >> ADDRESS_BITS);
}

/* Is it the first instruction of an entry that is bound when it is used? Behind it are `push number` and `jmp`. */
static bool is_lazy(struct translator *t, const struct insn *in)
{
    u64 behind = in->pc + in->len;
    const struct insn *push = path_look(t, behind);
    if (!push || push->z.mnemonic != ZYDIS_MNEMONIC_PUSH || push->op[0].type != ZYDIS_OPERAND_TYPE_IMMEDIATE)
        return false;
    const struct insn *jmp = path_look(t, behind + push->len);
    return jmp && jmp->class == INSN_JMP;
}

/* Wherever in the cache the comparison is. */
static bool is_near(const struct translator *t, u64 address)
{
    s64 d = (s64)(address - t->cache);
    return d > (s64)WIRE_CACHE_SIZE - 0x7ff00000ll && d < 0x7ff00000ll;
}

enum linkage linkage_of(struct translator *t, const struct insn *in, u64 *target)
{
    u64 address, pc = in->pc, len = in->len;
    if (!jumps_through_word(t, in, &address))
        return LINKAGE_none;
    if (t->config.constant(t->config.ctx, address, target) && leads_somewhere(*target)) {
        path_look_page(t, address >> 12);
        return LINKAGE_constant;
    }
    if (t->config.selection || !is_near(t, address) || !is_lazy(t, in) || !t->config.word(t->config.ctx, address, target))
        return LINKAGE_none;
    return *target == pc + len || !leads_somewhere(*target) ? LINKAGE_unbound : LINKAGE_bound;
}

bool linkage_goes_on(struct translator *t, const struct insn *in, u64 *target)
{
    enum linkage l = linkage_of(t, in, target);
    return l == LINKAGE_constant || l == LINKAGE_bound;
}

/* The word leads elsewhere now. */
static u64 emit_elsewhere(struct builder *b, u32 i)
{
    struct emit *c = &b->t->cold;
    u32 k = exit_add(b, i + 1, EXIT_INDIRECT, 0);
    u64 at = emit_here(c);
    emit_gs_store(c, R10, T_R10);
    rewrite_target_load(c, &b->insn[i], R10, (struct rewrite){REG_NONE, REG_NONE});
    emit_gs_store(c, R10, T_TARGET);
    exit_header(b, c, k, 0);
    exit_advance(b, c);
    hot_balance(b, c);
    branch_table_jmp(b, c);
    return at;
}

static void emit_compare(struct emit *e, u64 address, u32 value)
{
    const u8 cmp[] = {0x81, 0x3d}; /* cmp dword [rip + ..], value */
    emit_bytes(e, cmp, sizeof cmp);
    emit_32(e, (u32)(address - (emit_here(e) + 8)));
    emit_32(e, value);
}

bool linkage_emit(struct builder *b, u32 i)
{
    const struct insn *in = &b->insn[i];
    u64 address, now, target = path_way_on(b, i);
    if (!slots_before(b, i) || !insn_rip_target(in, &address))
        return plain_refuse(b, in);
    values_step(&b->values, in);
    if (b->t->config.constant(b->t->config.ctx, address, &now) && now == target)
        return true;
    if (!is_near(b->t, address))
        return plain_refuse(b, in);
    slots_settle_rsp(b);
    u64 stub = emit_elsewhere(b, i);
    for (u32 half = 0; half < 2; half++) {
        emit_compare(b->e, address + 4 * half, (u32)(target >> 32 * half));
        emit_jcc(b->e, CC_NE, stub);
    }
    return true;
}

/* -- Entries that are being bound ------------------------------------------------------------- */

void linkage_arrive(struct translator *t, u64 pc)
{
    u64 address, target;
    const struct insn *in = path_decode(t, pc - ENTRY_JUMP);
    if (!in || in->len != ENTRY_JUMP || !jumps_through_word(t, in, &address) || linkage_of(t, in, &target) != LINKAGE_unbound)
        return;
    struct binding new = {.pc = pc - ENTRY_JUMP, .address = address, .word = pc};
    vec_push(&t->bindings, new);
}

u64 linkage_next(struct translator *t)
{
    for (size_t i = 0; i < t->bindings.n; i++) {
        struct binding *x = &t->bindings.v[i], was = *x;
        u64 now = x->word;
        if (t->config.word(t->config.ctx, x->address, &now) && now == x->word && ++x->tries < BIND_TRIES)
            continue;
        *x = t->bindings.v[--t->bindings.n];
        if (now != was.word)
            return was.pc;
        i--;
    }
    return 0;
}
