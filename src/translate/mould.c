/* SPDX-License-Identifier: MIT */
/* Moulds, found by the bytes before the numbers. */
#include "translate/mould.h"
#include "base/vast.h"

#include <string.h>

enum { MOULDS_LOG2 = 12, PREFIXES = 2, OPCODE_ESCAPE = 0x0f };

/* Does the opcode have a modrm byte? That the decoder tells us, when we first see one. */
enum { MODRM_UNKNOWN, MODRM_NO, MODRM_YES, MODRM_NEVER_MIND };

struct moulds {
    u8 modrm[2][256]; /* by opcode; the second is for those behind OPCODE_ESCAPE */
    struct mould {
        u64 key; /* the bytes before the numbers, and in the highest byte how many; 0: none */
        struct insn insn;
    } v[1 << MOULDS_LOG2];
};

struct moulds *moulds_new(void)
{
    return vast_new(sizeof(struct moulds));
}

void moulds_free(struct moulds *m)
{
    vast_free(m, sizeof *m);
}

static bool is_rex(u8 byte)
{
    return (byte & 0xf0) == 0x40;
}

/* The prefixes that are frequent. */
static bool is_prefix(u8 byte)
{
    return byte == 0x66 || byte == 0xf2 || byte == 0xf3 || byte == 0x64;
}

/* Bytes in the place of an opcode that are something else: prefixes, and what other tables of opcodes begin with. */
static bool leads_elsewhere(u8 opcode, bool escaped)
{
    static const u8 first[] = {0x26, 0x2e, 0x36, 0x3e, 0x62, 0x64, 0x65, 0x66, 0x67, 0x8f, 0xc4, 0xc5, 0xd5, 0xf0, 0xf2, 0xf3},
                    second[] = {0x0f, 0x38, 0x3a};
    if (escaped)
        return memchr(second, opcode, sizeof second) != NULL;
    return is_rex(opcode) || memchr(first, opcode, sizeof first) != NULL;
}

/* Where the opcode stands, without OPCODE_ESCAPE. */
static u32 opcode_at(const u8 *bytes, bool *escaped)
{
    u32 at = 0;
    while (at < PREFIXES && is_prefix(bytes[at]))
        at++;
    at += is_rex(bytes[at]);
    *escaped = bytes[at] == OPCODE_ESCAPE;
    at += *escaped;
    return at;
}

/* modrm and sib belong to it, where they are. */
static u64 key_of(const u8 *bytes, u32 opcode, u8 modrm)
{
    u32 n = opcode + 1;
    if (modrm == MODRM_YES) {
        u8 x = bytes[n++];
        n += x >> 6 != 3 && (x & 7) == 4;
    }
    u64 key;
    memcpy(&key, bytes, sizeof key);
    return (key & (~0ull >> (64 - 8 * n))) | (u64)n << 56;
}

static struct mould *mould_of(struct moulds *m, u64 key)
{
    return &m->v[key * 0x9e3779b97f4a7c15ull >> (64 - MOULDS_LOG2)];
}

static void learn(u8 *modrm, const struct insn *in, bool elsewhere)
{
    bool has = in->z.attributes & ZYDIS_ATTRIB_HAS_MODRM;
    *modrm = elsewhere ? MODRM_NEVER_MIND : has ? MODRM_YES : MODRM_NO;
}

bool mould_decode(struct moulds *m, struct insn *in, u64 pc, const u8 *bytes, size_t size)
{
    if (size < ZYDIS_MAX_INSTRUCTION_LENGTH)
        return insn_decode(in, pc, bytes, size);
    bool escaped;
    u32 at = opcode_at(bytes, &escaped);
    u8 *modrm = &m->modrm[escaped][bytes[at]];
    u64 key = key_of(bytes, at, *modrm);
    struct mould *x = mould_of(m, key);
    bool known = *modrm == MODRM_NO || *modrm == MODRM_YES;
    if (known && x->key == key) {
        insn_copy(in, &x->insn);
        insn_renew(in, pc, bytes);
        return true;
    }
    if (!insn_decode(in, pc, bytes, size))
        return false;
    if (*modrm == MODRM_UNKNOWN)
        learn(modrm, in, leads_elsewhere(bytes[at], escaped));
    if (known) {
        x->key = key;
        insn_copy(&x->insn, in);
    }
    return true;
}
