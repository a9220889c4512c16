/* SPDX-License-Identifier: MIT */
/* What one instruction touches: docs/events.md, row by row, on top of Zydis. */

/*
 * Zydis supplies lengths, operands and sizes. It is not believed where it is vague: hidden memory
 * operands (stack, string, xlat) carry no displacement and conditional actions, so every
 * instruction that has one must be named in the table below, and one that is not is refused.
 */
#define _GNU_SOURCE
#include "accesses.h"

#include <Zydis/Zydis.h>
#include <cpuid.h>
#include <elf.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>

#define NO_REG    0xff
#define REG(name) (offsetof(struct user_regs_struct, name) / 8)

/* The general registers in the order of their encoding. */
static const uint8_t general[16] = {
    REG(rax), REG(rcx), REG(rdx), REG(rbx), REG(rsp), REG(rbp), REG(rsi), REG(rdi),
    REG(r8),  REG(r9),  REG(r10), REG(r11), REG(r12), REG(r13), REG(r14), REG(r15),
};

/* -- The vector state, as XSAVE's standard form lays it out ------------------------------------ */

enum { XMM = 1, YMM_HIGH = 2, OPMASK = 5, ZMM_HIGH = 6, ZMM_UPPER = 7, COMPONENTS = 63 };

static struct component {
    uint32_t offset, size;
    bool is_aligned; /* in the compacted form */
} components[COMPONENTS];

static uint64_t xcr0;

void accesses_init(void)
{
    uint32_t a, b, c, d;

    __asm__ volatile("xgetbv" : "=a"(a), "=d"(d) : "c"(0));
    xcr0 = (uint64_t)d << 32 | a;
    for (unsigned i = 2; i < COMPONENTS; i++) {
        if (!(xcr0 >> i & 1))
            continue;
        __cpuid_count(0xd, i, a, b, c, d);
        components[i] = (struct component){.offset = b, .size = a, .is_aligned = c & 2};
    }
}

/* Bring the vector state of this stop, once. */
static const uint8_t *xstate(struct machine *m)
{
    struct iovec v = {m->xstate, sizeof m->xstate};

    if (!m->has_xstate) {
        memset(m->xstate, 0, 1024);
        if (ptrace(PTRACE_GETREGSET, m->pid, (void *)NT_X86_XSTATE, &v) < 0)
            abort();
        m->has_xstate = true;
    }
    return m->xstate;
}

static void vector_read(struct machine *m, unsigned number, uint8_t out[64])
{
    const uint8_t *x = xstate(m);

    memset(out, 0, 64);
    if (number >= 16) {
        memcpy(out, x + components[ZMM_UPPER].offset + 64 * (number - 16), 64);
        return;
    }
    memcpy(out, x + 160 + 16 * number, 16);
    if (components[YMM_HIGH].size)
        memcpy(out + 16, x + components[YMM_HIGH].offset + 16 * number, 16);
    if (components[ZMM_HIGH].size)
        memcpy(out + 32, x + components[ZMM_HIGH].offset + 32 * number, 32);
}

/* mm0 is x87 register 0; the image begins with the one on top of the stack. */
static void mmx_read(struct machine *m, unsigned number, uint8_t out[64])
{
    unsigned top = xstate(m)[3] >> 3 & 7;

    memset(out, 0, 64);
    memcpy(out, xstate(m) + 32 + 16 * ((number - top) & 7), 8);
}

static uint64_t opmask_read(struct machine *m, unsigned number)
{
    uint64_t k;

    memcpy(&k, xstate(m) + components[OPMASK].offset + 8 * number, 8);
    return k;
}

/* The sign bits of a vector's elements, as a k register would hold them. */
static uint64_t sign_bits(const uint8_t *vector, unsigned count, unsigned size)
{
    uint64_t bits = 0;

    for (unsigned i = 0; i < count; i++)
        bits |= (uint64_t)(vector[i * size + size - 1] >> 7) << i;
    return bits;
}

/* -- Sizes of save areas ----------------------------------------------------------------------- */

static uint32_t standard_size(uint64_t mask)
{
    uint32_t size = 576;

    for (unsigned i = 2; i < COMPONENTS; i++)
        if (mask >> i & 1 && components[i].offset + components[i].size > size)
            size = components[i].offset + components[i].size;
    return size;
}

