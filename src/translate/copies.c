/* SPDX-License-Identifier: MIT */
/* The data that is read and written, for --events=values: a copy of it goes to slots beside those that addresses need.
 *
 * Where an instruction only moves data, the register that it comes from or goes to is stored, which is right whatever other threads do
 * meanwhile. Everything else is copied from memory: what is read before the instruction, what is written behind it, from the
 * address as it was before. The flags are not touched. A copy reads what the instruction itself is about to
 * read, or has written, so it faults where the instruction would have, and as this instruction. Forms whose masks may leave out memory that
 * is not there are never copied from memory. */
#include "translate/state.h"

enum { COPY_LIMIT = 512 /* bytes: fxsave */, VECTOR_WORDS = 8, REP_WORDS = REP_DATA / 8 };

/* How a value comes to be known. */
enum way {
    WAY_UNKNOWN,
    WAY_COPY,     /* from memory */
    WAY_REGISTER, /* it is in a general register: read ones behind the instruction, written ones before it */
    WAY_VECTOR,   /* ... in a vector register */
    WAY_CONSTANT, /* it is in the instruction */
    WAY_EXCHANGE, /* cmpxchg: the source if the zero flag is set, else rax */
    WAY_SUM,      /* xadd: the source before and behind it */
};

struct source {
    enum way way;
    u8 reg;
    ZydisRegister vector;
    u64 constant;
};

static u32 words(u32 bytes)
{
    return (bytes + 7) / 8;
}

/* -- Where a value is -------------------------------------------------------------------------- */

/* Does it move its operand as it is, from or to a vector register? */
static bool moves_vector(const struct insn *in)
{
    switch (in->z.mnemonic) {
    case ZYDIS_MNEMONIC_MOVAPS:
    case ZYDIS_MNEMONIC_MOVUPS:
    case ZYDIS_MNEMONIC_MOVAPD:
    case ZYDIS_MNEMONIC_MOVUPD:
    case ZYDIS_MNEMONIC_MOVDQA:
    case ZYDIS_MNEMONIC_MOVDQU:
    case ZYDIS_MNEMONIC_MOVNTDQ:
    case ZYDIS_MNEMONIC_MOVNTPS:
    case ZYDIS_MNEMONIC_MOVNTPD:
    case ZYDIS_MNEMONIC_VMOVAPS:
    case ZYDIS_MNEMONIC_VMOVUPS:
    case ZYDIS_MNEMONIC_VMOVAPD:
    case ZYDIS_MNEMONIC_VMOVUPD:
    case ZYDIS_MNEMONIC_VMOVDQA:
    case ZYDIS_MNEMONIC_VMOVDQU:
    case ZYDIS_MNEMONIC_VMOVDQA32:
    case ZYDIS_MNEMONIC_VMOVDQA64:
    case ZYDIS_MNEMONIC_VMOVDQU8:
    case ZYDIS_MNEMONIC_VMOVDQU16:
    case ZYDIS_MNEMONIC_VMOVDQU32:
    case ZYDIS_MNEMONIC_VMOVDQU64:
    case ZYDIS_MNEMONIC_VMOVNTDQ:
    case ZYDIS_MNEMONIC_VMOVNTPS:
    case ZYDIS_MNEMONIC_VMOVNTPD:
        return true;
    default:
        return false;
    }
}

/* The same for those whose accesses are elements under a mask. */
static bool moves_elements(const struct insn *in, const struct access *a)
{
    switch (in->z.mnemonic) {
    case ZYDIS_MNEMONIC_VMOVSS:
    case ZYDIS_MNEMONIC_VMOVSD:
        return true;
    default:
        return a->op != REF_MASK_K || moves_vector(in);
    }
}

static bool is_masked(const struct access *a)
{
    return a->op >= REF_MASK_K && a->op <= REF_INDEX_V;
}

