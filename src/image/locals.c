/* SPDX-License-Identifier: MIT */
/* What functions keep on the stack: where their frames are, by the unwind information, and which variables are in them, by DWARF. */
#include "image/data_private.h"

#include <stdio.h>
#include <stdlib.h>

enum { RBP = 6 };
#define LOWEST_LOCAL (-(1ll << 40)) /* from the frame base; further than any is */

bool data_frame(struct image_data *d, u64 pc, struct image_frame *f)
{
    Dwarf_Addr bias;
    Dwarf_Frame *frame;
    Dwarf_Op *op;
    size_t n;
    const u64 at = pc + d->image->bias;
    Dwarf_CFI *cfi = dwfl_module_eh_cfi(d->image->module, &bias);
    if (!cfi)
        cfi = dwfl_module_dwarf_cfi(d->image->module, &bias);
    if (!cfi || dwarf_cfi_addrframe(cfi, at - bias, &frame))
        return false;
    bool known = !dwarf_frame_cfa(frame, &op, &n) && n == 1 && op->atom >= DW_OP_breg0 &&
                 op->atom <= DW_OP_breg31;
    if (known)
        *f = (struct image_frame){(u8)(op->atom - DW_OP_breg0), (s64)op->number};
    bool bregx = !known && !dwarf_frame_cfa(frame, &op, &n) && n == 1 && op->atom == DW_OP_bregx;
    if (bregx)
        *f = (struct image_frame){(u8)op->number, (s64)op->number2};
    free(frame);
    return known || bregx;
}

/* How far the frame base of a function, which its variables are counted from, is from the CFA. */
static bool base_from_cfa(struct image_data *d, Dwarf_Die *function, u64 pc, s64 *distance)
{
    Dwarf_Attribute a;
    Dwarf_Op *op;
    size_t n;
    struct image_frame f;
    *distance = 0;
    if (!dwarf_attr_integrate(function, DW_AT_frame_base, &a) || dwarf_getlocation(&a, &op, &n) || n != 1)
        return false;
    if (op->atom == DW_OP_call_frame_cfa)
        return true;
    if (op->atom != DW_OP_reg0 + RBP || !data_frame(d, pc, &f) || f.reg != RBP)
        return false;
    *distance = -f.offset;
    return true;
}

/* Where a variable is, from the frame base, while the function is at pc. */
static bool from_base(Dwarf_Die *variable, u64 pc, s64 *offset)
{
    Dwarf_Attribute a;
    Dwarf_Op *op;
    size_t n;
    if (!dwarf_attr(variable, DW_AT_location, &a) || dwarf_getlocation_addr(&a, pc, &op, &n, 1) != 1 ||
        n != 1 || op->atom != DW_OP_fbreg)
        return false;
    *offset = (s64)op->number;
    return true;
}

/* Look for what is at an offset among the variables of a scope, and from where to where that reaches; if there is nothing, from and to come closer as
 * far as other variables begin and end. */
static bool find_in(struct image_data *d, Dwarf_Die *scope, u64 pc, s64 offset, const char *function,
                    char *text, size_t room, s64 *from, s64 *to)
{
    Dwarf_Die x, type;
    for (int r = dwarf_child(scope, &x); r == 0; r = dwarf_siblingof(&x, &x)) {
        Dwarf_Attribute a;
        const int tag = dwarf_tag(&x);
        s64 start;
        if ((tag != DW_TAG_variable && tag != DW_TAG_formal_parameter) || !from_base(&x, pc, &start) ||
            !layout_type(&x, &type))
            continue;
        const u32 layout = layout_of(&d->of_locals, &type);
        const u64 size = d->of_locals.v.v[layout].size;
        const char *name = dwarf_attr_integrate(&x, DW_AT_name, &a) ? dwarf_formstring(&a) : NULL;
        if (!name || offset < start || (u64)(offset - start) >= size) {
            if (offset < start)
                *to = MIN(*to, start);
            else if (size <= (u64)(offset - start))
                *from = MAX(*from, start + (s64)size);
            continue;
        }
        snprintf(text, room, "%s::%s", function, name);
        u64 before, behind, place = layout_place(&d->of_locals, layout, (u64)(offset - start), &before, &behind);
        layout_name(&d->of_locals, layout, place, text, room);
        *from = offset - (s64)before;
        *to = offset + (s64)behind;
        return true;
    }
    return false;
}

static const char *name_of(Dwarf_Die *die)
{
    Dwarf_Attribute a;
    const char *name = dwarf_attr_integrate(die, DW_AT_name, &a) ? dwarf_formstring(&a) : NULL;
    return name ? name : "?";
}

/* The innermost scope first; what is inlined keeps its variables in the frame of what it is inlined to. */
bool data_local(struct image_data *d, u64 pc, s64 from_cfa, char *text, size_t room, s64 *start, s64 *end)
{
    Dwarf_Addr bias;
    Dwarf_Die *cu = dwfl_module_addrdie(d->image->module, pc + d->image->bias, &bias), *scopes;
    const u64 at = pc + d->image->bias - bias;
    const int n = cu ? dwarf_getscopes(cu, at, &scopes) : 0;
    int function = 0;
    s64 distance;
    bool found = false;
    *start = LOWEST_LOCAL;
    *end = -LOWEST_LOCAL;
    while (function < n && dwarf_tag(&scopes[function]) != DW_TAG_subprogram)
        function++;
    if (function < n && base_from_cfa(d, &scopes[function], pc, &distance)) {
        for (int i = 0; i <= function && !found; i++) {
            int of = i;
            while (dwarf_tag(&scopes[of]) == DW_TAG_lexical_block)
                of++;
            found = find_in(d, &scopes[i], at, from_cfa - distance, name_of(&scopes[of]), text, room, start, end);
        }
        *start += distance;
        *end += distance;
    }
    if (n > 0)
        free(scopes);
    return found;
}