static uint32_t compacted_size(uint64_t mask)
{
    uint32_t size = 576;

    for (unsigned i = 2; i < COMPONENTS; i++) {
        if (!(mask >> i & 1))
            continue;
        if (components[i].is_aligned)
            size = (size + 63) & ~63u;
        size += components[i].size;
    }
    return size;
}

static uint32_t restored_size(struct machine *m, uint64_t area, uint64_t mask)
{
    uint64_t xcomp_bv = 0;
    struct iovec here = {&xcomp_bv, 8}, there = {(void *)(area + 520), 8};

    if (process_vm_readv(m->pid, &here, 1, &there, 1, 0) != 8)
        return standard_size(mask); /* it will fault, and not be listed */
    if (xcomp_bv >> 63)
        return compacted_size(xcomp_bv & xcr0);
    return standard_size(mask);
}

/* -- Addresses of one execution ---------------------------------------------------------------- */

static uint64_t reg(const struct machine *m, unsigned number)
{
    return number == NO_REG ? 0 : ((const uint64_t *)&m->regs)[number];
}

/* The linear address of a place moved by `extra`, which counts before the cut to 32 bits. */
static uint64_t address(const struct machine *m, const struct place *p, int64_t extra)
{
    uint64_t ea = reg(m, p->base) + reg(m, p->index) * p->scale + p->disp + extra;

    if (p->is_32)
        ea = (uint32_t)ea;
    return ea + reg(m, p->segment);
}

static struct access access_at(const struct machine *m, const struct touch *t, int64_t extra,
                               uint32_t size)
{
    return (struct access){.addr = address(m, &t->at, extra), .size = size, .kind = t->kind};
}

static unsigned each(const struct insn *in, const struct machine *m, struct access *out)
{
    for (unsigned i = 0; i < in->n_touches; i++)
        out[i] = access_at(m, &in->touch[i], 0, in->touch[i].size);
    return in->n_touches;
}

/* One iteration of a string instruction; a counter that is zero already means none. */
static unsigned string(const struct insn *in, const struct machine *m, struct access *out)
{
    uint64_t counter = m->regs.rcx;

    if (in->touch[0].at.is_32)
        counter = (uint32_t)counter;
    if (in->is_repeated && counter == 0)
        return 0;
    return each(in, m, out);
}

static unsigned bit_string(const struct insn *in, const struct machine *m, struct access *out)
{
    uint32_t size = in->touch[0].size;
    uint64_t offset = reg(m, in->selector);
    int64_t bit = size == 8 ? (int64_t)offset : size == 4 ? (int32_t)offset : (int16_t)offset;

    /* Division that rounds down, since a negative bit offset reaches below the address. */
    out[0] = access_at(m, &in->touch[0], (bit >> __builtin_ctz(8 * size)) * size, size);
    return 1;
}

/* enter: copies the outer frames' pointers, then pushes them between the old rbp and the new. */
static unsigned frame(const struct insn *in, const struct machine *m, struct access *out)
{
    unsigned level = in->selector, size = in->element, n = 0;
    unsigned stores = level ? level + 1 : 1;

    for (unsigned i = 1; i < level; i++)
        out[n++] = (struct access){m->regs.rbp - i * size, size, 'L'};
    for (unsigned i = 1; i <= stores; i++)
        out[n++] = (struct access){m->regs.rsp - i * size, size, 'S'};
    return n;
}

/* One access per set bit; packed ones lie side by side. */
static unsigned elements(const struct insn *in, const struct machine *m, uint64_t bits,
                         bool is_packed, struct access *out)
{
    unsigned n = 0;

    for (unsigned i = 0; i < in->count; i++) {
        if (!(bits >> i & 1))
            continue;
        out[n] =
            access_at(m, &in->touch[0], (int64_t)(is_packed ? n : i) * in->element, in->element);
        n++;
    }
    return n;
}

static unsigned byte_mask(const struct insn *in, struct machine *m, struct access *out)
{
    uint8_t mask[64];

    if (in->count == 8)
        mmx_read(m, in->mask, mask);
    else
        vector_read(m, in->mask, mask);
    return elements(in, m, sign_bits(mask, in->count, 1), false, out);
}

static unsigned sign_mask(const struct insn *in, struct machine *m, struct access *out)
{
    uint8_t mask[64];

    vector_read(m, in->mask, mask);
    return elements(in, m, sign_bits(mask, in->count, in->element), false, out);
}