static bool is_vector(const ZydisDecodedOperand *o)
{
    if (o->type != ZYDIS_OPERAND_TYPE_REGISTER)
        return false;
    switch (ZydisRegisterGetClass(o->reg.value)) {
    case ZYDIS_REGCLASS_MMX:
    case ZYDIS_REGCLASS_XMM:
    case ZYDIS_REGCLASS_YMM:
    case ZYDIS_REGCLASS_ZMM:
        return true;
    default:
        return false;
    }
}

/* The register of a vector move: the first operand if it is loaded, else the last; maskmovdqu has its mask there. */
static ZydisRegister moved_vector(const struct insn *in, bool written)
{
    const ZydisDecodedOperand *o = &in->op[written && in->op[0].type == ZYDIS_OPERAND_TYPE_MEMORY ? in->z.operand_count_visible - 1 : 0];
    return is_vector(o) ? o->reg.value : ZYDIS_REGISTER_NONE;
}

static struct source vector_source(const struct insn *in, bool written)
{
    ZydisRegister r = moved_vector(in, written);
    return (struct source){.way = r == ZYDIS_REGISTER_NONE ? WAY_UNKNOWN : WAY_VECTOR, .vector = r};
}

/* A general register of 32 or 64 bits. Of narrower ones the rest would be stored as well. */
static bool is_wide(const ZydisDecodedOperand *o)
{
    return o->type == ZYDIS_OPERAND_TYPE_REGISTER && o->size >= 32 && insn_gpr(o->reg.value) != REG_NONE;
}

static struct source in_register(const ZydisDecodedOperand *o)
{
    return is_wide(o) ? (struct source){.way = WAY_REGISTER, .reg = insn_gpr(o->reg.value)} : (struct source){.way = WAY_COPY};
}

static struct source source_of_read(const struct insn *in, const struct access *a)
{
    if (is_masked(a))
        return a->op != REF_ANY_K && moves_elements(in, a) ? vector_source(in, false) : (struct source){0};
    if (in->is_rep || a->size == 0 || a->size > COPY_LIMIT)
        return (struct source){0};
    switch (in->z.mnemonic) {
    case ZYDIS_MNEMONIC_MOV:
    case ZYDIS_MNEMONIC_MOVZX:
    case ZYDIS_MNEMONIC_MOVSX:
    case ZYDIS_MNEMONIC_MOVSXD:
    case ZYDIS_MNEMONIC_POP:
        return in_register(&in->op[0]);
    case ZYDIS_MNEMONIC_XCHG:
    case ZYDIS_MNEMONIC_XADD:
        return in_register(&in->op[in->op[0].type == ZYDIS_OPERAND_TYPE_MEMORY]);
    case ZYDIS_MNEMONIC_CMPXCHG:
        return is_wide(&in->op[1]) ? (struct source){.way = WAY_REGISTER, .reg = RAX} : (struct source){.way = WAY_COPY};
    default:
        return moves_vector(in) ? vector_source(in, false) : (struct source){.way = WAY_COPY};
    }
}

static struct source constant(u64 x)
{
    return (struct source){.way = WAY_CONSTANT, .constant = x};
}

static struct source source_of_move(const ZydisDecodedOperand *from)
{
    return from->type == ZYDIS_OPERAND_TYPE_IMMEDIATE ? constant(from->imm.value.u) : in_register(from);
}

static bool is_stos(const struct insn *in)
{
    switch (in->z.mnemonic) {
    case ZYDIS_MNEMONIC_STOSB:
    case ZYDIS_MNEMONIC_STOSW:
    case ZYDIS_MNEMONIC_STOSD:
    case ZYDIS_MNEMONIC_STOSQ:
        return true;
    default:
        return false;
    }
}

