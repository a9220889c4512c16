/* SPDX-License-Identifier: MIT */
/* The forms are not written down: all opcodes of all maps are decoded with all prefixes that
 * matter, each distinct result is a form, and what this processor does not run, or not twice alike,
 * is dropped. */
#include "forms.h"

#include <stdlib.h>
#include <string.h>

enum { FORM_LIMIT = 1 << 16, SEEN_SLOTS = 1 << 18 };

static struct form *forms;
static size_t n_forms;
/* The forms in order of class and mnemonic; where each mnemonic begins; and each class in that. */
static u32 group[FORM_LIMIT], n_groups, class_first[FORM_CLASSES + 1];

/* -- What is an ordinary instruction? --------------------------------------------------------- */

static bool is_ordinary_category(ZydisInstructionCategory c)
{
    switch (c) {
    case ZYDIS_CATEGORY_AMX_TILE:
    case ZYDIS_CATEGORY_CALL:
    case ZYDIS_CATEGORY_CET:
    case ZYDIS_CATEGORY_CLZERO:
    case ZYDIS_CATEGORY_COND_BR:
    case ZYDIS_CATEGORY_ENQCMD:
    case ZYDIS_CATEGORY_HRESET:
    case ZYDIS_CATEGORY_INTERRUPT:
    case ZYDIS_CATEGORY_IO:
    case ZYDIS_CATEGORY_IOSTRINGOP:
    case ZYDIS_CATEGORY_KEYLOCKER:
    case ZYDIS_CATEGORY_KEYLOCKER_WIDE:
    case ZYDIS_CATEGORY_MOVDIR:
    case ZYDIS_CATEGORY_MPX:
    case ZYDIS_CATEGORY_PADLOCK:
    case ZYDIS_CATEGORY_PCONFIG:
    case ZYDIS_CATEGORY_PKU:
    case ZYDIS_CATEGORY_PT:
    case ZYDIS_CATEGORY_RDPID:
    case ZYDIS_CATEGORY_RDPRU:
    case ZYDIS_CATEGORY_RDRAND:
    case ZYDIS_CATEGORY_RDSEED:
    case ZYDIS_CATEGORY_RDWRFSGS:
    case ZYDIS_CATEGORY_RET:
    case ZYDIS_CATEGORY_SEGOP:
    case ZYDIS_CATEGORY_SERIALIZE:
    case ZYDIS_CATEGORY_SGX:
    case ZYDIS_CATEGORY_SMAP:
    case ZYDIS_CATEGORY_SYSCALL:
    case ZYDIS_CATEGORY_SYSRET:
    case ZYDIS_CATEGORY_SYSTEM:
    case ZYDIS_CATEGORY_TSX_LDTRK:
    case ZYDIS_CATEGORY_UINTR:
    case ZYDIS_CATEGORY_UNCOND_BR:
    case ZYDIS_CATEGORY_VTX:
    case ZYDIS_CATEGORY_WAITPKG:
    case ZYDIS_CATEGORY_XSAVE:
    case ZYDIS_CATEGORY_XSAVEOPT:
        return false;
    default:
        return true;
    }
}

/* Those that load control words, move the stack pointer, wait, or tell the time or the processor's
 * number. sequence.c has ways of its own to some of them. */
static bool is_ordinary_mnemonic(ZydisMnemonic m)
{
    switch (m) {
    case ZYDIS_MNEMONIC_CLZERO:
    case ZYDIS_MNEMONIC_CPUID:
    case ZYDIS_MNEMONIC_ENTER:
    case ZYDIS_MNEMONIC_FLDCW:
    case ZYDIS_MNEMONIC_FLDENV:
    case ZYDIS_MNEMONIC_FNSAVE:
    case ZYDIS_MNEMONIC_FNSTENV:
    case ZYDIS_MNEMONIC_FRSTOR:
    case ZYDIS_MNEMONIC_FXRSTOR:
    case ZYDIS_MNEMONIC_FXRSTOR64:
    case ZYDIS_MNEMONIC_FXSAVE:
    case ZYDIS_MNEMONIC_FXSAVE64:
    case ZYDIS_MNEMONIC_LAR:
    case ZYDIS_MNEMONIC_LDMXCSR:
    case ZYDIS_MNEMONIC_LEAVE:
    case ZYDIS_MNEMONIC_LSL:
    case ZYDIS_MNEMONIC_MONITORX:
    case ZYDIS_MNEMONIC_MWAITX:
    case ZYDIS_MNEMONIC_POPF:
    case ZYDIS_MNEMONIC_POPFQ:
    case ZYDIS_MNEMONIC_PUSHF:
    case ZYDIS_MNEMONIC_PUSHFQ:
    case ZYDIS_MNEMONIC_RDTSC:
    case ZYDIS_MNEMONIC_RDTSCP:
    case ZYDIS_MNEMONIC_UD0:
    case ZYDIS_MNEMONIC_UD1:
    case ZYDIS_MNEMONIC_UD2:
    case ZYDIS_MNEMONIC_VLDMXCSR:
    case ZYDIS_MNEMONIC_VMCALL:
    case ZYDIS_MNEMONIC_VMMCALL:
    case ZYDIS_MNEMONIC_XABORT:
    case ZYDIS_MNEMONIC_XBEGIN:
    case ZYDIS_MNEMONIC_XEND:
    case ZYDIS_MNEMONIC_XTEST:
        return false;
    default:
        return true;
    }
}