static unsigned any_bit(const struct insn *in, struct machine *m, struct access *out)
{
    uint64_t relevant = in->count == 64 ? ~0ull : (1ull << in->count) - 1;

    if (!(opmask_read(m, in->mask) & relevant))
        return 0;
    return each(in, m, out);
}

static unsigned vector(const struct insn *in, struct machine *m, struct access *out)
{
    uint8_t index[64], mask[64];
    uint64_t bits;
    unsigned n = 0;

    vector_read(m, in->index_vector, index);
    if (in->mask_is_vector) {
        vector_read(m, in->mask, mask);
        bits = sign_bits(mask, in->count, in->element);
    } else {
        bits = opmask_read(m, in->mask);
    }
    for (unsigned i = 0; i < in->count; i++) {
        int64_t at = 0;
        int32_t at_32;

        if (!(bits >> i & 1))
            continue;
        memcpy(&at, index + i * in->index_size, in->index_size);
        memcpy(&at_32, &at, 4);
        if (in->index_size == 4)
            at = at_32;
        out[n++] = access_at(m, &in->touch[0], at * in->touch[0].at.scale, in->element);
    }
    return n;
}

static unsigned save_area(const struct insn *in, struct machine *m, struct access *out)
{
    uint64_t mask = (m->regs.rdx << 32 | (uint32_t)m->regs.rax) & xcr0;

    out[0] = access_at(m, &in->touch[0], 0, 0);
    if (in->shape == SAVE_AREA)
        out[0].size = standard_size(mask);
    else if (in->shape == SAVE_PACKED)
        out[0].size = compacted_size(mask);
    else
        out[0].size = restored_size(m, out[0].addr, mask);
    return 1;
}

unsigned insn_accesses(const struct insn *in, struct machine *m, struct access *out)
{
    switch (in->shape) {
    case EACH:
        return each(in, m, out);
    case STRING:
        return string(in, m, out);
    case BIT_STRING:
        return bit_string(in, m, out);
    case TABLE_BYTE:
        out[0] = access_at(m, &in->touch[0], (uint8_t)m->regs.rax, 1);
        return 1;
    case FRAME:
        return frame(in, m, out);
    case BYTE_MASK:
        return byte_mask(in, m, out);
    case SIGN_MASK:
        return sign_mask(in, m, out);
    case BIT_MASK:
        return elements(in, m, opmask_read(m, in->mask), false, out);
    case PACKED:
        return elements(in, m, opmask_read(m, in->mask), true, out);
    case ANY_BIT:
        return any_bit(in, m, out);
    case VECTOR:
        return vector(in, m, out);
    case SAVE_AREA:
    case SAVE_PACKED:
    case LOAD_AREA:
        return save_area(in, m, out);
    case LINE:
        each(in, m, out);
        out[0].addr &= ~63ull;
        return 1;
    }
    abort();
}

/* -- Decoding ---------------------------------------------------------------------------------- */

/* What Zydis said about one instruction. */
struct parsed {
    ZydisDecodedInstruction i;
    ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];
    const ZydisDecodedOperand *mem; /* the memory operand that is written in the assembly, if any */
    bool has_hidden;                /* a memory operand that is not */
};

/* The number of a general register of any width in user_regs_struct. */
static uint8_t general_of(ZydisRegister r)
{
    ZyanI8 id = ZydisRegisterGetId(r);

    return r == ZYDIS_REGISTER_NONE || id < 0 ? NO_REG : general[id & 15];
}

static uint8_t segment_of(ZydisRegister r)
{
    if (r == ZYDIS_REGISTER_FS)
        return REG(fs_base);
    if (r == ZYDIS_REGISTER_GS)
        return REG(gs_base);
    return NO_REG; /* the others have base 0 in 64-bit mode */
}

static struct place place_of(const struct parsed *p, uint64_t pc)
{
    const ZydisDecodedOperandMem *mem = &p->mem->mem;
    struct place at = {.base = NO_REG,
                       .index = NO_REG,
                       .scale = mem->scale,
                       .segment = segment_of(mem->segment),
                       .is_32 = p->i.address_width == 32,
                       .disp = mem->disp.value};