static struct source source_of_write(const struct insn *in, const struct access *a)
{
    if (is_masked(a))
        return a->op != REF_ANY_K && moves_elements(in, a) ? vector_source(in, true) : (struct source){0};
    if (is_stos(in))
        return (struct source){.way = WAY_REGISTER, .reg = RAX};
    if (in->is_rep || a->size == 0 || a->size > COPY_LIMIT)
        return (struct source){0};
    switch (in->z.mnemonic) {
    case ZYDIS_MNEMONIC_MOV:
    case ZYDIS_MNEMONIC_MOVNTI:
        return source_of_move(&in->op[1]);
    case ZYDIS_MNEMONIC_PUSH:
        return in->op[0].type == ZYDIS_OPERAND_TYPE_MEMORY ? (struct source){.way = WAY_COPY} : source_of_move(&in->op[0]);
    case ZYDIS_MNEMONIC_XCHG:
        return in_register(&in->op[in->op[0].type == ZYDIS_OPERAND_TYPE_MEMORY]);
    case ZYDIS_MNEMONIC_XADD:
    case ZYDIS_MNEMONIC_CMPXCHG:
        if (is_wide(&in->op[1]))
            return (struct source){.way = in->z.mnemonic == ZYDIS_MNEMONIC_XADD ? WAY_SUM : WAY_EXCHANGE, .reg = insn_gpr(in->op[1].reg.value)};
        return (struct source){.way = WAY_COPY};
    case ZYDIS_MNEMONIC_CLZERO:
        return constant(0);
    default:
        return moves_vector(in) ? vector_source(in, true) : (struct source){.way = WAY_COPY};
    }
}

u32 copies_slots(const struct builder *b, const struct insn *in)
{
    struct access a[ACCESS_LIMIT];
    u32 slots = 0;
    int n = exit_tells_values(b) ? insn_accesses(in, a) : 0;
    for (int k = 0; k < n; k++) {
        u32 one = in->is_rep ? REP_WORDS : is_masked(&a[k]) ? VECTOR_WORDS : a[k].size <= COPY_LIMIT ? words(a[k].size) : 0;
        slots += a[k].kind == REF_MODIFY ? 2 * one : one;
    }
    return slots;
}

/* -- Copying from memory ------------------------------------------------------------------------ */

/* s := base + (index << shift), cut to 32 bits where the access is. */
static void emit_sum(struct builder *b, const struct access *a, u8 s, u8 base, u8 index, u8 shift)
{
    struct access sum = {.base = base, .index = index, .shift = shift, .flags = a->flags};
    slots_effective(b, &sum, s);
}

/* s := how many cells the bit of a bt is away. */
static void emit_cell(struct builder *b, const struct access *a, u8 s, u8 t)
{
    u8 bit = slots_holder(b, a->bit_reg);
    ZydisEncoderRequest q = {.mnemonic = a->size == 4 ? ZYDIS_MNEMONIC_MOVSXD : ZYDIS_MNEMONIC_MOVSX, .operand_count = 2};
    q.operands[0].type = q.operands[1].type = q.operands[2].type = ZYDIS_OPERAND_TYPE_REGISTER;
    q.operands[0].reg.value = (ZydisRegister)(ZYDIS_REGISTER_RAX + s);
    q.operands[1].reg.value = (ZydisRegister)((a->size == 4 ? ZYDIS_REGISTER_EAX : ZYDIS_REGISTER_AX) + bit);
    if (a->size == 8)
        emit_move(b->e, s, bit);
    else
        emit_request(b->e, &q);
    emit_imm(b->e, t, (u64)__builtin_ctz(8 * a->size));
    q.mnemonic = ZYDIS_MNEMONIC_SARX;
    q.operand_count = 3;
    q.operands[1].reg.value = q.operands[0].reg.value;
    q.operands[2].reg.value = (ZydisRegister)(ZYDIS_REGISTER_RAX + t);
    emit_request(b->e, &q);
}

/* s := where the access is, but for the base of fs; t is spoilt. */
static void emit_place(struct builder *b, const struct access *a, u8 s, u8 t)
{
    if (a->op == REF_BIT) {
        emit_cell(b, a, s, t);
        slots_effective(b, a, t);
        emit_sum(b, a, s, t, s, (u8)__builtin_ctz(a->size));
    } else {
        slots_effective(b, a, s);
    }
    if (a->op == REF_XLAT) {
        const u8 movzx[] = {(u8)(0x40 | (t >> 3) << 2), 0x0f, 0xb6, (u8)(0xc0 | (t & 7) << 3)}; /* movzx t, al */
        emit_bytes(b->e, movzx, sizeof movzx);
        emit_sum(b, a, s, s, t, 0);
    }
    if (a->seg == TERM_GS) {
        const struct access whole = {0};
        emit_gs_load(b->e, t, T_APP_GS);
        emit_sum(b, &whole, s, s, t, 0);
    }
}