static bool is_ordinary(const ZydisDecodedInstruction *z)
{
    bool is_idle = z->mnemonic == ZYDIS_MNEMONIC_RDSSPD || z->mnemonic == ZYDIS_MNEMONIC_RDSSPQ ||
                   z->mnemonic == ZYDIS_MNEMONIC_ENDBR64;
    return (is_idle || is_ordinary_category(z->meta.category)) &&
           is_ordinary_mnemonic(z->mnemonic) && !(z->attributes & ZYDIS_ATTRIB_IS_PRIVILEGED) &&
           z->encoding != ZYDIS_INSTRUCTION_ENCODING_3DNOW &&
           z->encoding != ZYDIS_INSTRUCTION_ENCODING_XOP;
}

/* -- From a decoded instruction to a form ----------------------------------------------------- */

static bool is_encoded(const ZydisDecodedOperand *o)
{
    return o->encoding != ZYDIS_OPERAND_ENCODING_NONE;
}

/* The role of a register; false if it is none we can give a value. */
static bool register_role(const ZydisDecodedOperand *o, u8 *role)
{
    bool written = o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE;
    *role = ROLE_FIXED;
    switch (ZydisRegisterGetClass(o->reg.value)) {
    case ZYDIS_REGCLASS_GPR8:
    case ZYDIS_REGCLASS_GPR16:
    case ZYDIS_REGCLASS_GPR32:
    case ZYDIS_REGCLASS_GPR64:
        *role = is_encoded(o) ? ROLE_GPR : ROLE_FIXED;
        return true;
    case ZYDIS_REGCLASS_XMM:
    case ZYDIS_REGCLASS_YMM:
    case ZYDIS_REGCLASS_ZMM:
        *role = is_encoded(o) ? ROLE_VECTOR : ROLE_FIXED;
        return true;
    case ZYDIS_REGCLASS_MMX:
        *role = ROLE_MMX;
        return true;
    case ZYDIS_REGCLASS_MASK:
        if (o->encoding != ZYDIS_OPERAND_ENCODING_MASK)
            *role = ROLE_MASK;
        else if (o->reg.value != ZYDIS_REGISTER_K0)
            *role = ROLE_WRITEMASK;
        return true;
    case ZYDIS_REGCLASS_X87:
        return true;
    case ZYDIS_REGCLASS_SEGMENT:
        return !written;
    default:
        return false;
    }
}

static bool operand_role(const ZydisDecodedOperand *o, u8 *role)
{
    *role = ROLE_FIXED;
    switch (o->type) {
    case ZYDIS_OPERAND_TYPE_REGISTER:
        return register_role(o, role);
    case ZYDIS_OPERAND_TYPE_MEMORY:
        if (o->visibility != ZYDIS_OPERAND_VISIBILITY_EXPLICIT)
            return true;
        *role = o->mem.type == ZYDIS_MEMOP_TYPE_AGEN   ? ROLE_ADDRESS
                : o->mem.type == ZYDIS_MEMOP_TYPE_VSIB ? ROLE_VSIB
                                                       : ROLE_MEMORY;
        return o->mem.type != ZYDIS_MEMOP_TYPE_MIB && o->size;
    case ZYDIS_OPERAND_TYPE_IMMEDIATE:
        *role = is_encoded(o) ? ROLE_IMMEDIATE : ROLE_FIXED;
        return true;
    default:
        return false;
    }
}

