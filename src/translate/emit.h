/* SPDX-License-Identifier: MIT */
/* Bytes of emitted code: a cursor over the host's view of the cache, and the few instruction shapes
 * we need.
 *
 * Nothing here touches the flags unless its name says so, and nothing ever pushes on the program's
 * stack. */
#ifndef EMIT_H
#define EMIT_H

#include "base/base.h"
#include "translate/insn.h"
#include "wire/wire.h"

struct emit {
    u8 *p;      /* next byte, in the host's mapping */
    u8 *end;    /* first byte that must not be written */
    s64 to_app; /* add to a host address to get the program's */
    bool full;  /* something did not fit; what was emitted is to be thrown away */
};

static inline u64 emit_here(const struct emit *e)
{
    return (u64)((s64)(uintptr_t)e->p + e->to_app);
}

void emit_bytes(struct emit *e, const void *bytes, size_t n);
void emit_8(struct emit *e, u8 x);
void emit_32(struct emit *e, u32 x);
void emit_64(struct emit *e, u64 x);
void emit_nops(struct emit *e, size_t n);
/* Pad so that a 4-byte field `ahead` bytes from here lies inside one aligned 8 bytes and can be
 * patched at once. */
void emit_align_patch(struct emit *e, size_t ahead);

void emit_gs_store(struct emit *e, u8 reg, u32 off);        /* mov gs:[off], reg */
void emit_gs_load(struct emit *e, u8 reg, u32 off);         /* mov reg, gs:[off] */
void emit_store(struct emit *e, u8 reg, u8 base, s32 disp); /* mov [base+disp], reg */
void emit_load(struct emit *e, u8 reg, u8 base, s32 disp);  /* mov reg, [base+disp] */
void emit_move(struct emit *e, u8 to, u8 from);             /* mov to, from */
void emit_imm(struct emit *e, u8 reg, u64 value);         /* mov reg, value in the shortest form */
void emit_lea(struct emit *e, u8 reg, u8 base, s32 disp); /* lea reg, [base+disp] */
void emit_jmp(struct emit *e, u64 target);                /* jmp rel32 */
void emit_jcc(struct emit *e, u8 cc, u64 target);         /* jcc rel32 */
void emit_header(struct emit *e, u32 header, s32 disp);   /* mov dword [r11+disp], header */
void emit_wrgsbase(struct emit *e, u8 reg);               /* wrgsbase reg */
void emit_gate_compare(struct emit *e);                   /* cmp r11, gs:[T_LIMIT]; changes flags */
void emit_load_narrow(struct emit *e, u8 reg, u8 base, s32 disp,
                      u32 size);                                 /* 1, 2 or 4, zero-extended */
void emit_lea_narrow(struct emit *e, u8 reg, u8 base, s32 disp); /* lea of 32 bits, zero-extended */

/* The rare rest goes through Zydis' encoder. */
void emit_request(struct emit *e, ZydisEncoderRequest *r);

#endif