static bool is_one_piece(u32 size)
{
    return size == 1 || size == 2 || size == 4 || size == 8;
}

/* How many registers a copy takes. */
static u32 needs(const struct access *a)
{
    return is_one_piece(a->size) && a->op == REF_PLAIN && a->seg != TERM_GS ? 1 : 2;
}

/* Can its address be computed without the flags? */
static bool has_place(const struct builder *b, const struct access *a)
{
    return a->op == REF_PLAIN || a->op == REF_XLAT || (a->op == REF_BIT && b->t->has_bmi2);
}

/* What is at s + disp goes to new slots, piece by piece; a piece's store has zeros in front, which the next one overwrites. Without t, s is spoilt. */
static u8 emit_copy(struct builder *b, const struct access *a, u8 s, u8 t, s32 disp)
{
    u32 slot = b->n_slots, piece;
    u8 by = t == REG_NONE ? s : t;
    for (u32 at = 0; at < a->size; at += piece) {
        u32 left = a->size - at;
        piece = left >= 8 ? 8 : left >= 4 ? 4 : left >= 2 ? 2 : 1;
        if (a->seg == TERM_FS)
            emit_8(b->e, 0x64);
        if (piece == 8)
            emit_load(b->e, by, s, disp + (s32)at);
        else
            emit_load_narrow(b->e, by, s, disp + (s32)at, piece);
        emit_store(b->e, by, b->pointer, RECORD_SLOTS_AT + 8 * (s32)slot + (s32)at);
    }
    b->n_slots += words(a->size);
    return (u8)(slot + 1);
}

/* -- Before ------------------------------------------------------------------------------------- */

static u8 value_of_register(struct builder *b, u8 reg)
{
    return (u8)(slots_register(b, reg) + 1);
}

static u8 value_of_vector(struct builder *b, const struct insn *in, ZydisRegister r)
{
    return (u8)(slots_vector(b, r, in->z.encoding == ZYDIS_INSTRUCTION_ENCODING_LEGACY) + 1);
}

static u8 value_of_constant(struct builder *b, const struct insn *in, struct loan *l, const struct access *a, u64 x)
{
    u8 s = loan_take_high(b, in, l), slot = (u8)b->n_slots;
    emit_imm(b->e, s, x);
    for (u32 i = 0; i < words(a->size); i++)
        slots_register(b, s);
    loan_return_last(b, l, 1);
    return (u8)(slot + 1);
}

/* Read ones that have to be copied, one after the other, with the same two registers. */
static void copy_reads(struct builder *b, const struct insn *in, struct loan *l, const struct access *a, int n, struct ref *r)
{
    u8 s = REG_NONE, t = REG_NONE;
    u32 most = 0;
    for (int k = 0; k < n; k++)
        if (a[k].kind != REF_STORE && source_of_read(in, &a[k]).way == WAY_COPY && has_place(b, &a[k]))
            most = MAX(most, needs(&a[k]));
    if (!most)
        return;
    s = loan_take_high(b, in, l);
    if (most == 2)
        t = loan_take_high(b, in, l);
    for (int k = 0; k < n; k++) {
        if (a[k].kind == REF_STORE || source_of_read(in, &a[k]).way != WAY_COPY || !has_place(b, &a[k]))
            continue;
        emit_place(b, &a[k], s, t);
        r[k].before = emit_copy(b, &a[k], s, t, 0);
    }
    loan_return_last(b, l, most);
}

