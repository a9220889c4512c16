/* SPDX-License-Identifier: MIT */
/* The instruction shapes of emitted code, by hand: they are few, and this is where translation time
 * goes. */
#include "translate/emit.h"
#include "base/err.h"

#include <string.h>

void emit_bytes(struct emit *e, const void *bytes, size_t n)
{
    if ((size_t)(e->end - e->p) < n) {
        e->full = true;
        return;
    }
    memcpy(e->p, bytes, n);
    e->p += n;
}

void emit_8(struct emit *e, u8 x)
{
    emit_bytes(e, &x, 1);
}

void emit_32(struct emit *e, u32 x)
{
    emit_bytes(e, &x, 4);
}

void emit_64(struct emit *e, u64 x)
{
    emit_bytes(e, &x, 8);
}

void emit_nops(struct emit *e, size_t n)
{
    static const u8 nops[][7] = {
        {0x90},
        {0x66, 0x90},
        {0x0f, 0x1f, 0x00},
        {0x0f, 0x1f, 0x40, 0x00},
        {0x0f, 0x1f, 0x44, 0x00, 0x00},
        {0x66, 0x0f, 0x1f, 0x44, 0x00, 0x00},
        {0x0f, 0x1f, 0x80, 0x00, 0x00, 0x00, 0x00},
    };
    while (n) {
        size_t k = MIN(n, ARRAY_LEN(nops));
        emit_bytes(e, nops[k - 1], k);
        n -= k;
    }
}

void emit_align_patch(struct emit *e, size_t ahead)
{
    u64 at = (emit_here(e) + ahead) & 7;
    if (at > 4)
        emit_nops(e, 8 - at);
}

/* ModRM and SIB for [base + disp]; rsp and r12 need a SIB byte, rbp and r13 a displacement. */
static void modrm_mem(struct emit *e, u8 reg, u8 base, s32 disp)
{
    u8 r = (u8)((reg & 7) << 3), b = base & 7;
    bool none = disp == 0 && b != 5, small = disp >= -128 && disp <= 127;
    emit_8(e, (u8)((none ? 0x00 : small ? 0x40 : 0x80) | r | b));
    if (b == 4)
        emit_8(e, 0x24);
    if (none)
        return;
    if (small)
        emit_8(e, (u8)disp);
    else
        emit_32(e, (u32)disp);
}

static u8 rex_w(u8 reg, u8 base)
{
    return (u8)(0x48 | (reg >> 3) << 2 | (base >> 3));
}

static void gs_mem(struct emit *e, u8 opcode, u8 reg, u32 off)
{
    u8 b[] = {0x65, rex_w(reg, 0), opcode, (u8)(0x04 | (reg & 7) << 3), 0x25};
    emit_bytes(e, b, sizeof b);
    emit_32(e, off);
}

void emit_gs_store(struct emit *e, u8 reg, u32 off)
{
    gs_mem(e, 0x89, reg, off);
}

void emit_gs_load(struct emit *e, u8 reg, u32 off)
{
    gs_mem(e, 0x8b, reg, off);
}

static void reg_mem(struct emit *e, u8 opcode, u8 reg, u8 base, s32 disp)
{
    emit_8(e, rex_w(reg, base));
    emit_8(e, opcode);
    modrm_mem(e, reg, base, disp);
}

void emit_store(struct emit *e, u8 reg, u8 base, s32 disp)
{
    reg_mem(e, 0x89, reg, base, disp);
}

void emit_load(struct emit *e, u8 reg, u8 base, s32 disp)
{
    reg_mem(e, 0x8b, reg, base, disp);
}

void emit_lea(struct emit *e, u8 reg, u8 base, s32 disp)
{
    reg_mem(e, 0x8d, reg, base, disp);
}

void emit_move(struct emit *e, u8 to, u8 from)
{
    u8 b[] = {rex_w(from, to), 0x89, (u8)(0xc0 | (from & 7) << 3 | (to & 7))};
    emit_bytes(e, b, sizeof b);
}

void emit_imm(struct emit *e, u8 reg, u64 value)
{
    if (value <= 0xffffffff) {
        if (reg >= 8)
            emit_8(e, 0x41);
        emit_8(e, (u8)(0xb8 | (reg & 7)));
        emit_32(e, (u32)value);
    } else if ((s64)value == (s32)value) {
        u8 b[] = {rex_w(0, reg), 0xc7, (u8)(0xc0 | (reg & 7))};
        emit_bytes(e, b, sizeof b);
        emit_32(e, (u32)value);
    } else {
        emit_8(e, rex_w(0, reg));
        emit_8(e, (u8)(0xb8 | (reg & 7)));
        emit_64(e, value);
    }
}

static void rel32(struct emit *e, u64 target)
{
    s64 d = (s64)(target - (emit_here(e) + 4));
    check(d == (s32)d);
    emit_32(e, (u32)d);
}

void emit_jmp(struct emit *e, u64 target)
{
    emit_8(e, 0xe9);
    rel32(e, target);
}

void emit_jcc(struct emit *e, u8 cc, u64 target)
{
    emit_8(e, 0x0f);
    emit_8(e, 0x80 | cc);
    rel32(e, target);
}

void emit_header(struct emit *e, u32 header, s32 disp)
{
    emit_8(e, 0x41);
    emit_8(e, 0xc7);
    modrm_mem(e, 0, R11, disp);
    emit_32(e, header);
}

void emit_wrgsbase(struct emit *e, u8 reg)
{
    u8 b[] = {0xf3, rex_w(0, reg), 0x0f, 0xae, (u8)(0xd8 | (reg & 7))};
    emit_bytes(e, b, sizeof b);
}

void emit_gate_compare(struct emit *e)
{
    u8 b[] = {0x65, 0x4c, 0x3b, 0x1c, 0x25};
    emit_bytes(e, b, sizeof b);
    emit_32(e, T_LIMIT);
}

static u8 rex(u8 reg, u8 base)
{
    return rex_w(reg, base) & 0x47;
}

void emit_load_narrow(struct emit *e, u8 reg, u8 base, s32 disp, u32 size)
{
    emit_8(e, rex(reg, base));
    if (size < 4) {
        emit_8(e, 0x0f);
        emit_8(e, size == 1 ? 0xb6 : 0xb7);
    } else {
        emit_8(e, 0x8b);
    }
    modrm_mem(e, reg, base, disp);
}

void emit_lea_narrow(struct emit *e, u8 reg, u8 base, s32 disp)
{
    emit_8(e, rex(reg, base));
    emit_8(e, 0x8d);
    modrm_mem(e, reg, base, disp);
}

void emit_request(struct emit *e, ZydisEncoderRequest *r)
{
    u8 code[ZYDIS_MAX_INSTRUCTION_LENGTH];
    ZyanUSize n = sizeof code;
    r->machine_mode = ZYDIS_MACHINE_MODE_LONG_64;
    check(ZYAN_SUCCESS(ZydisEncoderEncodeInstruction(r, code, &n)));
    emit_bytes(e, code, n);
}