/* Registers that point to memory besides the explicit operand. */
static bool note_implied(struct form *f, const ZydisDecodedInstruction *z,
                         const ZydisDecodedOperand *op)
{
    u32 n = 0;
    f->implied[0] = f->implied[1] = NO_GPR;
    for (u32 i = 0; i < z->operand_count; i++) {
        if (op[i].type != ZYDIS_OPERAND_TYPE_MEMORY ||
            op[i].visibility == ZYDIS_OPERAND_VISIBILITY_EXPLICIT)
            continue;
        u8 r = gpr_number(op[i].mem.base);
        if (r == RSP && f->class == FORM_STACK)
            continue;
        if (r == RSP || r == NO_GPR || n == 2)
            return false;
        f->implied[n++] = r;
    }
    return true;
}

static bool has_class(const ZydisDecodedInstruction *z, const ZydisDecodedOperand *op,
                      ZydisRegisterClass class)
{
    for (u32 i = 0; i < z->operand_count; i++)
        if (op[i].type == ZYDIS_OPERAND_TYPE_REGISTER &&
            ZydisRegisterGetClass(op[i].reg.value) == class)
            return true;
    return false;
}

static enum form_class classify(const ZydisDecodedInstruction *z, const ZydisDecodedOperand *op)
{
    bool has_vector = has_class(z, op, ZYDIS_REGCLASS_XMM) || has_class(z, op, ZYDIS_REGCLASS_YMM);
    for (u32 i = 0; i < z->operand_count; i++)
        if (op[i].type == ZYDIS_OPERAND_TYPE_MEMORY && op[i].mem.type == ZYDIS_MEMOP_TYPE_VSIB)
            return FORM_VSIB;
    switch (z->meta.category) {
    case ZYDIS_CATEGORY_STRINGOP:
        return FORM_STRING;
    case ZYDIS_CATEGORY_PUSH:
    case ZYDIS_CATEGORY_POP:
        return FORM_STACK;
    case ZYDIS_CATEGORY_X87_ALU:
    case ZYDIS_CATEGORY_FCMOV:
        return FORM_X87;
    default:
        break;
    }
    if (z->mnemonic == ZYDIS_MNEMONIC_DIV || z->mnemonic == ZYDIS_MNEMONIC_IDIV)
        return FORM_DIVIDE;
    if (z->encoding == ZYDIS_INSTRUCTION_ENCODING_EVEX)
        return FORM_EVEX;
    if (z->encoding == ZYDIS_INSTRUCTION_ENCODING_VEX) {
        if (has_class(z, op, ZYDIS_REGCLASS_MASK))
            return FORM_MASK;
        return has_vector || z->meta.category == ZYDIS_CATEGORY_AVX ? FORM_VEX : FORM_BIT;
    }
    return has_class(z, op, ZYDIS_REGCLASS_MMX) ? FORM_MMX : has_vector ? FORM_SSE : FORM_GENERAL;
}

static bool make_form(struct form *f, const ZydisDecodedInstruction *z,
                      const ZydisDecodedOperand *op)
{
    u32 immediates = 0;
    memset(f, 0, sizeof *f);
    f->class = classify(z, op);
    if (!note_implied(f, z, op))
        return false;
    for (u32 i = 0; i < z->operand_count_visible; i++) {
        if (!operand_role(&op[i], &f->role[i]))
            return false;
        f->bits[i] = op[i].size;
        if (f->role[i] == ROLE_IMMEDIATE) {
            f->is_signed = op[i].imm.is_signed;
            f->bits[i] = z->raw.imm[immediates++ & 1].size;
        }
        f->stores |= f->role[i] >= ROLE_MEMORY && f->role[i] <= ROLE_VSIB &&
                     (op[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE);
    }
    f->locks = z->attributes & ZYDIS_ATTRIB_ACCEPTS_LOCK;
    f->reps = z->attributes & ZYDIS_ATTRIB_ACCEPTS_REP;
    f->repes = z->attributes & ZYDIS_ATTRIB_ACCEPTS_REPE;
    if (!ZYAN_SUCCESS(
            ZydisEncoderDecodedInstructionToEncoderRequest(z, op, z->operand_count_visible, &f->q)))
        return false;
    f->q.prefixes = 0;
    f->q.allowed_encodings = (ZydisEncodableEncoding)(1u << z->encoding);
    return true;
}

/* -- All opcodes ------------------------------------------------------------------------------ */

static u64 *seen;

/* Has a form like this one been there? Registers that can be chosen do not count. */
static bool is_new(const struct form *f, const ZydisDecodedInstruction *z)
{
    struct {
        u32 mnemonic, encoding, operand_size, evex[4];
        struct {
            u32 type, role, bits, fixed;
        } op[ZYDIS_ENCODER_MAX_OPERANDS];
    } key = {z->mnemonic,
             z->encoding,
             f->q.operand_size_hint,
             {f->q.evex.broadcast, f->q.evex.rounding, f->q.evex.sae, f->q.evex.zeroing_mask},
             {{0}}};
    for (u32 i = 0; i < f->q.operand_count; i++) {
        key.op[i].type = f->q.operands[i].type;
        key.op[i].role = f->role[i];
        key.op[i].bits = f->bits[i] + ((u32)f->q.operands[i].mem.size << 16);
        key.op[i].fixed = f->role[i] == ROLE_FIXED ? f->q.operands[i].reg.value : 0;
    }
    u64 h = 1;
    for (size_t i = 0; i < sizeof key / 4; i++)
        h = (h ^ ((const u32 *)(const void *)&key)[i]) * 0x9e3779b97f4a7c15, h ^= h >> 29;
    for (u64 i = h; seen[i % SEEN_SLOTS] != h; i++)
        if (!seen[i % SEEN_SLOTS]) {
            seen[i % SEEN_SLOTS] = h;
            return true;
        }
    return false;
}

static void consider(const ZydisDecoder *d, const u8 *bytes, size_t n)
{
    ZydisDecodedInstruction z;
    ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];
    struct form *f = &forms[n_forms];
    if (n_forms == FORM_LIMIT || !ZYAN_SUCCESS(ZydisDecoderDecodeFull(d, bytes, n, &z, op)) ||
        !is_ordinary(&z) || !make_form(f, &z, op) || !is_new(f, &z))
        return;
    n_forms++;
}