/* Keep what a value that is only there behind the instruction will need; false if there are not enough registers. */
static bool hold(struct builder *b, const struct insn *in, struct loan *l, u32 reserved, const struct access *a, const struct source *from,
                 struct copies *c)
{
    bool is_frame = in->z.mnemonic == ZYDIS_MNEMONIC_ENTER; /* which has several */
    u32 n = from->way == WAY_COPY ? MAX(needs(a), 1u + is_frame) : 1;
    if (l->n + n + reserved > LOAN_LIMIT)
        return false;
    c->s = loan_take_high(b, in, l);
    if (n == 2)
        c->t = loan_take_high(b, in, l);
    if (from->way == WAY_COPY)
        emit_place(b, a, c->s, c->t);
    else
        emit_move(b->e, c->s, slots_holder(b, from->reg));
    return true;
}

/* -- A few bytes of a rep instruction ------------------------------------------------------------
 *
 * Their number is known when it has ended. What movs reads it also writes, each byte once: one copy serves both. No flags, again: jrcxz and
 * loop decide, shrx and not compute. */

/* How many copies the accesses of a rep instruction need, 0 if none is made. */
static u32 rep_copies(const struct builder *b, const struct insn *in, const struct access *a, int n)
{
    if (!in->is_rep || n == 0 || is_stos(in) || !b->t->has_bmi2)
        return 0;
    for (int k = 0; k < n; k++)
        if (a[k].op != REF_REP || a[k].seg != TERM_NONE || a[k].flags & REF_ADDR32)
            return 0;
    return n == 2 && a[1].kind == REF_LOAD ? 2 : 1;
}

/* The slots, all zero, and the pointers as they are now. */
static void rep_before(struct builder *b, const struct insn *in, struct loan *l, u32 copies, const struct access *a, int n, struct ref *r, struct copies *c)
{
    u8 first = (u8)(b->n_slots + 1), s = loan_take_high(b, in, l);
    emit_imm(b->e, s, 0);
    for (u32 i = 0; i < copies * REP_WORDS; i++)
        slots_register(b, s);
    loan_return_last(b, l, 1);
    for (int k = 0; k < n; k++) {
        u8 *value = a[k].kind == REF_STORE ? &r[k].after : &r[k].before;
        *value = (u8)(first + (copies == 2 ? (u32)k * REP_WORDS : 0));
        r[k].width = 1;
    }
    c->first = 0;
    c->s = loan_take_high(b, in, l);
    emit_move(b->e, c->s, a[copies == 1 ? n - 1 : 0].bit_reg);
    if (copies == 2) {
        c->t = loan_take_high(b, in, l);
        emit_move(b->e, c->t, a[1].bit_reg);
    }
}

static ZydisRegister wide(u8 reg)
{
    return (ZydisRegister)(ZYDIS_REGISTER_RAX + reg);
}

/* to := from >> by */
static void emit_shrx(struct emit *e, u8 to, u8 from, u8 by)
{
    ZydisEncoderRequest q = {.mnemonic = ZYDIS_MNEMONIC_SHRX, .operand_count = 3};
    const u8 reg[] = {to, from, by};
    for (int i = 0; i < 3; i++) {
        q.operands[i].type = ZYDIS_OPERAND_TYPE_REGISTER;
        q.operands[i].reg.value = wide(reg[i]);
    }
    emit_request(e, &q);
}

/* to := a - b; b is spoilt */
static void emit_difference(struct builder *b, u8 to, u8 x, u8 y)
{
    const u8 not[] = {(u8)(0x48 | y >> 3), 0xf7, (u8)(0xd0 | (y & 7))};
    emit_bytes(b->e, not, sizeof not);
    struct access sum = {.base = x, .index = y, .disp = 1};
    slots_effective(b, &sum, to);
}

/* A short jump whose target is told later: the place of its offset. */
static u8 *emit_short(struct emit *e, u8 opcode)
{
    emit_8(e, opcode);
    emit_8(e, 0);
    return e->p - 1;
}

static void land(struct emit *e, u8 *field)
{
    if (!e->full)
        *field = (u8)(e->p - field - 1);
}