    if (mem->base == ZYDIS_REGISTER_RIP || mem->base == ZYDIS_REGISTER_EIP)
        at.disp += pc + p->i.length;
    else
        at.base = general_of(mem->base);
    if (mem->type != ZYDIS_MEMOP_TYPE_VSIB)
        at.index = general_of(mem->index);
    return at;
}

static void add(struct insn *in, char kind, uint32_t size, struct place at)
{
    in->touch[in->n_touches++] = (struct touch){.at = at, .size = size, .kind = kind};
}

static struct place at_register(uint8_t number, int64_t disp)
{
    return (struct place){.base = number, .index = NO_REG, .segment = NO_REG, .disp = disp};
}

/* A place in rsi, rdi, rbx or rdi that an instruction uses without saying so. */
static struct place at_implied(const struct parsed *p, uint8_t number, bool takes_segment)
{
    struct place at = at_register(number, 0);

    at.is_32 = p->i.address_width == 32;
    if (takes_segment && p->i.attributes & ZYDIS_ATTRIB_HAS_SEGMENT_FS)
        at.segment = REG(fs_base);
    if (takes_segment && p->i.attributes & ZYDIS_ATTRIB_HAS_SEGMENT_GS)
        at.segment = REG(gs_base);
    return at;
}

static void stack_push(struct insn *in, const struct parsed *p)
{
    int size = p->i.operand_width / 8;

    add(in, 'S', size, at_register(REG(rsp), -size));
}

static void stack_pop(struct insn *in, const struct parsed *p)
{
    add(in, 'L', p->i.operand_width / 8, at_register(REG(rsp), 0));
}

/* pop m: the address is computed after rsp has moved. */
static void memory_pop(struct insn *in, const struct parsed *p)
{
    struct place at = place_of(p, in->pc);
    int size = p->i.operand_width / 8;

    if (at.base == REG(rsp))
        at.disp += size;
    stack_pop(in, p);
    add(in, 'S', size, at);
}

static bool has_rep(const struct parsed *p)
{
    for (unsigned i = 0; i < p->i.raw.prefix_count; i++)
        if (p->i.raw.prefixes[i].value == 0xf2 || p->i.raw.prefixes[i].value == 0xf3)
            return true;
    return false;
}

/* The kinds of access through rsi and through rdi; 0 for none. */
static void decode_string(struct insn *in, const struct parsed *p, char source, char dest)
{
    unsigned size = p->i.operand_width / 8;

    in->shape = STRING;
    in->is_repeated = has_rep(p);
    if (source)
        add(in, source, size, at_implied(p, REG(rsi), true));
    if (dest)
        add(in, dest, size, at_implied(p, REG(rdi), false));
}

static void decode_byte_mask(struct insn *in, const struct parsed *p)
{
    in->shape = BYTE_MASK;
    in->mask = ZydisRegisterGetId(p->op[1].reg.value);
    in->count = p->i.mnemonic == ZYDIS_MNEMONIC_MASKMOVQ ? 8 : 16;
    in->element = 1;
    add(in, 'S', 1, at_implied(p, REG(rdi), true));
}

static void decode_bit_string(struct insn *in, const struct parsed *p)
{
    if (p->op[1].type != ZYDIS_OPERAND_TYPE_REGISTER)
        return;
    in->shape = BIT_STRING;
    in->selector = general_of(p->op[1].reg.value);
}

static void decode_enter(struct insn *in, const struct parsed *p)
{
    in->shape = FRAME;
    in->selector = p->op[1].imm.value.u & 31;
    in->element = p->i.operand_width / 8;
}

static void decode_sign_mask(struct insn *in, const struct parsed *p, unsigned element)
{
    in->shape = SIGN_MASK;
    in->mask = ZydisRegisterGetId(p->op[1].reg.value);
    in->element = element;
    in->count = p->mem->size / 8 / element;
}

/* Gathers and scatters; which is the data operand depends on the direction. */
static void decode_vector(struct insn *in, const struct parsed *p, unsigned index_size,
                          unsigned element)
{
    const ZydisDecodedOperand *data =
        p->mem == &p->op[0] ? &p->op[p->i.operand_count_visible - 1] : &p->op[0];
    unsigned indices = ZydisRegisterGetWidth(p->i.machine_mode, p->mem->mem.index) / 8 / index_size;
    unsigned room = ZydisRegisterGetWidth(p->i.machine_mode, data->reg.value) / 8 / element;

    in->shape = VECTOR;
    in->element = element;
    in->count = indices < room ? indices : room;
    in->index_vector = ZydisRegisterGetId(p->mem->mem.index);
    in->index_size = index_size;
    in->mask_is_vector = p->i.encoding == ZYDIS_INSTRUCTION_ENCODING_VEX;
    in->mask = ZydisRegisterGetId(in->mask_is_vector ? p->op[2].reg.value : p->i.avx.mask.reg);
}

