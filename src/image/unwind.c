/* SPDX-License-Identifier: MIT */
/* The rules are libdw's; their expressions are evaluated here, as far as compilers and linkers write them. */
#include "image/unwind.h"
#include "image/image_private.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH = 16 /* of an expression's stack */ };

struct evaluation {
    const struct unwound *x;
    u64 cfa;
    bool has_cfa;
    unwind_read *read;
    void *ctx;
    u64 v[DEPTH];
    u32 n;
    bool failed, is_value; /* ... and not the address of one */
};

static void push(struct evaluation *e, u64 value)
{
    e->failed |= e->n == DEPTH;
    if (!e->failed)
        e->v[e->n++] = value;
}

static u64 pop(struct evaluation *e)
{
    e->failed |= !e->n;
    return e->failed ? 0 : e->v[--e->n];
}

static u64 reg_of(struct evaluation *e, u64 number)
{
    enum { RETURN_ADDRESS = 16 };
    if (number == RETURN_ADDRESS)
        return e->x->pc;
    if (number >= UNWIND_REGS || !(e->x->known >> number & 1)) {
        e->failed = true;
        return 0;
    }
    return e->x->reg[number];
}

static u64 load(struct evaluation *e, u64 address)
{
    u64 value = 0;
    e->failed |= e->failed || !e->read(e->ctx, address, &value);
    return value;
}

static void combine(struct evaluation *e, u8 atom)
{
    u64 b = pop(e), a = pop(e);
    switch (atom) {
    case DW_OP_plus:
        push(e, a + b);
        return;
    case DW_OP_minus:
        push(e, a - b);
        return;
    case DW_OP_and:
        push(e, a & b);
        return;
    case DW_OP_shl:
        push(e, b < 64 ? a << b : 0);
        return;
    case DW_OP_ge:
        push(e, (s64)a >= (s64)b);
        return;
    default:
        e->failed = true;
    }
}

static void evaluate_op(struct evaluation *e, const Dwarf_Op *op)
{
    if (op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg31) {
        push(e, reg_of(e, op->atom - DW_OP_breg0) + op->number);
        return;
    }
    if (op->atom >= DW_OP_lit0 && op->atom <= DW_OP_lit31) {
        push(e, op->atom - DW_OP_lit0);
        return;
    }
    switch (op->atom) {
    case DW_OP_bregx:
        push(e, reg_of(e, op->number) + op->number2);
        return;
    case DW_OP_call_frame_cfa:
        e->failed |= !e->has_cfa;
        push(e, e->cfa);
        return;
    case DW_OP_plus_uconst:
        push(e, pop(e) + op->number);
        return;
    case DW_OP_const1u:
    case DW_OP_const1s:
    case DW_OP_const2u:
    case DW_OP_const2s:
    case DW_OP_const4u:
    case DW_OP_const4s:
    case DW_OP_constu:
    case DW_OP_consts:
        push(e, op->number);
        return;
    case DW_OP_deref:
        push(e, load(e, pop(e)));
        return;
    case DW_OP_stack_value:
        e->is_value = true;
        return;
    default:
        combine(e, op->atom);
    }
}

static bool evaluate(struct evaluation *e, const Dwarf_Op *ops, size_t n, u64 *result)
{
    e->n = 0;
    e->failed = e->is_value = false;
    for (size_t i = 0; i < n && !e->failed; i++)
        evaluate_op(e, &ops[i]);
    *result = pop(e);
    return !e->failed;
}

/* What the caller has in a register: it may be the same, saved somewhere, not known, or there is no such thing. */
static bool caller_register(struct evaluation *e, Dwarf_Frame *f, u32 number, u64 *value, bool *is_none)
{
    Dwarf_Op room[3], *ops;
    size_t n;
    *is_none = false;
    if (dwarf_frame_register(f, (int)number, room, &ops, &n))
        return false;
    if (!n) {
        e->failed = false;
        *is_none = ops != NULL;
        *value = ops ? 0 : reg_of(e, number);
        return !ops && !e->failed;
    }
    if (n == 1 && ops[0].atom >= DW_OP_reg0 && ops[0].atom <= DW_OP_reg31) {
        e->failed = false;
        *value = reg_of(e, ops[0].atom - DW_OP_reg0);
        return !e->failed;
    }
    if (!evaluate(e, ops, n, value))
        return false;
    return e->is_value || e->read(e->ctx, *value, value);
}