/* The element before number rcx: from memory at `from`, or to the slots. */
static void emit_element(struct builder *b, const struct access *a, u8 v, u8 base, s32 disp, bool store)
{
    ZydisEncoderRequest q = {.mnemonic = !store && a->size < 4 ? ZYDIS_MNEMONIC_MOVZX : ZYDIS_MNEMONIC_MOV, .operand_count = 2};
    ZydisEncoderOperand memory = {.type = ZYDIS_OPERAND_TYPE_MEMORY}, reg = {.type = ZYDIS_OPERAND_TYPE_REGISTER};
    memory.mem.base = wide(base);
    memory.mem.index = ZYDIS_REGISTER_RCX;
    memory.mem.scale = (ZyanU8)a->size;
    memory.mem.displacement = disp - (s32)a->size;
    memory.mem.size = (ZyanU16)a->size;
    reg.reg.value = wide(v);
    if (a->size < 8)
        reg.reg.value = (ZydisRegister)(ZYDIS_REGISTER_EAX + v);
    if (store && a->size == 2)
        reg.reg.value = (ZydisRegister)(ZYDIS_REGISTER_AX + v);
    if (store && a->size == 1)
        reg.reg.value = v >= 8 ? (ZydisRegister)(ZYDIS_REGISTER_R8B + v - 8) : ZYDIS_REGISTER_BPL; /* of the high ones */
    q.operands[!store] = memory;
    q.operands[store] = reg;
    emit_request(b->e, &q);
}

/* Copy what is behind pointer s, unless it is too much, nothing, or was gone through downwards. u, v and rcx are spoilt. */
static void emit_rep_copy(struct builder *b, const struct access *a, const struct ref *r, u8 value, u8 s, u8 u, u8 v)
{
    struct emit *e = b->e;
    u8 *leave[3];
    emit_load(e, u, b->pointer, RECORD_SLOTS_AT + 8 * r->x);
    emit_difference(b, u, u, RCX);
    emit_imm(e, RCX, (u64)__builtin_ctz(REP_DATA / a->size));
    emit_shrx(e, RCX, u, RCX);
    u8 *few = emit_short(e, 0xe3); /* jrcxz */
    leave[0] = emit_short(e, 0xeb);
    land(e, few);
    emit_move(e, v, s);
    emit_difference(b, v, a->bit_reg, v);
    emit_imm(e, RCX, 63);
    emit_shrx(e, RCX, v, RCX);
    u8 *up = emit_short(e, 0xe3);
    leave[1] = emit_short(e, 0xeb);
    land(e, up);
    emit_move(e, RCX, u);
    leave[2] = emit_short(e, 0xe3);
    u8 *again = e->p;
    emit_element(b, a, v, s, 0, false);
    emit_element(b, a, v, b->pointer, RECORD_SLOTS_AT + 8 * (s32)(value - 1), true);
    u8 *loop = emit_short(e, 0xe2);
    if (!e->full)
        *loop = (u8)(again - e->p);
    for (int i = 0; i < 3; i++)
        land(e, leave[i]);
}

/* rcx as it is behind the instruction: one that never stops early leaves 0. */
static void emit_count(struct builder *b, const struct ref *r)
{
    if (r->y == TERM_NONE)
        emit_imm(b->e, RCX, 0);
    else
        emit_load(b->e, RCX, b->pointer, RECORD_SLOTS_AT + 8 * r->y);
}

static void rep_after(struct builder *b, const struct insn *in, struct loan *l, u32 copies, const struct access *a, int n, const struct ref *r, const struct copies *c)
{
    int last = n - 1;
    mark_again(b, l->n);
    u8 u = loan_take_high(b, in, l), v = loan_take_high(b, in, l);
    if (copies == 2) {
        emit_rep_copy(b, &a[0], &r[0], r[0].before, c->s, u, v);
        emit_count(b, &r[0]);
    }
    emit_rep_copy(b, &a[last], &r[last], a[last].kind == REF_STORE ? r[last].after : r[last].before, copies == 2 ? c->t : c->s, u, v);
    emit_count(b, &r[last]);
}