/* How many elements a broadcast fills, that is, how many mask bits concern it. */
static unsigned broadcast_count(ZydisBroadcastMode mode)
{
    static const uint8_t counts[] = {
        [ZYDIS_BROADCAST_MODE_1_TO_2] = 2,   [ZYDIS_BROADCAST_MODE_1_TO_4] = 4,
        [ZYDIS_BROADCAST_MODE_1_TO_8] = 8,   [ZYDIS_BROADCAST_MODE_1_TO_16] = 16,
        [ZYDIS_BROADCAST_MODE_1_TO_32] = 32, [ZYDIS_BROADCAST_MODE_1_TO_64] = 64,
        [ZYDIS_BROADCAST_MODE_2_TO_4] = 4,   [ZYDIS_BROADCAST_MODE_2_TO_8] = 8,
        [ZYDIS_BROADCAST_MODE_2_TO_16] = 16, [ZYDIS_BROADCAST_MODE_4_TO_8] = 8,
        [ZYDIS_BROADCAST_MODE_4_TO_16] = 16, [ZYDIS_BROADCAST_MODE_8_TO_16] = 16,
    };

    return counts[mode];
}

/*
 * The NF classes of the manual's table of AVX-512 exceptions do not suppress faults. Zydis 4.0 has
 * four instructions in the wrong class: their operand is not read element by element.
 */
static bool suppresses_faults(const struct parsed *p)
{
    switch (p->i.mnemonic) {
    case ZYDIS_MNEMONIC_VCVTNE2PS2BF16:
    case ZYDIS_MNEMONIC_VDBPSADBW:
    case ZYDIS_MNEMONIC_VGF2P8AFFINEQB:
    case ZYDIS_MNEMONIC_VGF2P8AFFINEINVQB:
        return false;
    default:
        break;
    }
    switch (p->i.meta.exception_class) {
    case ZYDIS_EXCEPTION_CLASS_E1NF:
    case ZYDIS_EXCEPTION_CLASS_E2NF:
    case ZYDIS_EXCEPTION_CLASS_E3NF:
    case ZYDIS_EXCEPTION_CLASS_E4NF:
    case ZYDIS_EXCEPTION_CLASS_E5NF:
    case ZYDIS_EXCEPTION_CLASS_E6NF:
    case ZYDIS_EXCEPTION_CLASS_E9NF:
    case ZYDIS_EXCEPTION_CLASS_E10NF:
    case ZYDIS_EXCEPTION_CLASS_E11NF:
        return false;
    default:
        return true;
    }
}

static bool is_packing(ZydisMnemonic m)
{
    switch (m) {
    case ZYDIS_MNEMONIC_VPCOMPRESSB:
    case ZYDIS_MNEMONIC_VPCOMPRESSW:
    case ZYDIS_MNEMONIC_VPCOMPRESSD:
    case ZYDIS_MNEMONIC_VPCOMPRESSQ:
    case ZYDIS_MNEMONIC_VCOMPRESSPS:
    case ZYDIS_MNEMONIC_VCOMPRESSPD:
    case ZYDIS_MNEMONIC_VPEXPANDB:
    case ZYDIS_MNEMONIC_VPEXPANDW:
    case ZYDIS_MNEMONIC_VPEXPANDD:
    case ZYDIS_MNEMONIC_VPEXPANDQ:
    case ZYDIS_MNEMONIC_VEXPANDPS:
    case ZYDIS_MNEMONIC_VEXPANDPD:
        return true;
    default:
        return false;
    }
}