/* After the opcode: every kind of ModRM that can make a difference, and bytes to be immediates. */
static void consider_all_modrm(const ZydisDecoder *d, u8 *bytes, size_t n, bool all_rm)
{
    static const u8 immediate[12];
    for (u32 reg = 0; reg < 8; reg++) {
        bytes[n] = (u8)(reg << 3 | 4);
        bytes[n + 1] = 0x20; /* base rax, index none or vector 4 */
        memcpy(bytes + n + 2, immediate, sizeof immediate);
        consider(d, bytes, n + 2 + sizeof immediate);
        for (u32 rm = 0; rm < (all_rm ? 8 : 1); rm++) {
            bytes[n] = (u8)(0xc0 | reg << 3 | rm);
            memcpy(bytes + n + 1, immediate, sizeof immediate);
            consider(d, bytes, n + 1 + sizeof immediate);
        }
    }
}

static void consider_legacy(const ZydisDecoder *d)
{
    static const u8 prefixes[] = {0, 0x66, 0xf3, 0xf2},
                    maps[][2] = {{0}, {0x0f}, {0x0f, 0x38}, {0x0f, 0x3a}};
    for (u32 x = 0; x < 4 * 2 * 4 * 256; x++) {
        u8 bytes[32];
        u32 prefix = x / 256 % 4, wide = x / 1024 % 2, map = x / 2048;
        size_t n = 0;
        if (prefix)
            bytes[n++] = prefixes[prefix];
        if (wide)
            bytes[n++] = 0x48;
        for (u32 i = 0; i < 2 && maps[map][i]; i++)
            bytes[n++] = maps[map][i];
        bytes[n++] = (u8)x;
        consider_all_modrm(d, bytes, n, map == 0 && (x & 0xf8) == 0xd8);
    }
}

static void consider_vex(const ZydisDecoder *d)
{
    for (u32 x = 0; x < 3 * 16 * 256; x++) {
        u8 bytes[32] = {0xc4, (u8)(0xe0 | (x / 4096 + 1)), (u8)(0x78 | (x / 256 % 8))};
        bytes[2] |= (u8)(x / 2048 % 2 << 7);
        bytes[3] = (u8)x;
        consider_all_modrm(d, bytes, 4, false);
    }
}

static void consider_evex(const ZydisDecoder *d)
{
    for (u32 x = 0; x < 3 * 8 * 32 * 256; x++) {
        u8 bytes[32] = {0x62, (u8)(0xf0 | (x / 65536 + 1)), (u8)(0x7c | (x / 256 % 4))};
        u32 length = x / 2048 % 4, b = x / 8192 % 2, z = x / 16384 % 2, mask = x / 32768 % 2;
        bytes[2] |= (u8)(x / 1024 % 2 << 7);
        bytes[3] = (u8)(z << 7 | length << 5 | b << 4 | 8 | mask);
        bytes[4] = (u8)x;
        if (length < 3 || b)
            consider_all_modrm(d, bytes, 5, false);
    }
}