/* Is this access at a constant distance from that? */
static bool is_beside(const struct access *a, const struct access *of)
{
    return a->op == REF_PLAIN && of->op == REF_PLAIN && a->base == of->base && a->index == of->index && a->shift == of->shift &&
           a->seg == of->seg && !(a->flags & REF_ADDR32);
}

void copies_before(struct builder *b, u32 i, struct loan *l, u32 reserved, struct copies *c)
{
    const struct insn *in = &b->insn[i];
    struct access a[ACCESS_LIMIT];
    *c = (struct copies){.first = -1, .s = REG_NONE, .t = REG_NONE};
    if (!exit_tells_values(b) || !b->insn_refs[i])
        return;
    int n = insn_accesses(in, a);
    struct ref *r = &b->ref[b->n_refs - (u32)n];
    u32 reps = rep_copies(b, in, a, n);
    if (reps) {
        rep_before(b, in, l, reps, a, n, r, c);
        return;
    }
    copy_reads(b, in, l, a, n, r);
    for (int k = 0; k < n; k++) {
        struct source from = a[k].kind == REF_LOAD ? (struct source){0} : source_of_write(in, &a[k]);
        if (from.way == WAY_REGISTER)
            r[k].after = value_of_register(b, from.reg);
        else if (from.way == WAY_VECTOR)
            r[k].after = value_of_vector(b, in, from.vector);
        else if (from.way == WAY_CONSTANT)
            r[k].after = value_of_constant(b, in, l, &a[k], from.constant);
        else if (from.way != WAY_UNKNOWN && c->first < 0 && (from.way != WAY_COPY || has_place(b, &a[k])))
            c->first = hold(b, in, l, reserved, &a[k], &from, c) ? k : -1;
    }
}

/* -- Behind ------------------------------------------------------------------------------------- */

/* s := the source if the zero flag is set, else rax. */
static void emit_exchanged(struct builder *b, u8 s, u8 from)
{
    emit_move(b->e, s, slots_holder(b, RAX));
    const u8 cmovz[] = {(u8)(0x48 | (s >> 3) << 2 | from >> 3), 0x0f, 0x44, (u8)(0xc0 | (s & 7) << 3 | (from & 7))};
    emit_bytes(b->e, cmovz, sizeof cmovz);
}

void copies_after(struct builder *b, u32 i, struct loan *l, const struct copies *c)
{
    const struct insn *in = &b->insn[i];
    struct access a[ACCESS_LIMIT];
    if (!exit_tells_values(b) || !b->insn_refs[i])
        return;
    int n = insn_accesses(in, a);
    struct ref *r = &b->ref[b->n_refs - (u32)n];
    u32 reps = rep_copies(b, in, a, n);
    if (reps) {
        rep_after(b, in, l, reps, a, n, r, c);
        return;
    }
    for (int k = 0; k < n; k++) {
        struct source from = a[k].kind == REF_STORE ? (struct source){0} : source_of_read(in, &a[k]);
        if (from.way == WAY_REGISTER)
            r[k].before = value_of_register(b, from.reg);
        else if (from.way == WAY_VECTOR)
            r[k].before = value_of_vector(b, in, from.vector);
    }
    for (int k = c->first; k >= 0 && k < n; k++) {
        struct source from = source_of_write(in, &a[k]);
        if (a[k].kind == REF_LOAD || (k != c->first && !is_beside(&a[k], &a[c->first])))
            continue;
        if (from.way == WAY_COPY) {
            r[k].after = emit_copy(b, &a[k], c->s, c->t, (s32)(a[k].disp - a[c->first].disp));
            continue;
        }
        if (from.way == WAY_SUM)
            emit_sum(b, &(struct access){0}, c->s, c->s, slots_holder(b, from.reg), 0);
        else
            emit_exchanged(b, c->s, slots_holder(b, from.reg));
        r[k].after = value_of_register(b, c->s);
    }
}

void copies_target(struct builder *b, u32 i)
{
    if (!exit_tells_values(b) || !b->insn_refs[i])
        return;
    struct ref *r = &b->ref[b->n_refs - b->insn_refs[i]];
    if (r->kind == REF_LOAD)
        r->before = value_of_register(b, R10);
}