/* The writemask of an explicit operand. A scalar is a vector of one element. */
static void decode_writemask(struct insn *in, const struct parsed *p)
{
    ZydisRegister k = p->i.avx.mask.reg;

    if (k == ZYDIS_REGISTER_NONE || k == ZYDIS_REGISTER_K0 || !suppresses_faults(p))
        return;
    in->mask = ZydisRegisterGetId(k);
    in->count = p->mem->element_count;
    in->element = in->touch[0].size / in->count;
    if (is_packing(p->i.mnemonic)) {
        in->shape = PACKED;
    } else if (p->i.avx.broadcast.mode != ZYDIS_BROADCAST_MODE_INVALID) {
        in->shape = ANY_BIT;
        in->count = broadcast_count(p->i.avx.broadcast.mode);
    } else {
        in->shape = BIT_MASK;
    }
}

/* One access for the operand that the assembly shows. */
static void decode_explicit(struct insn *in, const struct parsed *p)
{
    bool is_read = p->mem->actions & ZYDIS_OPERAND_ACTION_MASK_READ;
    bool is_written = p->mem->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE;

    add(in,
        is_read && is_written ? 'M'
        : is_written          ? 'S'
                              : 'L',
        p->mem->size / 8, place_of(p, in->pc));
    if (p->i.encoding == ZYDIS_INSTRUCTION_ENCODING_EVEX)
        decode_writemask(in, p);
}

static void decode_area(struct insn *in, const struct parsed *p, enum shape shape, char kind)
{
    in->shape = shape;
    add(in, kind, 0, place_of(p, in->pc));
}