/* -- Choosing --------------------------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
    const struct form *x = a, *y = b;
    if (x->class != y->class)
        return x->class < y->class ? -1 : 1;
    if (x->q.mnemonic != y->q.mnemonic)
        return x->q.mnemonic < y->q.mnemonic ? -1 : 1;
    return memcmp(x, y, sizeof *x);
}

static void make_groups(void)
{
    qsort(forms, n_forms, sizeof *forms, compare);
    n_groups = 0;
    for (u32 class = 0, i = 0; class < FORM_CLASSES; class ++) {
        class_first[class] = n_groups;
        for (; i < n_forms && forms[i].class == class; i++)
            if (n_groups == class_first[class] || forms[i].q.mnemonic != forms[i - 1].q.mnemonic)
                group[n_groups++] = i;
    }
    class_first[FORM_CLASSES] = n_groups;
    group[n_groups] = (u32)n_forms;
}

/* Instructions that programs consist of, and that the translator looks at more closely. */
static const ZydisMnemonic common[] = {
    ZYDIS_MNEMONIC_MOV, ZYDIS_MNEMONIC_MOV, ZYDIS_MNEMONIC_MOV,   ZYDIS_MNEMONIC_LEA,
    ZYDIS_MNEMONIC_LEA, ZYDIS_MNEMONIC_ADD, ZYDIS_MNEMONIC_SUB,   ZYDIS_MNEMONIC_XOR,
    ZYDIS_MNEMONIC_INC, ZYDIS_MNEMONIC_DEC, ZYDIS_MNEMONIC_MOVZX, ZYDIS_MNEMONIC_XCHG};

const struct form *form_pick(struct rng *r, enum form_class class)
{
    u32 n = class_first[class + 1] - class_first[class];
    if (!n)
        return NULL;
    u32 g = class_first[class] + rng_below(r, n);
    ZydisMnemonic wanted = common[rng_below(r, ARRAY_LEN(common))];
    if (class == FORM_GENERAL && rng_percent(r, 40))
        for (g = class_first[class]; forms[group[g]].q.mnemonic != wanted; g++)
            ;
    return &forms[group[g] + rng_below(r, group[g + 1] - group[g])];
}

size_t forms_count(void)
{
    return n_forms;
}

/* -- Trying ----------------------------------------------------------------------------------- */

void code_leave(struct code *c)
{
    code_op(c, ZYDIS_MNEMONIC_JMP, 1, mem_op(NO_GPR, LEAVE_AT, 8));
}

/* Does this form run, and twice alike? */
static bool runs(const struct form *f, u64 code, u8 *writable, bool aligned, u64 seed)
{
    struct code *c = malloc(sizeof *c);
    u64 hashes[2] = {0, 1};
    struct start s = {.seed = seed};
    code_begin(c, code, seed);
    bool ok = f->class == FORM_DIVIDE ? form_put_division(c, f) : form_put_with(c, f, aligned);
    code_leave(c);
    ok = ok && code_resolve(c);
    if (ok)
        memcpy(writable, c->bytes, c->n);
    for (u32 i = 0; i < 2 && ok; i++) {
        world_prepare(&s, 0);
        ok = world_run(code);
        hashes[i] = world_hash(&s);
    }
    free(c);
    return ok && hashes[0] == hashes[1];
}

static bool has_role(const struct form *f, enum role role)
{
    for (u32 i = 0; i < f->q.operand_count; i++)
        if (f->role[i] == role)
            return true;
    return false;
}

static bool is_usable(struct form *f, u64 code, u8 *writable)
{
    enum { TRIES = 4 };
    u64 i = 0;
    u32 bad_unaligned = 0;
    while (i < TRIES && !runs(f, code, writable, true, i))
        i++;
    if (i == TRIES)
        return false;
    if (has_role(f, ROLE_MEMORY) || f->implied[0] != NO_GPR)
        for (i = 0; i < TRIES; i++)
            bad_unaligned += !runs(f, code, writable, false, 100 + i);
    f->aligned = bad_unaligned > 1;
    return true;
}

void forms_collect(u64 code, u8 *writable)
{
    ZydisDecoder d;
    ZydisDecoderInit(&d, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    ZydisDecoderEnableMode(&d, ZYDIS_DECODER_MODE_MPX, ZYAN_FALSE);
    forms = calloc(FORM_LIMIT + 1, sizeof *forms);
    seen = calloc(SEEN_SLOTS, sizeof *seen);
    consider_legacy(&d);
    consider_vex(&d);
    consider_evex(&d);
    free(seen);
    size_t n = n_forms;
    n_forms = 0;
    for (size_t i = 0; i < n; i++)
        if (is_usable(&forms[i], code, writable))
            forms[n_forms++] = forms[i];
    make_groups();
}