static bool step(Dwarf_Frame *f, struct unwound *x, unwind_read *read, void *ctx)
{
    struct evaluation e = {.x = x, .read = read, .ctx = ctx};
    struct unwound to = {0};
    Dwarf_Op *ops;
    size_t n;
    int return_address = dwarf_frame_info(f, NULL, NULL, NULL);
    if (return_address < 0 || dwarf_frame_cfa(f, &ops, &n) || !evaluate(&e, ops, n, &e.cfa))
        return false;
    e.has_cfa = true;
    bool is_none;
    for (u32 i = 0; i < UNWIND_REGS; i++)
        to.known |= (u32)caller_register(&e, f, i, &to.reg[i], &is_none) << i;
    if (!caller_register(&e, f, (u32)return_address, &to.pc, &is_none) && !is_none)
        return false;
    to.reg[UNWIND_RSP] = e.cfa;
    to.known |= 1u << UNWIND_RSP;
    *x = to;
    return true;
}

/* -- Functions ---------------------------------------------------------------------------------- */

/* The table of functions in .eh_frame_hdr, as linkers write it: sorted pairs of 32-bit distances from the header. */
struct table {
    const u8 *entries;
    u64 n, address; /* of the header */
};
enum { UDATA4 = 0x03, PCREL_SDATA4 = 0x1b, DATAREL_SDATA4 = 0x3b, HEADER_SIZE = 12, ENTRY_SIZE = 8 };

static bool find_table(const struct image *m, struct table *t)
{
    size_t n;
    for (size_t i = 0; elf_getphdrnum(m->elf, &n) == 0 && i < n; i++) {
        GElf_Phdr h;
        if (!gelf_getphdr(m->elf, (int)i, &h) || h.p_type != PT_GNU_EH_FRAME || h.p_filesz < HEADER_SIZE)
            continue;
        const Elf_Data *d = elf_getdata_rawchunk(m->elf, (s64)h.p_offset, h.p_filesz, ELF_T_BYTE);
        const u8 *p = d ? d->d_buf : NULL;
        u32 count;
        if (!p || d->d_size < HEADER_SIZE || p[0] != 1 || p[1] != PCREL_SDATA4 || p[2] != UDATA4 || p[3] != DATAREL_SDATA4)
            return false;
        memcpy(&count, p + 8, sizeof count);
        *t = (struct table){p + HEADER_SIZE, MIN((u64)count, (d->d_size - HEADER_SIZE) / ENTRY_SIZE), h.p_vaddr};
        return true;
    }
    return false;
}

static u64 entry_of(const struct table *t, u64 i)
{
    s32 distance;
    memcpy(&distance, t->entries + i * ENTRY_SIZE, sizeof distance);
    return t->address + (u64)(s64)distance;
}

bool image_way_in(const struct image *m, u64 offset, u64 *way)
{
    struct table t;
    u64 address;
    if (!image_vaddr(m, offset, &address) || !find_table(m, &t))
        return false;
    u64 from = 0, to = t.n;
    while (from < to) {
        u64 middle = from + (to - from) / 2;
        if (entry_of(&t, middle) <= address)
            from = middle + 1;
        else
            to = middle;
    }
    if (from)
        *way = address - entry_of(&t, from - 1);
    return from;
}

bool image_unwind(struct image *m, u64 offset, struct unwound *x, unwind_read *read, void *ctx)
{
    u64 address;
    GElf_Addr bias;
    Dwarf_Frame *f;
    if (m->trouble || !image_address(m, offset, &address))
        return false;
    Dwarf_CFI *cfi = dwfl_module_eh_cfi(m->module, &bias);
    if (!cfi || dwarf_cfi_addrframe(cfi, address - bias, &f))
        return false;
    bool known = step(f, x, read, ctx);
    free(f);
    return known;
}

bool image_is_entry(const struct image *m, u64 offset)
{
    enum { LENGTH = 128 };
    u64 address;
    GElf_Ehdr h;
    return image_vaddr(m, offset, &address) && gelf_getehdr(m->elf, &h) && address - h.e_entry < LENGTH;
}