/* The rows of docs/events.md that are not simply "an explicit memory operand". */
static const char *decode_row(struct insn *in, const struct parsed *p)
{
    switch (p->i.mnemonic) {
    case ZYDIS_MNEMONIC_LEA:
    case ZYDIS_MNEMONIC_NOP:
    case ZYDIS_MNEMONIC_PREFETCH:
    case ZYDIS_MNEMONIC_PREFETCHNTA:
    case ZYDIS_MNEMONIC_PREFETCHT0:
    case ZYDIS_MNEMONIC_PREFETCHT1:
    case ZYDIS_MNEMONIC_PREFETCHT2:
    case ZYDIS_MNEMONIC_PREFETCHW:
    case ZYDIS_MNEMONIC_PREFETCHWT1:
    case ZYDIS_MNEMONIC_CLFLUSH:
    case ZYDIS_MNEMONIC_CLFLUSHOPT:
    case ZYDIS_MNEMONIC_CLWB:
    case ZYDIS_MNEMONIC_CLDEMOTE:
    case ZYDIS_MNEMONIC_INVLPG:
        return NULL;

    case ZYDIS_MNEMONIC_PUSHF:
    case ZYDIS_MNEMONIC_PUSHFQ:
        in->is_unsteppable = true;
        stack_push(in, p);
        return NULL;
    case ZYDIS_MNEMONIC_PUSH:
        if (p->mem)
            decode_explicit(in, p);
        stack_push(in, p);
        return NULL;
    case ZYDIS_MNEMONIC_CALL:
        if (p->i.meta.branch_type == ZYDIS_BRANCH_TYPE_FAR)
            return "a far call";
        if (p->mem)
            decode_explicit(in, p);
        stack_push(in, p);
        return NULL;
    case ZYDIS_MNEMONIC_POP:
        if (p->mem)
            memory_pop(in, p);
        else
            stack_pop(in, p);
        return NULL;
    case ZYDIS_MNEMONIC_POPF:
    case ZYDIS_MNEMONIC_POPFQ:
        in->is_unsteppable = true;
        stack_pop(in, p);
        return NULL;
    case ZYDIS_MNEMONIC_RET:
        if (p->i.meta.branch_type == ZYDIS_BRANCH_TYPE_FAR)
            return "a far return";
        stack_pop(in, p);
        return NULL;
    case ZYDIS_MNEMONIC_ENTER:
        decode_enter(in, p);
        return NULL;
    case ZYDIS_MNEMONIC_LEAVE:
        add(in, 'L', p->i.operand_width / 8, at_register(REG(rbp), 0));
        return NULL;

    case ZYDIS_MNEMONIC_MOVSB:
    case ZYDIS_MNEMONIC_MOVSW:
    case ZYDIS_MNEMONIC_MOVSQ:
        decode_string(in, p, 'L', 'S');
        return NULL;
    case ZYDIS_MNEMONIC_MOVSD:
        if (!p->has_hidden)
            break; /* the SSE2 move of the same name */
        decode_string(in, p, 'L', 'S');
        return NULL;
    case ZYDIS_MNEMONIC_CMPSB:
    case ZYDIS_MNEMONIC_CMPSW:
    case ZYDIS_MNEMONIC_CMPSQ:
        decode_string(in, p, 'L', 'L');
        return NULL;
    case ZYDIS_MNEMONIC_CMPSD:
        if (!p->has_hidden)
            break; /* the SSE2 comparison of the same name */
        decode_string(in, p, 'L', 'L');
        return NULL;
    case ZYDIS_MNEMONIC_STOSB:
    case ZYDIS_MNEMONIC_STOSW:
    case ZYDIS_MNEMONIC_STOSD:
    case ZYDIS_MNEMONIC_STOSQ:
        decode_string(in, p, 0, 'S');
        return NULL;
    case ZYDIS_MNEMONIC_LODSB:
    case ZYDIS_MNEMONIC_LODSW:
    case ZYDIS_MNEMONIC_LODSD:
    case ZYDIS_MNEMONIC_LODSQ:
        decode_string(in, p, 'L', 0);
        return NULL;
    case ZYDIS_MNEMONIC_SCASB:
    case ZYDIS_MNEMONIC_SCASW:
    case ZYDIS_MNEMONIC_SCASD:
    case ZYDIS_MNEMONIC_SCASQ:
        decode_string(in, p, 0, 'L');
        return NULL;
    case ZYDIS_MNEMONIC_XLAT:
        in->shape = TABLE_BYTE;
        add(in, 'L', 1, at_implied(p, REG(rbx), true));
        return NULL;
    case ZYDIS_MNEMONIC_MASKMOVQ:
    case ZYDIS_MNEMONIC_MASKMOVDQU:
    case ZYDIS_MNEMONIC_VMASKMOVDQU:
        decode_byte_mask(in, p);
        return NULL;

    case ZYDIS_MNEMONIC_BT:
    case ZYDIS_MNEMONIC_BTS:
    case ZYDIS_MNEMONIC_BTR:
    case ZYDIS_MNEMONIC_BTC:
        if (p->mem) {
            decode_explicit(in, p);
            decode_bit_string(in, p);
        }
        return NULL;
    case ZYDIS_MNEMONIC_VMASKMOVPS:
    case ZYDIS_MNEMONIC_VPMASKMOVD:
        decode_explicit(in, p);
        decode_sign_mask(in, p, 4);
        return NULL;
    case ZYDIS_MNEMONIC_VMASKMOVPD:
    case ZYDIS_MNEMONIC_VPMASKMOVQ:
        decode_explicit(in, p);
        decode_sign_mask(in, p, 8);
        return NULL;

    case ZYDIS_MNEMONIC_VGATHERDPS:
    case ZYDIS_MNEMONIC_VPGATHERDD:
    case ZYDIS_MNEMONIC_VSCATTERDPS:
    case ZYDIS_MNEMONIC_VPSCATTERDD:
        decode_explicit(in, p);
        decode_vector(in, p, 4, 4);
        return NULL;
    case ZYDIS_MNEMONIC_VGATHERDPD:
    case ZYDIS_MNEMONIC_VPGATHERDQ:
    case ZYDIS_MNEMONIC_VSCATTERDPD:
    case ZYDIS_MNEMONIC_VPSCATTERDQ:
        decode_explicit(in, p);
        decode_vector(in, p, 4, 8);
        return NULL;
    case ZYDIS_MNEMONIC_VGATHERQPS:
    case ZYDIS_MNEMONIC_VPGATHERQD:
    case ZYDIS_MNEMONIC_VSCATTERQPS:
    case ZYDIS_MNEMONIC_VPSCATTERQD:
        decode_explicit(in, p);
        decode_vector(in, p, 8, 4);
        return NULL;
    case ZYDIS_MNEMONIC_VGATHERQPD:
    case ZYDIS_MNEMONIC_VPGATHERQQ:
    case ZYDIS_MNEMONIC_VSCATTERQPD:
    case ZYDIS_MNEMONIC_VPSCATTERQQ:
        decode_explicit(in, p);
        decode_vector(in, p, 8, 8);
        return NULL;

    case ZYDIS_MNEMONIC_XSAVE:
    case ZYDIS_MNEMONIC_XSAVE64:
    case ZYDIS_MNEMONIC_XSAVEOPT:
    case ZYDIS_MNEMONIC_XSAVEOPT64:
        decode_area(in, p, SAVE_AREA, 'S');
        return NULL;
    case ZYDIS_MNEMONIC_XSAVEC:
    case ZYDIS_MNEMONIC_XSAVEC64:
    case ZYDIS_MNEMONIC_XSAVES:
    case ZYDIS_MNEMONIC_XSAVES64:
        decode_area(in, p, SAVE_PACKED, 'S');
        return NULL;
    case ZYDIS_MNEMONIC_XRSTOR:
    case ZYDIS_MNEMONIC_XRSTOR64:
        decode_area(in, p, LOAD_AREA, 'L');
        return NULL;
    case ZYDIS_MNEMONIC_CLZERO:
        in->shape = LINE;
        add(in, 'S', 64, at_implied(p, REG(rax), true));
        return NULL;
    case ZYDIS_MNEMONIC_MOVDIR64B:
        decode_explicit(in, p);
        add(in, 'S', 64, at_implied(p, general_of(p->op[0].reg.value), false));
        return NULL;

    case ZYDIS_MNEMONIC_SGDT:
    case ZYDIS_MNEMONIC_SIDT:
    case ZYDIS_MNEMONIC_SLDT:
    case ZYDIS_MNEMONIC_STR:
    case ZYDIS_MNEMONIC_SMSW:
        in->is_unsteppable = true;
        break;
    case ZYDIS_MNEMONIC_SYSCALL:
        in->is_syscall = true;
        return NULL;
    case ZYDIS_MNEMONIC_INT:
    case ZYDIS_MNEMONIC_INT1:
    case ZYDIS_MNEMONIC_INT3:
        in->is_trap = true;
        return NULL;
    case ZYDIS_MNEMONIC_MOV:
        if (p->op[0].type == ZYDIS_OPERAND_TYPE_REGISTER && p->op[0].reg.value == ZYDIS_REGISTER_SS)
            in->is_unsteppable = true;
        break;
    default:
        break;
    }
    if (p->has_hidden)
        return "an implied memory operand that docs/events.md does not describe";
    if (p->mem)
        decode_explicit(in, p);
    return NULL;
}

/*
 * A near branch with an operand-size prefix and no REX.W: Intel ignores the prefix, AMD cuts the
 * target to 16 bits and moves the stack by 2. No compiler emits one.
 */
static bool is_branch_of_16_bits(const struct parsed *p)
{
    if (p->i.meta.branch_type == ZYDIS_BRANCH_TYPE_NONE || p->i.raw.rex.W)
        return false;
    for (unsigned i = 0; i < p->i.raw.prefix_count; i++)
        if (p->i.raw.prefixes[i].value == 0x66)
            return true;
    return false;
}

static void decoder_init(ZydisDecoder *d)
{
    uint32_t a, b, c, e;
    bool has_mpx;

    ZydisDecoderInit(d, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    ZydisDecoderEnableMode(d, ZYDIS_DECODER_MODE_MPX, ZYAN_FALSE); /* Linux has no MPX: nops */
    __cpuid_count(7, 0, a, b, c, e);
    has_mpx = b >> 14 & 1;
    /* Where the processor has no MPX, its encodings are long nops. */
    ZydisDecoderEnableMode(d, ZYDIS_DECODER_MODE_MPX, has_mpx);
}

const char *insn_decode(struct insn *in, uint64_t pc, const uint8_t *bytes, unsigned n)
{
    static ZydisDecoder decoder;
    static bool has_decoder;
    struct parsed p = {0};

    if (!has_decoder) {
        decoder_init(&decoder);
        has_decoder = true;
    }
    *in = (struct insn){.pc = pc};
    memcpy(in->bytes, bytes, n);
    if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, bytes, n, &p.i, p.op)))
        return "an instruction Zydis does not know";
    in->length = p.i.length;
    if (is_branch_of_16_bits(&p))
        return "a branch with an operand-size prefix";
    for (unsigned i = 0; i < p.i.operand_count; i++) {
        if (p.op[i].type != ZYDIS_OPERAND_TYPE_MEMORY)
            continue;
        if (p.op[i].visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN)
            p.has_hidden = true;
        else
            p.mem = &p.op[i];
    }
    return decode_row(in, &p);
}
